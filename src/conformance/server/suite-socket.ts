// A socket to the tested server. It sends in either encoding, keeps every frame with its encoding, and waits for frames.
import type { IncomingMessage } from 'node:http'
import { decode, ExtData, ExtensionCodec, encode } from '@msgpack/msgpack'
import WebSocket from 'ws'
import { decodeWithProtoKeys } from '../../client/message-pack-proto-keys.ts'
import { isNestedTooDeep } from '../nesting-limit.ts'
import { RuleViolation } from './check-outcomes.ts'
import { MAX_ANSWER_BYTES, readAllBytes, toAbortError } from './http-exchange.ts'
import type { JsonMap } from './json.ts'
import type { TargetServer } from './target-server.ts'

export interface ReceivedFrame {
  binary: boolean
  /** Undefined where the frame is not one decodable map. */
  body: JsonMap
  /** The fault of the encoding, or null. */
  fault: string | null
}

export type FrameMode = 'binary' | 'text'

/** The reply to a command. */
export interface RpcReply extends JsonMap {
  request_id: string
  result?: unknown
  error?: { code: string; message: string; retryable: boolean; apiCode: string }
}

class ExtensionDetector extends ExtensionCodec {
  faults: number[] = []

  override decode(data: Uint8Array | ((offset: number) => Uint8Array), type: number): unknown {
    this.faults.push(type)
    return new ExtData(type, data as Uint8Array)
  }
}

let serial = 0

export class SuiteSocket implements Disposable {
  readonly frames: ReceivedFrame[] = []
  readonly timeout_ms: number
  /** Received pings of the protocol. Each was answered. */
  pings = 0
  readonly #ws: WebSocket
  /** Called whenever a frame has come or the socket has closed. */
  #waiters: (() => void)[] = []
  #closed: number | null = null
  /** Why the suite has closed the socket, or null. */
  #overflowReason: string | null = null

  constructor(ws: WebSocket, { timeout_ms, take }: { timeout_ms: number; take: (bytes: number) => void }) {
    this.#ws = ws
    this.timeout_ms = timeout_ms
    ws.on('message', (data: Buffer, binary: boolean) => this.#receive(data, binary, take))
    ws.on('ping', () => {
      this.pings++
    })
    ws.on('error', () => {})
    ws.on('close', (code) => {
      this.#closed = code
      this.#notify()
    })
  }

  /** Keeps a frame. Closes a socket that sends too many frames. */
  #receive(data: Buffer, binary: boolean, take: (bytes: number) => void): void {
    try {
      take(data.byteLength)
    } catch (error) {
      this.#overflowReason ??= (error as Error).message
      return this.#ws.terminate()
    }
    this.frames.push(decodeReceivedFrame(data, binary))
    this.#notify()
  }

  get closed(): number | null {
    return this.#closed
  }

  send(message: unknown, mode: FrameMode = 'binary'): void {
    this.#ws.send(mode === 'binary' ? encode(message) : JSON.stringify(message))
  }

  sendRaw(data: string | Uint8Array): void {
    this.#ws.send(data)
  }

  /** Sends a command with its own request id, and returns the frame with this id. */
  async request(command: string, data?: unknown, mode?: FrameMode): Promise<RpcReply> {
    const request_id = `conformance-${++serial}`
    this.send({ command, request_id, ...(data === undefined ? {} : { data }) }, mode)
    return (await this.waitForFrame(`an answer to ${command}`, (frame) => frame.request_id === request_id)) as RpcReply
  }

  /** Returns the first matching frame among earlier and later ones. @throws RuleViolation after the time limit */
  async waitForFrame(what: string, wanted: (frame: JsonMap) => boolean, from = 0): Promise<JsonMap> {
    const deadline = performance.now() + this.timeout_ms
    for (let at = from; ; ) {
      for (; at < this.frames.length; at++) if (wanted(this.frames[at]!.body)) return this.frames[at]!.body
      const left = deadline - performance.now()
      if (this.#closed !== null || left <= 0) throw this.#createMissingFrameViolation(what)
      await this.#waitForChange(left)
    }
  }

  /** Waits until all commands so far are answered: the answer to `ping` follows them. */
  async waitUntilAnswered(): Promise<void> {
    await this.request('ping')
  }

  #createMissingFrameViolation(what: string): RuleViolation {
    const last = this.frames.slice(-5).map(({ body }) => body)
    const end = this.#overflowReason ?? this.#closed
    const why = end === null ? `within ${this.timeout_ms} ms` : `before the socket closed (${end})`
    return new RuleViolation([{ finding: `${what} did not come ${why}`, answer: { last_frames: last } }])
  }

  #notify(): void {
    for (const ring of this.#waiters.splice(0)) ring()
  }

  #waitForChange(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#waiters.push(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  [Symbol.dispose](): void {
    this.#ws.terminate()
  }
}

function decodeReceivedFrame(data: Buffer, binary: boolean): ReceivedFrame {
  const codec = new ExtensionDetector()
  try {
    const body = binary
      ? decodeWithProtoKeys((options) => decode(data, { ...options, extensionCodec: codec }))
      : JSON.parse(data.toString())
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      return { binary, body: {}, fault: 'is not one map' }
    }
    if (isNestedTooDeep(body)) return { binary, body: {}, fault: 'is nested too deep' }
    const fault = codec.faults.length > 0 ? `has the MessagePack extension ${codec.faults[0]}` : null
    return { binary, body: body as JsonMap, fault }
  } catch (error) {
    return { binary, body: {}, fault: `cannot be decoded: ${(error as Error).message}` }
  }
}

export interface UpgradeOptions {
  headers?: Readonly<Record<string, string>>
  query?: string
}

/** Opens `/ws`. Returns the refusal where the upgrade is refused. */
export function openSuiteSocket(
  target: TargetServer,
  { headers, query = '' }: UpgradeOptions = {},
): Promise<{ socket: SuiteSocket } | { status: number; text: string }> {
  const url = new URL(target.url)
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
  url.pathname = `${url.pathname.replace(/\/$/, '')}/ws`
  url.search = query
  const own: Record<string, string> = target.token === null ? {} : { Authorization: `Bearer ${target.token}` }
  if (target.stop.aborted) return Promise.reject(toAbortError(target.stop))
  const limits = { handshakeTimeout: target.timeout_ms, maxPayload: MAX_ANSWER_BYTES }
  const ws = new WebSocket(url, { headers: { ...(headers ?? own) }, ...limits })
  const end = () => ws.terminate()
  target.stop.addEventListener('abort', end)
  ws.once('close', () => target.stop.removeEventListener('abort', end))
  const socket = new SuiteSocket(ws, { timeout_ms: target.timeout_ms, take: (bytes) => target.countKeptBytes(bytes) })
  return new Promise((resolve, reject) => {
    ws.once('open', () => resolve({ socket }))
    ws.once('unexpected-response', (request, incoming) => {
      readRefusal(incoming, target.timeout_ms)
        .then(resolve, reject)
        .finally(() => request.destroy())
    })
    ws.once('error', reject)
  })
}

/** Reads the answer to a refused upgrade, within the time limit. */
async function readRefusal(incoming: IncomingMessage, ms: number): Promise<{ status: number; text: string }> {
  const timer = setTimeout(() => incoming.destroy(new Error(`no complete refusal within ${ms} ms`)), ms)
  try {
    return { status: incoming.statusCode ?? 0, text: (await readAllBytes(incoming)).toString() }
  } finally {
    clearTimeout(timer)
  }
}
