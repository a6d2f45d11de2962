// One user of the server. The user sends prepared requests and frames, so that sending them costs little.
import { once } from 'node:events'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import WebSocket from 'ws'

export interface Reply {
  readonly status: number
  readonly text: string
}

/** The time in which the requests of a few hundred connections reach the system. */
const ASLEEP_MS = 50

interface UserParts {
  readonly elsewhere?: User | null
  readonly signal?: ((signal: NodeJS.Signals) => void) | null
}

export class User {
  readonly url: string
  /** The same user in another workspace. */
  readonly elsewhere: User | null
  readonly #token: string
  readonly #signal: ((signal: NodeJS.Signals) => void) | null

  /** `signal` pauses the server's process while a user's requests pile up. */
  constructor(url: string, token: string, { elsewhere = null, signal = null }: UserParts = {}) {
    this.url = url
    this.#token = token
    this.elsewhere = elsewhere
    this.#signal = signal
  }

  /** Sends a request, with a JSON body where one is given, and reads the whole answer. */
  send(method: string, path: string, body?: string | Uint8Array, headers: Record<string, string> = {}): Promise<Reply> {
    const content: Record<string, string> = body === undefined ? {} : { 'Content-Type': 'application/json' }
    return this.#exchange(method, path, { ...content, ...headers }, body)
  }

