// A client of server-sent events for tests: the events in order, and the end.
import { type ClientRequest, type IncomingMessage, request as send } from 'node:http'
import type { JobEvent } from '../../generated/types.ts'
import { until } from '../helpers/server.ts'

export interface ServerSentEvent {
  id: string | null
  event: string | null
  data: JobEvent
}

export class EventClient implements AsyncDisposable {
  readonly events: ServerSentEvent[] = []
  readonly comments: string[] = []
  /** The reconnection time that the server sets, in milliseconds. */
  retry: number | null = null
  ended = false
  /** Whether the connection was cut before the answer was complete. */
  broken = false
  readonly response: IncomingMessage
  readonly #request: ClientRequest
  #rest = ''

  private constructor(request: ClientRequest, response: IncomingMessage) {
    this.#request = request
    this.response = response
    response.setEncoding('utf8')
    const streamed = response.headers['content-type'] === 'text/event-stream'
    response.on('data', (text: string) => streamed && this.#take(text))
    response.on('end', () => {
      this.ended = true
    })
    response.on('error', () => {
      this.broken = true
    })
  }

  static open(
    server: { readonly url: string },
    path: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<EventClient> {
    return new Promise((resolve, reject) => {
      const request = send(`${server.url}${path}`, { agent: false, headers: { ...headers } }, (response) =>
        resolve(new EventClient(request, response)),
      )
      request.on('error', reject)
      request.end()
    })
  }

  get sequences(): number[] {
    return this.events.map(({ data }) => data.sequence)
  }

  /** Waits for the stream's end and returns its events. */
  async end(ms?: number): Promise<JobEvent[]> {
    await until('the end of the stream', () => this.ended, ms)
    return this.events.map(({ data }) => data)
  }

  /** Stops reading, so that what is sent piles up. */
  pause(): void {
    this.response.pause()
  }

  resume(): void {
    this.response.resume()
  }

  leave(): void {
    this.#request.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.leave()
    await until('the connection to be closed', () => this.response.closed)
  }

  #take(text: string): void {
    const blocks = (this.#rest + text).split('\n\n')
    this.#rest = blocks.pop()!
    for (const block of blocks) this.#block(block)
  }

  #block(block: string): void {
    const fields = new Map<string, string>()
    for (const line of block.split('\n')) {
      const colon = line.indexOf(': ')
      if (colon === 0) this.comments.push(line.slice(2))
      else fields.set(line.slice(0, colon), line.slice(colon + 2))
    }
    if (fields.has('retry')) this.retry = Number(fields.get('retry'))
    const data = fields.get('data')
    if (data === undefined) return
    this.events.push({
      id: fields.get('id') ?? null,
      event: fields.get('event') ?? null,
      data: JSON.parse(data) as JobEvent,
    })
  }
}
