// One open socket with its frames and its end. The socket ends when the server is silent for longer than the keep-alive allows.
import type { SocketEncoding } from '../../../generated/types.ts'
import type { ResolvedClientOptions } from '../client-options.ts'
import { networkError } from '../errors.ts'
import type { UnknownRecord } from '../json-and-uuid.ts'
import { decodeFrame, encodeFrame } from './frame-codec.ts'
import type { PlatformSocket, SocketEnd } from './platform-socket.ts'

interface QueuedFrame {
  /** Null after the frame was withdrawn. */
  data: Uint8Array | string | null
  readonly onSent: (() => void) | undefined
}

export class FrameChannel {
  /** Whether the server has accepted the credential: it has answered a request on this socket. */
  isAuthenticated = false
  /** Nothing is sent after it is set. */
  end: SocketEnd | null = null
  readonly #socket: PlatformSocket
  readonly #encoding: SocketEncoding
  /** Messages per second. */
  readonly #maxPerSecond: number
  readonly #idleTimer: ReturnType<typeof setInterval>
  readonly #watchers = new Set<(fatal: unknown) => void>()
  #lost: { fatal: unknown } | null = null
  #onEnd: ((end: SocketEnd) => void) | null = null
  #lastActivity = performance.now()
  #recentSendTimes: number[] = []
  #sendQueue: QueuedFrame[] = []
  #rateTimer: ReturnType<typeof setTimeout> | null = null

  constructor(socket: PlatformSocket, { encoding, times, messages_per_second }: ResolvedClientOptions) {
    const { silence_ms } = times
    this.#socket = socket
    this.#encoding = encoding
    this.#maxPerSecond = messages_per_second
    this.#idleTimer = setInterval(() => {
      if (performance.now() - this.#lastActivity > silence_ms) this.terminate('The connection was silent for too long.')
    }, silence_ms / 4)
    // Frames have either encoding until the server acknowledges this command. The client always understands both.
    if (encoding === 'json-text') this.send({ command: 'set_mode', data: { mode: 'text' } })
  }

  /**
   * Queues a frame, and calls `onSent` when it is sent.
   * @returns a function that withdraws the frame, as long as it is not sent
   * @throws ServiceError where the connection has ended, or the frame cannot be encoded
   */
  send(frame: UnknownRecord, onSent?: () => void): () => void {
    if (this.end) throw networkError('The connection has ended.')
    const unsent: QueuedFrame = { data: encodeFrame(frame, this.#encoding), onSent }
    this.#sendQueue.push(unsent)
    this.#flush()
    return () => {
      unsent.data = null
    }
  }

  /** Decodes a message. Null where it cannot be read. */
  decode(data: Uint8Array | string): UnknownRecord | null {
    this.recordActivity()
    return decodeFrame(data)
  }

  recordActivity(): void {
    this.#lastActivity = performance.now()
  }

  close(): void {
    this.#socket.close()
    this.markEnded({ code: 1000, reason: '', status: null, retry_after: null, isStatusHidden: false })
  }

  /** Ends the connection without a closing handshake. */
  terminate(reason: string): void {
    this.#socket.terminate()
    this.markEnded({ code: 1006, reason, status: null, retry_after: null, isStatusHidden: false })
  }

  /** Records the end of the socket. The first reason counts. */
  markEnded(end: SocketEnd): void {
    if (this.end) return
    this.end = end
    clearInterval(this.#idleTimer)
    if (this.#rateTimer !== null) clearTimeout(this.#rateTimer)
    this.#onEnd?.(end)
  }

  waitForEnd(): Promise<SocketEnd> {
    return new Promise((resolve) => {
      if (this.end) resolve(this.end)
      else this.#onEnd = resolve
    })
  }

  /** Notifies the users of the connection that it is lost. `fatal` is the error that forbids a new connection, or null. */
  notifyWatchers(fatal: unknown): void {
    this.#lost = { fatal }
    for (const lost of this.#watchers) lost(fatal)
    this.#watchers.clear()
  }

  /** Calls `lost` with the argument of `notifyWatchers`, until the returned function is called. */
  watch(lost: (fatal: unknown) => void): () => void {
    if (this.#lost) lost(this.#lost.fatal)
    else this.#watchers.add(lost)
    return () => this.#watchers.delete(lost)
  }

  #flush(): void {
    if (this.#rateTimer !== null) return
    const now = performance.now()
    this.#recentSendTimes = this.#recentSendTimes.filter((at) => now - at < 1_000)
    while (this.#sendQueue.length > 0 && this.#recentSendTimes.length < this.#maxPerSecond) {
      const { data, onSent } = this.#sendQueue.shift()!
      if (data === null) continue
      this.#recentSendTimes.push(now)
      onSent?.()
      this.#socket.send(data)
    }
    if (this.#sendQueue.length === 0) return
    this.#rateTimer = setTimeout(
      () => {
        this.#rateTimer = null
        this.#flush()
      },
      1_000 - (now - this.#recentSendTimes[0]!),
    )
  }
}