  #exchange(method: string, path: string, content: Record<string, string>, body?: string | Uint8Array): Promise<Reply> {
    const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) }
    const headers = { Authorization: `Bearer ${this.#token}`, ...content, ...length }
    return new Promise((resolve, reject) => {
      const sent = request(`${this.url}${path}`, { method, headers, agent: false }, (answer) => {
        const pieces: Buffer[] = []
        answer.on('data', (piece: Buffer) => pieces.push(piece))
        answer.once('error', failed)
        answer.once('end', () => resolve({ status: answer.statusCode!, text: Buffer.concat(pieces).toString() }))
      })
      const failed = (error: Error) => reject(failure(`${method} ${path}`, error))
      sent.once('error', failed)
      sent.end(body)
    })
  }

  /**
   * Sends a request, with a JSON body where one is given, and disconnects after the
   * first piece of the answer. Resolves when the server has noticed.
   */
  async abandon(path: string, body: string): Promise<void> {
    const headers = { Authorization: `Bearer ${this.#token}`, 'Content-Type': 'application/json' }
    await new Promise<void>((resolve, reject) => {
      const failed = (error: Error) => reject(failure(`POST ${path}`, error))
      const sent = request(`${this.url}${path}`, { method: 'POST', headers, agent: false }, (answer) => {
        answer.once('data', () => resolve(void answer.destroy())).once('error', failed)
      })
      sent.once('error', failed)
      sent.end(body)
    })
    await pause(ASLEEP_MS)
    await this.expect(200, 'GET', '/health')
  }

  /** As `send`, and asserts this status. */
  async expect(
    status: number,
    method: string,
    path: string,
    body?: string | Uint8Array,
    headers?: Record<string, string>,
  ): Promise<Reply> {
    return checked(status, `${method} ${path}`, await this.send(method, path, body, headers))
  }

  /** Stores a file as an asset, and returns its id. */
  async upload(name: string, bytes: Uint8Array, fields: Readonly<Record<string, string>> = {}): Promise<string> {
    const form = new FormData()
    for (const [field, value] of Object.entries(fields)) form.append(field, value)
    form.append('file', new Blob([new Uint8Array(bytes)]), name)
    return this.#created(form)
  }

  /** Creates an asset without a file, such as a folder, and returns its id. */
  async create(fields: Readonly<Record<string, string>>): Promise<string> {
    const form = new FormData()
    for (const [name, value] of Object.entries(fields)) form.append(name, value)
    return this.#created(form)
  }

  async #created(form: FormData): Promise<string> {
    const sent = new Request(this.url, { method: 'POST', body: form })
    const content = { 'Content-Type': sent.headers.get('Content-Type')! }
    const reply = await this.#exchange('POST', '/api/assets', content, await sent.bytes())
    return (JSON.parse(checked(201, 'POST /api/assets', reply).text) as { id: string }).id
  }

  /**
   * Sends the same request on so many connections, which are already open. Returns the statuses. The server is paused meanwhile, and finds
   * all of them at once. `by_letters`: each letter of the body is a chunk.
   */
  async burst(path: string, count: number, body?: string, by_letters = false): Promise<number[]> {
    const { hostname, port, host } = new URL(this.url)
    const head = [`Host: ${host}`, `Authorization: Bearer ${this.#token}`, 'Connection: close']
    if (body !== undefined) head.push('Content-Type: application/json')
    if (by_letters) head.push('Transfer-Encoding: chunked')
    else if (body !== undefined) head.push(`Content-Length: ${Buffer.byteLength(body)}`)
    const sent = by_letters ? `${(body ?? '').replace(/./gs, '1\r\n$&\r\n')}0\r\n\r\n` : (body ?? '')
    const method = body === undefined ? 'GET' : 'POST'
    const text = `${[`${method} ${path} HTTP/1.1`, ...head].join('\r\n')}\r\n\r\n${sent}`
    const open = Array.from({ length: count }, async () => {
      const socket = connect(Number(port), hostname)
      await once(socket, 'connect')
      return socket
    })
    const sockets = await Promise.all(open)
    this.#signal?.('SIGSTOP')
    const statuses = Promise.all(sockets.map((socket) => statusOf(socket, text)))
    // A connection may fail while the server is paused.
    const [answers] = await Promise.all([statuses, pause(ASLEEP_MS).then(() => this.#signal?.('SIGCONT'))])
    return answers
  }

  /**
   * Sends so many requests in one packet. Resolves when the last answer has ended.
   * `bare`: they have no credential and are as short as possible.
   */
  pipelined(path: string, count: number, bare = false): Promise<void> {
    const { hostname, port, host } = new URL(this.url)
    const who = bare ? ['Host:a'] : [`Host: ${host}`, `Authorization: Bearer ${this.#token}`]
    const heads = [`GET ${path} HTTP/1.1`, ...who]
    const one = (...more: string[]) => `${[...heads, ...more].join('\r\n')}\r\n\r\n`
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname)
      socket.write(one().repeat(count - 1) + one('Connection: close'))
      socket
        .resume()
        .once('error', (error) => reject(failure(`${count} times GET ${path}`, error)))
        .once('close', () => resolve())
    })
  }

  /** A connection with a request whose answer is never read. */
  async unread(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Socket> {
    const { hostname, port, host } = new URL(this.url)
    const socket = connect(Number(port), hostname).on('error', () => {})
    await once(socket, 'connect')
    const all = { Host: host, Authorization: `Bearer ${this.#token}`, ...headers }
    const head = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
    socket.write(`${[`GET ${path} HTTP/1.1`, ...head].join('\r\n')}\r\n\r\n`)
    return socket
  }

  /** Stores a graph as a workflow, and returns its id. */
  async store(graph: object): Promise<string> {
    const { text } = await this.expect(201, 'POST', '/api/workflows', JSON.stringify({ name: 'Workflow', graph }))
    return (JSON.parse(text) as { id: string }).id
  }

  /** An open socket. */
  async socket(): Promise<WebSocket> {
    const socket = new WebSocket(`${this.url.replace('http', 'ws')}/ws`, {
      headers: { Authorization: `Bearer ${this.#token}` },
      maxPayload: 0,
    })
    await once(socket, 'open')
    return socket
  }

  /** Sends one frame on a new socket, and waits for the first frame of the answer. */
  async frame(data: string | Uint8Array): Promise<void> {
    const socket = await this.socket()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    socket.once('message', () => resolve())
    socket.once('close', (code) => reject(new Error(`a frame of ${data.length}: the socket ended with ${code}`)))
    socket.send(data)
    await promise
    socket.terminate()
  }
}

async function statusOf(socket: Socket, request: string): Promise<number> {
  let text = ''
  socket.on('data', (piece: Buffer) => (text ||= piece.toString('latin1')))
  socket.write(request)
  try {
    await once(socket, 'close')
  } catch (error) {
    throw failure(request.slice(0, request.indexOf(' HTTP')), error as Error)
  }
  return Number(text.split(' ')[1])
}

function failure(what: string, error: Error): Error {
  return new Error(`${what} failed: ${error.message}`, { cause: error })
}

function checked(status: number, what: string, reply: Reply): Reply {
  if (reply.status === status) return reply
  throw new Error(`${what} answered ${reply.status}: ${reply.text.slice(0, 300)}`)
}
