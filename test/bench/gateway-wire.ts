// A minimal client of HTTP/1.1: one request at a time over one persistent
// connection. Such a cheap load leaves the processor to the measured process.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export interface Answer {
  readonly body: string
  /** The time from the request to the first byte of the body, and to its end, in milliseconds. */
  readonly first_ms: number
  readonly ms: number
}

interface Waiting {
  readonly from: number
  first: number
  /** Unparsed bytes of the connection, one character each. */
  rest: string
  body: string
  /** Missing bytes of the body. Null: the head is incomplete. -1: the body is chunked. */
  left: number | null
  readonly heard: ((body: string) => void) | undefined
  readonly settle: PromiseWithResolvers<Answer>
}

export class Wire {
  readonly #socket: Socket
  #waiting: Waiting | null = null

  constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true).setEncoding('latin1')
    socket.on('data', (text: string) => this.#read(text))
    socket.on('error', (error) => this.#waiting?.settle.reject(error))
    socket.on('close', () => this.#waiting?.settle.reject(new Error('the connection was closed')))
  }

  /** `heard` gets the whole body so far. */
  ask(request: string, heard?: (body: string) => void): Promise<Answer> {
    const settle = Promise.withResolvers<Answer>()
    this.#waiting = { from: performance.now(), first: 0, rest: '', body: '', left: null, heard, settle }
    this.#socket.write(request, 'latin1')
    return settle.promise
  }

  close(): void {
    this.#waiting?.settle.promise.catch(() => {})
    this.#socket.destroy()
  }

  #read(text: string): void {
    const waiting = this.#waiting
    if (!waiting) return
    waiting.rest += text
    try {
      if (!understood(waiting)) return
    } catch (error) {
      waiting.settle.reject(error)
      return
    }
    this.#waiting = null
    const { body, from, first, settle } = waiting
    settle.resolve({ body, first_ms: first - from, ms: performance.now() - from })
  }
}

/** Whether the answer is complete. @throws for an error status */
function understood(waiting: Waiting): boolean {
  if (waiting.left === null && !readHead(waiting)) return false
  const before = waiting.body.length
  const over = waiting.left === -1 ? readChunks(waiting) : readBytes(waiting)
  if (waiting.body.length === before) return over
  if (before === 0) waiting.first = performance.now()
  waiting.heard?.(waiting.body)
  return over
}

function readHead(waiting: Waiting): boolean {
  const end = waiting.rest.indexOf('\r\n\r\n')
  if (end < 0) return false
  const head = waiting.rest.slice(0, end)
  if (!head.startsWith('HTTP/1.1 200')) throw new Error(waiting.rest.slice(0, 1_000))
  const length = /\r\ncontent-length: ?(\d+)/i.exec(head)
  waiting.left = length ? Number(length[1]) : -1
  waiting.rest = waiting.rest.slice(end + 4)
  return true
}

function readBytes(waiting: Waiting): boolean {
  waiting.body += waiting.rest
  waiting.left! -= waiting.rest.length
  waiting.rest = ''
  return waiting.left === 0
}

/** RFC 9112 §7.1. */
function readChunks(waiting: Waiting): boolean {
  const { rest } = waiting
  let at = 0
  for (;;) {
    const line = rest.indexOf('\r\n', at)
    if (line < 0) break
    const length = Number.parseInt(rest.slice(at, line), 16)
    const end = line + 2 + length
    if (rest.length < end + 2) break
    waiting.body += rest.slice(line + 2, end)
    at = end + 2
    if (length === 0) return true
  }
  waiting.rest = rest.slice(at)
  return false
}

export async function openWire(url: string): Promise<Wire> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  await once(socket, 'connect')
  return new Wire(socket)
}

/** Returns a POST of `body`, which is ASCII, as it is sent over a connection. */
export function postText(url: string, headers: Readonly<Record<string, string>>, body: string): string {
  const { host, pathname } = new URL(url)
  const all = { host, 'content-type': 'application/json', 'content-length': `${body.length}`, ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${pathname} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}
