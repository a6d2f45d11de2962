// One request of the client over either transport: a command on the socket, or an HTTP request.
import type { ServerResponse } from 'node:http'
import type { ClientConnection } from './connection.ts'
import type { JsonMap } from './frame-codec.ts'
import { type CallError, toSdkErrorBody, toSocketError } from './server-records.ts'
import type { Transcript } from './transcript.ts'

/** The name of the command, or of the operation that only HTTP has. */
export type ClientCallName =
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

export interface ClientCall {
  readonly name: ClientCallName
  readonly transport: 'http' | 'socket'
  readonly data: JsonMap
  /** The socket of a command. */
  readonly connection: ClientConnection | null
  readonly request_id: unknown
  /** The index in the transcript. */
  readonly entry: number
  reply(result: JsonMap | readonly unknown[]): void
  refuse(refusal: CallError, retry_after_seconds?: number): void
  /** Breaks the connection before the answer. */
  breakBeforeReply(): void
  /** Breaks the connection in the middle of the answer: over HTTP in its body, on the socket in the frame. */
  breakDuringReply(result: JsonMap): void
}

type RecordDecorator = (record: JsonMap) => JsonMap

export class SocketCall implements ClientCall {
  readonly transport = 'socket'
  readonly name: ClientCallName
  readonly data: JsonMap
  readonly connection: ClientConnection
  readonly entry: number
  readonly request_id: unknown
  readonly #head: JsonMap

  constructor(connection: ClientConnection, name: ClientCallName, frame: JsonMap, entry: number) {
    this.name = name
    this.connection = connection
    this.data = (frame.data ?? {}) as JsonMap
    this.entry = entry
    this.request_id = frame.request_id
    this.#head = { type: 'rpc_response', request_id: frame.request_id, command: frame.command }
  }

  reply(result: JsonMap | readonly unknown[]): void {
    this.connection.send({ ...this.#head, result })
  }

  refuse(refusal: CallError): void {
    this.connection.send({ ...this.#head, error: toSocketError(refusal) })
  }

  breakBeforeReply(): void {
    this.connection.drop()
  }

  breakDuringReply(): void {
    this.connection.drop()
  }
}

export interface HttpCallContext {
  readonly response: ServerResponse
  readonly transcript: Transcript
  readonly where: string
  readonly entry: number
  readonly decorate: RecordDecorator
  /** Whether the answer consists of server-sent events. */
  readonly stream: boolean
}

/** The time in which half an answer arrives before the connection breaks. */
const BREAK_DELAY_MS = 15
const SUCCESS_STATUSES: Partial<Record<ClientCallName, number>> = { submit_job: 202, uploadTemporaryAsset: 201 }

export class HttpCall implements ClientCall {
  readonly transport = 'http'
  readonly connection = null
  readonly request_id = null
  readonly name: ClientCallName
  readonly data: JsonMap
  readonly entry: number
  readonly #response: ServerResponse
  readonly #transcript: Transcript
  readonly #where: string
  readonly #decorate: RecordDecorator
  readonly #stream: boolean

  constructor(name: ClientCallName, data: JsonMap, to: HttpCallContext) {
    this.name = name
    this.data = data
    this.entry = to.entry
    this.#response = to.response
    this.#transcript = to.transcript
    this.#where = to.where
    this.#decorate = to.decorate
    this.#stream = to.stream
  }

  reply(result: JsonMap | readonly unknown[]): void {
    if (this.#stream) this.#sendEvents(result as readonly JsonMap[])
    else
      this.#send(
        SUCCESS_STATUSES[this.name] ?? 200,
        {},
        Array.isArray(result) ? result : this.#decorate(result as JsonMap),
      )
  }

  refuse(refusal: CallError, retry_after_seconds?: number): void {
    const headers: Record<string, string> = {}
    if (retry_after_seconds !== undefined) headers['Retry-After'] = String(retry_after_seconds)
    this.#send(refusal.status, headers, toSdkErrorBody(refusal))
  }

  breakBeforeReply(): void {
    this.#transcript.add('note', this.#where, 'the connection breaks before the answer')
    this.#response.socket?.destroy()
  }

  breakDuringReply(result: JsonMap): void {
    const body = Buffer.from(JSON.stringify(this.#decorate(result)))
    this.#transcript.add('note', this.#where, 'the connection breaks in the middle of the answer')
    const status = SUCCESS_STATUSES[this.name] ?? 200
    this.#response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': body.byteLength })
    this.#response.write(body.subarray(0, body.byteLength / 2), () => {
      setTimeout(() => this.#response.destroy(), BREAK_DELAY_MS)
    })
  }

  /** Sends all events at once, and ends the stream. */
  #sendEvents(events: readonly JsonMap[]): void {
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
