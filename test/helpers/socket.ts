// A client of `/ws` for tests. Every received frame is checked against the contract. An undeclared frame, a MessagePack extension or a
// wrong encoding fails the test, at the latest when the client is disposed.
import assert from 'node:assert/strict'
import { decode, ExtensionCodec, encode } from '@msgpack/msgpack'
import WebSocket from 'ws'
import { frameManifest } from '../../generated/messages.ts'
import { frameValidators } from '../../generated/validators-out.js'
import { recordErrorCode, recordReached } from './reached.ts'
import { until } from './server.ts'

/** A frame, as far as tests read it. */
export interface Frame {
  type?: string
  status?: string
  job_id?: string
  request_id?: string
  error?: unknown
  message?: string
  [key: string]: unknown
}

export type Mode = 'binary' | 'text'

export interface ConnectOptions {
  /** The encoding of commands. With `text`, frames are text as well after a `set_mode`. */
  mode?: Mode
  headers?: Readonly<Record<string, string>>
  path?: string
  /** False: the client does not answer protocol pings. */
  pong?: boolean
}

type Wanted = Partial<Frame> | ((frame: Frame) => boolean)

/** Opens a socket. Rejects where the upgrade is refused. */
export async function connect(
  server: { readonly url: string },
  { mode = 'binary', headers = {}, path = '/ws', pong = true }: ConnectOptions = {},
): Promise<Client> {
  const ws = new WebSocket(`${server.url.replace('http', 'ws')}${path}`, { headers: { ...headers }, autoPong: pong })
  const client = new Client(ws, mode)
  await new Promise<void>((resolve, reject) => {
    ws.once('open', resolve)
    ws.once('error', reject)
  })
  if (mode === 'text') {
    client.send({ command: 'set_mode', data: { mode } })
    await client.next({ mode })
  }
  return client
}

export class Client {
  readonly ws: WebSocket
  /** All received frames, in order. */
  readonly frames: Frame[] = []
  /** The number of received protocol pings. */
  pings = 0
  readonly #mode: Mode
  #expected: Mode = 'binary'
  #unread: Frame[] = []
  #fault: Error | null = null
  #closed: { code: number; reason: string } | null = null

  constructor(ws: WebSocket, mode: Mode) {
    this.ws = ws
    this.#mode = mode
    ws.on('message', (data: Buffer, binary: boolean) => this.#receive(data, binary))
    ws.on('ping', () => this.pings++)
    ws.on('error', () => {})
    ws.on('close', (code, reason) => {
      this.#closed = { code, reason: reason.toString() }
    })
  }

  send(message: unknown, mode: Mode = this.#mode): void {
    recordReached('command', `ws.${(Object(message) as { command?: unknown }).command}`)
    this.ws.send(mode === 'binary' ? encode(message) : JSON.stringify(message))
  }

  sendRaw(data: string | Uint8Array): void {
    this.ws.send(data)
  }

  command(command: string, data?: unknown, request_id?: string | null): void {
    this.send({ command, ...(data === undefined ? {} : { data }), ...(request_id === undefined ? {} : { request_id }) })
  }

  /** Sends a command and returns the frame that answers it. */
  async ask(command: string, data?: unknown, request_id = `req-${++requests}`): Promise<Frame> {
    this.command(command, data, request_id)
    return this.next({ request_id })
  }

  /** Waits for the earliest matching frame that was not returned before. */
  async next(wanted: Wanted, ms?: number): Promise<Frame> {
    const fits = matcher(wanted)
    const what = () => `a frame like ${typeof wanted === 'function' ? wanted : JSON.stringify(wanted)}`
    const frame = await until(`${what()}`, () => this.#take(fits), ms).catch((error: Error) => {
      const last = this.frames.slice(-5).map((one) => JSON.stringify(one).slice(0, 300))
      throw new Error(`${error.message}; the last frames were\n${last.join('\n')}`)
    })
    return frame
  }

