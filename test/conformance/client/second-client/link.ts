// The second client's socket: one connection at a time, commands and their answers, and what else comes.
import { randomUUID } from 'node:crypto'
import { decode, encode } from '@msgpack/msgpack'
import WebSocket from 'ws'
import { ClientError, pause, type Settings, type Tokens } from './flaws.ts'

type Fields = Record<string, unknown>

interface Open {
  resolve(result: Fields): void
  reject(error: ClientError): void
}

const LOST = () => new ClientError('CONNECTION_LOST', true)
/** Silence after which the contract gives a socket up. */
const SILENCE_MS = 70_000
const FIRST_PAUSE_MS = 40

export class Link {
  /** Whoever wants the other frames, and the loss of the connection. */
  readonly listeners = new Set<{ frame(frame: Fields): void; lost(): void }>()
  readonly #settings: Settings
  readonly #tokens: Tokens
  readonly #open = new Map<string, Open>()
  #socket: Promise<WebSocket> | null = null
  #failures = 0
  #fatal: ClientError | null = null

  constructor(settings: Settings, tokens: Tokens) {
    this.#settings = settings
    this.#tokens = tokens
  }

  /** Sends a command and waits for its answer. @throws ClientError */
  async rpc(command: string, data: Fields): Promise<Fields> {
    if (this.#fatal) throw this.#fatal
    const socket = await this.connected()
    const stale = this.#settings.flaws.has('same-request-id')
    const request_id = stale ? `${command} ${data.job_id ?? data.workflow_id ?? ''}` : randomUUID()
    return new Promise((resolve, reject) => {
      this.#open.set(request_id, { resolve, reject })
      this.#send(socket, { command, data, request_id })
    })
  }

  /** An open socket; where there is none it is opened, again and again with longer and longer pauses. */
  connected(): Promise<WebSocket> {
    this.#socket ??= this.#connect().catch((error) => {
      this.#socket = null
      throw error
    })
    return this.#socket
  }

  async close(): Promise<void> {
    const socket = await this.#socket?.catch(() => null)
    socket?.terminate()
  }

  async #connect(): Promise<WebSocket> {
    const { signal, flaws } = this.#settings
    for (;;) {
      const wait =
        this.#failures === 0 || flaws.has('no-backoff') ? 0 : FIRST_PAUSE_MS * 2 ** Math.min(this.#failures - 1, 6)
      await pause(wait, signal)
      const token = this.#tokens.current
      const opened = await this.#attempt(token)
      if (opened instanceof WebSocket) return opened
      this.#failures += 1
      if (opened === 401) this.#tokens.refused(token)
    }
  }

  /** The open socket, or the status that refused it (0: none). */
  #attempt(token: string): Promise<WebSocket | number> {
    const { url, flaws } = this.#settings
    const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, {
      headers: { Authorization: `Bearer ${token}` },
      autoPong: !flaws.has('no-pong'),
    })
    return new Promise((resolve) => {
      socket.on('unexpected-response', (request, response) => {
        request.destroy()
        resolve(response.statusCode ?? 0)
      })
      socket.on('error', () => resolve(0))
      socket.on('open', () => {
        this.#listen(socket, token)
        resolve(socket)
      })
    })
  }

  #listen(socket: WebSocket, token: string): void {
    const { flaws, pace, encoding } = this.#settings
    let timer: NodeJS.Timeout | undefined
    const heard = () => {
      clearTimeout(timer)
      if (!flaws.has('waits-in-silence')) timer = setTimeout(() => socket.terminate(), Math.max(600, SILENCE_MS * pace))
    }
    let mode = 'binary'
    socket.on('message', (data: Buffer, binary) => {
      heard()
      const frame = this.#decode(data, binary && mode === 'binary')
      if (frame?.mode === 'text') mode = 'text either way'
      if (frame) this.#receive(socket, frame)
    })
    socket.on('ping', heard)
    socket.on('close', (code) => this.#lost(code, token, timer))
    heard()
    if (encoding !== 'json-text') return
    this.#send(socket, { command: 'set_mode', data: { mode: 'text' } })
    if (flaws.has('acknowledgement-as-text')) mode = 'text'
  }

  #decode(data: Buffer, binary: boolean): Fields | null {
    const text = !binary || this.#settings.flaws.has('text-only')
    try {
      return (text ? JSON.parse(data.toString('utf8')) : decode(data)) as Fields
    } catch {
      this.#fail(new ClientError('UNREADABLE_FRAME', false))
      return null
    }
  }

  #send(socket: WebSocket, frame: Fields): void {
    socket.send(this.#settings.encoding === 'json-text' ? JSON.stringify(frame) : encode(frame))
  }

  #lost(code: number, token: string, timer: NodeJS.Timeout | undefined): void {
    clearTimeout(timer)
    this.#socket = null
    this.#failures = 1
    if (this.#settings.flaws.has('close-is-fatal') && code === 1012) this.#fail(new ClientError('CLOSED', false))
    try {
      if (code === 1008) this.#tokens.refused(token)
    } catch (error) {
      this.#fail(error as ClientError)
    }
    for (const { reject } of this.#open.values()) reject(LOST())
    this.#open.clear()
    for (const { lost } of this.listeners) lost()
  }

  /** Nothing works any more. */
  #fail(error: ClientError): void {
    this.#fatal ??= error
    for (const { reject } of this.#open.values()) reject(this.#fatal)
    this.#open.clear()
    for (const { lost } of this.listeners) lost()
  }

  #receive(socket: WebSocket, frame: Fields): void {
    const { flaws } = this.#settings
    this.#failures = 0
    if (frame.type === 'rpc_response') this.#answered(frame)
    else if (frame.type === 'ping') {
      if (!flaws.has('no-pong')) this.#send(socket, { type: 'pong', ts: frame.ts })
    } else if (frame.type === 'job_event') for (const { frame: take } of this.listeners) take(frame)
    else if (flaws.has('fatal-unknown-frame') && frame.mode === undefined)
      this.#fail(new ClientError('UNKNOWN_FRAME', false))
  }

  #answered(frame: Fields): void {
    const { flaws } = this.#settings
    const [oldest] = this.#open.keys()
    const asked = String(frame.request_id)
    const id = flaws.has('answers-in-order') || (flaws.has('any-answer') && !this.#open.has(asked)) ? oldest : asked
    const open = this.#open.get(String(id))
    if (!open) return
    if (flaws.has('latest-answer-wins')) return this.#answeredLast(String(id), frame)
    this.#open.delete(String(id))
    settle(open, frame, flaws.has('strict-fields'))
  }

  readonly #latest = new Map<string, Fields>()

  #answeredLast(id: string, frame: Fields): void {
    if (!this.#latest.has(id)) {
      setTimeout(() => {
        const open = this.#open.get(id)
        this.#open.delete(id)
        if (open) settle(open, this.#latest.get(id)!, false)
      }, 15)
    }
    this.#latest.set(id, frame)
  }
}

function settle(open: Open, frame: Fields, strict: boolean): void {
  const error = frame.error as Fields | undefined
  const strange =
    strict && Object.keys(frame).some((key) => !['type', 'request_id', 'command', 'result', 'error'].includes(key))
  if (strange) open.reject(new ClientError('UNKNOWN_FIELD', false))
  else if (error) open.reject(new ClientError(String(error.code), error.retryable === true))
  else open.resolve(frame.result as Fields)
}
