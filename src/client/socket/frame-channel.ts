// One open socket: frames in and out, and its end. Silence beyond what the keep-alive promises is an end as well.
import type { SocketEncoding } from '../../../generated/types.ts'
import type { ResolvedClientOptions } from '../client-options.ts'
import { networkError } from '../errors.ts'
import type { UnknownRecord } from '../json-and-uuid.ts'
import { decodeFrame, encodeFrame } from './frame-codec.ts'
import type { PlatformSocket, SocketEnd } from './platform-socket.ts'

interface QueuedFrame {
  /** Null once it was withdrawn. */
  data: Uint8Array | string | null
  readonly onSent: (() => void) | undefined
}

export class FrameChannel {
  /** Whether the server has answered a request on it: it took the credential. */
  isAuthenticated = false
  /** Once it is set, nothing is sent any more. */
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
      if (performance.now() - this.#lastActivity > silence_ms) this.terminate('The connection fell silent.')
    }, silence_ms / 4)
    // Frames come in either encoding until this is acknowledged, and are understood in both at any time.
    if (encoding === 'json-text') this.send({ command: 'set_mode', data: { mode: 'text' } })
  }

  /**
   * Sends a frame, in its turn where there are many, and calls `onSent` when it leaves.
   * @returns a function that withdraws the frame, as long as it has not left
   * @throws ServiceError where the connection is gone, or the frame cannot be sent
   */
  send(frame: UnknownRecord, onSent?: () => void): () => void {
    if (this.end) throw networkError('The connection is gone.')
    const unsent: QueuedFrame = { data: encodeFrame(frame, this.#encoding), onSent }
    this.#sendQueue.push(unsent)
    this.#flush()
    return () => {
      unsent.data = null
    }
  }

  /** What a message holds; null for one that cannot be read. */
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

  /** Gives the connection up without a handshake. */
  terminate(reason: string): void {
    this.#socket.terminate()
    this.markEnded({ code: 1006, reason, status: null, retry_after: null, isStatusHidden: false })
  }

  /** The socket has ended; the first word counts. */
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

  /** Tells those who use it that it is lost: with the error that forbids another one, or null. */
  notifyWatchers(fatal: unknown): void {
    this.#lost = { fatal }
    for (const lost of this.#watchers) lost(fatal)
    this.#watchers.clear()
  }

  /** Calls `lost` when it is, as `settle` says, until the function given back is called. */
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