  #take(fits: (frame: Frame) => boolean): Frame | null {
    if (this.#fault) throw this.#fault
    const at = this.#unread.findIndex(fits)
    if (at < 0 && this.#closed) throw new Error(`the socket was closed with ${this.#closed.code}`)
    return at < 0 ? null : this.#unread.splice(at, 1)[0]!
  }

  /** Returns all frames of a job so far. */
  of(job_id: string): Frame[] {
    return this.frames.filter((frame) => frame.job_id === job_id)
  }

  /** Waits for the end of a job and returns all its frames. */
  async collect(job_id: string, ms?: number): Promise<Frame[]> {
    await this.next((frame) => frame.job_id === job_id && isEnding(frame), ms)
    return this.of(job_id)
  }

  /** Waits until all earlier commands are answered, where the server answers at once. Answers come in order. */
  async settled(): Promise<void> {
    await this.ask('ping')
  }

  /** Waits until the commands for this job are answered. They run in order. */
  async settledFor(job_id: string): Promise<void> {
    await this.ask('get_status', { job_id })
  }

  /** Resolves with the server's close code and reason. */
  async closed(ms?: number): Promise<{ code: number; reason: string }> {
    return until('the end of the socket', () => this.#closed, ms)
  }

  get open(): boolean {
    return this.ws.readyState === WebSocket.OPEN
  }

  close(): void {
    this.ws.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.ws.terminate()
    await this.closed()
    if (this.#fault) throw this.#fault
  }

  #receive(data: Buffer, binary: boolean): void {
    try {
      assert.equal(binary ? 'binary' : 'text', this.#expected, 'a frame has the encoding that was asked for')
      const frame = (binary ? decode(data, { extensionCodec: noExtensions }) : JSON.parse(data.toString())) as Frame
      checkFrame(frame)
      if (frameName(frame) === 'set_mode_ack') this.#expected = frame.mode as Mode
      this.frames.push(frame)
      this.#unread.push(frame)
    } catch (error) {
      this.#fault ??= error as Error
    }
  }
}

let requests = 0

class NoExtensions extends ExtensionCodec {
  override decode(_data: Uint8Array, type: number): never {
    throw new Error(`the server sent the MessagePack extension ${type}`)
  }
}

const noExtensions = new NoExtensions()

export function isEnding(frame: Frame): boolean {
  return frame.type === 'job_update' && ['completed', 'failed', 'cancelled'].includes(frame.status ?? '')
}

function matcher(wanted: Wanted): (frame: Frame) => boolean {
  if (typeof wanted === 'function') return wanted
  const entries = Object.entries(wanted)
  return (frame) => entries.every(([key, value]) => frame[key] === value)
}

/** Returns the contract's message that a frame claims to be. */
export function frameName(frame: Frame): keyof typeof frameValidators.ws {
  return nameOf(frame) as keyof typeof frameValidators.ws
}

function nameOf({ type, error, command, ...rest }: Frame): string {
  if (type === 'rpc_response') return error === undefined ? `${command}_response` : 'rpc_error'
  if (type === 'ping') return 'ping_frame'
  if (type !== undefined) return chatName(type, rest) ?? type
  if (error !== undefined) {
    return ['invalid_frame', 'invalid_message', 'invalid_command'].includes(String(error))
      ? String(error)
      : 'command_refused'
  }
  if ('mode' in rest) return 'set_mode_ack'
  if ('stopped' in rest) return 'stop_ack'
  if ('tool_call_id' in rest) return 'tool_result_ack'
  return 'applied' in rest ? 'update_node_properties_ack' : 'job_ack'
}

/** Chat frames share some types with job frames. */
const CHAT_FRAMES: Readonly<Record<string, string>> = {
  chunk: 'chat_chunk',
  tool_call_update: 'chat_tool_call_update',
  tool_result_update: 'chat_tool_result_update',
}

function chatName(type: string, { thread_id, request_id }: Omit<Frame, 'type'>): string | null {
  if (thread_id !== undefined) return CHAT_FRAMES[type] ?? null
  return type === 'chunk' && request_id !== undefined ? 'inference_chunk' : null
}

function checkFrame(frame: Frame): void {
  const name = frameName(frame)
  const info = frameManifest.ws[name]
  const validate = info?.implementation === 'implemented' || info?.preview ? frameValidators.ws[name] : undefined
  recordReached('frame', `ws.${name}`)
  recordErrorCode(frame)
  if (frame.status !== undefined) recordReached('status', frame.status)
  if (validate?.(frame)) return
  const shown = JSON.stringify(frame).slice(0, 1_000)
  assert.ok(validate, `the contract has no such frame: ${shown}`)
  assert.fail(`${shown} is not the contract's ${frameName(frame)}: ${JSON.stringify(validate.errors)}`)
}
