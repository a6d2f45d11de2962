// One request of the client, whichever door it came through: a command on the socket, or an HTTP request.
import type { ServerResponse } from 'node:http'
import type { Connection } from './connection.ts'
import { type Refusal, sdkError, socketError } from './records.ts'
import type { Transcript } from './transcript.ts'
import type { Fields } from './wire.ts'

/** The command's name; for what HTTP alone has, the operation's. */
export type CallName =
  | 'get_capabilities'
  | 'preflight_workflow'
  | 'get_workflow'
  | 'list_workflows'
  | 'list_workflow_summaries'
  | 'get_workflow_interface'
  | 'get_workflow_interfaces'
  | 'submit_job'
  | 'get_job_snapshot'
  | 'subscribe_job'
  | 'request_job_cancellation'
  | 'uploadTemporaryAsset'
  | 'runWorkflow'
  | 'getJob'
  | 'followJobEvents'

export interface Call {
  readonly name: CallName
  readonly door: 'http' | 'socket'
  readonly data: Fields
  /** The socket that it came on. */
  readonly connection: Connection | null
  readonly request_id: unknown
  /** Its place in the transcript. */
  readonly entry: number
  reply(result: Fields | readonly unknown[]): void
  refuse(refusal: Refusal, retry_after_seconds?: number): void
  /** The connection breaks before there is an answer. */
  lose(): void
  /** The connection breaks in the middle of the answer: over HTTP in its body, on the socket before the frame is whole. */
  cut(result: Fields): void
}

type Decorate = (record: Fields) => Fields

export class SocketCall implements Call {
  readonly door = 'socket'
  readonly name: CallName
  readonly data: Fields
  readonly connection: Connection
  readonly entry: number
  readonly request_id: unknown
  readonly #head: Fields

  constructor(connection: Connection, name: CallName, frame: Fields, entry: number) {
    this.name = name
    this.connection = connection
    this.data = (frame.data ?? {}) as Fields
    this.entry = entry
    this.request_id = frame.request_id
    this.#head = { type: 'rpc_response', request_id: frame.request_id, command: frame.command }
  }

  reply(result: Fields | readonly unknown[]): void {
    this.connection.send({ ...this.#head, result })
  }

  refuse(refusal: Refusal): void {
    this.connection.send({ ...this.#head, error: socketError(refusal) })
  }

  lose(): void {
    this.connection.drop()
  }

  cut(): void {
    this.connection.drop()
  }
}

export interface HttpPlace {
  readonly response: ServerResponse
  readonly transcript: Transcript
  readonly where: string
  readonly entry: number
  readonly decorate: Decorate
  /** Answered with server-sent events. */
  readonly stream: boolean
}

/** Half an answer gets so long to arrive before the connection breaks. */
const CUT_MS = 15
const SUCCESS: Partial<Record<CallName, number>> = { submit_job: 202, uploadTemporaryAsset: 201 }

export class HttpCall implements Call {
  readonly door = 'http'
  readonly connection = null
  readonly request_id = null
  readonly name: CallName
  readonly data: Fields
  readonly entry: number
  readonly #response: ServerResponse
  readonly #transcript: Transcript
  readonly #where: string
  readonly #decorate: Decorate
  readonly #stream: boolean

  constructor(name: CallName, data: Fields, to: HttpPlace) {
    this.name = name
    this.data = data
    this.entry = to.entry
    this.#response = to.response
    this.#transcript = to.transcript
    this.#where = to.where
    this.#decorate = to.decorate
    this.#stream = to.stream
  }

  reply(result: Fields | readonly unknown[]): void {
    if (this.#stream) this.#sendEvents(result as readonly Fields[])
    else this.#send(SUCCESS[this.name] ?? 200, {}, Array.isArray(result) ? result : this.#decorate(result as Fields))
  }

  refuse(refusal: Refusal, retry_after_seconds?: number): void {
    const headers: Record<string, string> = {}
    if (retry_after_seconds !== undefined) headers['Retry-After'] = String(retry_after_seconds)
    this.#send(refusal.status, headers, sdkError(refusal))
  }

  lose(): void {
    this.#transcript.add('note', this.#where, 'the connection breaks before the answer')
    this.#response.socket?.destroy()
  }

  cut(result: Fields): void {
    const body = Buffer.from(JSON.stringify(this.#decorate(result)))
    this.#transcript.add('note', this.#where, 'the connection breaks in the middle of the answer')
    const status = SUCCESS[this.name] ?? 200
    this.#response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': body.byteLength })
    this.#response.write(body.subarray(0, body.byteLength / 2), () => {
      setTimeout(() => this.#response.destroy(), CUT_MS)
    })
  }

  /** All of them at once, and the end of the stream. */
  #sendEvents(events: readonly Fields[]): void {
    const status = events.length === 0 ? 204 : 200
    this.#transcript.add('to_client', this.#where, `${status} server-sent events`, events)
    this.#response.writeHead(status, { 'Content-Type': 'text/event-stream' })
    this.#response.end(
      events.map((event) => `id: ${event.sequence}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''),
    )
  }

  #send(status: number, headers: Record<string, string>, body: unknown): void {
    if (this.#response.writableEnded || this.#response.destroyed) return
    this.#transcript.add(
      'to_client',
      this.#where,
      `${status}${headers['Retry-After'] ? ` Retry-After: ${headers['Retry-After']}` : ''}`,
      body,
    )
    this.#response.writeHead(status, { 'Content-Type': 'application/json', ...headers })
    this.#response.end(JSON.stringify(body))
  }
}
