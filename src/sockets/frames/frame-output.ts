// The sending side of a socket: frames are encoded, accounted for until they are sent, and held back for a slow peer.

import type { WebSocket } from 'ws'
import type { AppContext } from '../../context.ts'
import { estimateContainerBytes, LARGE_RESPONSE_BYTES, type ResponseReader } from '../../net/response-buffers.ts'
import type { SocketTimeouts } from '../keep-alive.ts'
import { encodeSocketFrame, type FrameMode } from './codec.ts'
import { stripFrameValues } from './fallback.ts'
import { encodeLargeFrame, type FrameSender, isLargeFrame } from './large-frames.ts'

/** Above this many unsent bytes, provisional frames are dropped, followers wait, and reading stops. */
const HIGH_WATER_BYTES = 8 * 1024 * 1024
const DRAIN_POLL_MS = 20
const GOING_AWAY = 1001
/** RFC 6455, section 7.4.1, and the registry it founded. */
export const TRY_AGAIN_LATER = 1013

export class FrameOutput implements FrameSender {
  readonly app: AppContext
  readonly reader: ResponseReader
  /** The encoding of frames from now on. */
  mode: FrameMode
  protected readonly ws: WebSocket
  protected readonly timeouts: SocketTimeouts
  readonly #closed = new AbortController()
  #draining: Promise<void> | null = null
  /** Unsent bytes of large frames. */
  #largeUnsent = 0
  /** Unsent bytes of small frames, as accounted. */
  #smallHeld = 0

  /** `owner`: the owner of unsent frames. */
  constructor(ws: WebSocket, app: AppContext, owner: string, timeouts: SocketTimeouts, mode: FrameMode) {
    this.ws = ws
    this.app = app
    this.timeouts = timeouts
    this.mode = mode
    this.reader = app.transport.response_buffers.createReader(owner, () => this.#cutAsReader())
  }

  /** Aborts when the socket is closed. */
  get closed(): AbortSignal {
    return this.#closed.signal
  }

  /** Whether the socket is neither closed nor closing. */
  get isOpen(): boolean {
    return this.ws.readyState === this.ws.OPEN
  }

  /** Sends a frame in the present mode; without effect on a closed socket. `common`: other connections are sent the same object. */
  send(frame: object, common = false): void {
    if (this.isOpen) this.#write(this.#encode(frame, common))
  }

  /** Whether a frame takes long to encode, and the socket is open. */
  isLarge(frame: object): boolean {
    return this.isOpen && isLargeFrame(frame)
  }

  /**
   * Encodes a large frame in time slices, and returns a function that sends it. Connections that send the same object at the same time share the
   * encoding.
   */
  encodeLarge(frame: object): Promise<() => void> {
    const { mode } = this
    return encodeLargeFrame(this.app.schedulers.slices, this.reader, frame, mode).then(
      (bytes) => () => {
        if (this.mode !== mode) this.send(frame)
        else if (this.isOpen) this.#write(bytes)
      },
      (error: unknown) => () => this.send(this.#stripValues(frame, error)),
    )
  }

  async holdLarge(frame: object): Promise<() => void> {
    return this.reader.share(
      frame,
      await estimateContainerBytes(frame, this.app.schedulers.slices, this.reader.owner, this.reader),
    )
  }

  /** Whether so much is unsent that frames that are not durable are dropped. */
  get congested(): boolean {
    return !this.closed.aborted && this.ws.bufferedAmount > HIGH_WATER_BYTES
  }

  /** Waits until the peer has read enough. All waiters share the wait, and continue in their order. */
  drained(): Promise<void> {
    this.#draining ??= this.#drain().finally(() => {
      this.#draining = null
    })
    return this.#draining
  }

  /** Disconnects a peer that does not read enough in time; its jobs run on. */
  async #drain(): Promise<void> {
    const deadline = performance.now() + this.timeouts.drain_ms
    while (this.congested && !this.closed.aborted) {
      if (performance.now() > deadline) return this.ws.close(GOING_AWAY, 'the client does not read')
      await new Promise((resolve) => setTimeout(resolve, DRAIN_POLL_MS))
    }
  }

  /** Closes at once, and cuts the connection if the peer does not close in time. Its jobs run on. */
  cut(code: number, reason: string): void {
    const timer = setTimeout(() => this.ws.terminate(), this.timeouts.close_timeout_ms)
    this.ws.once('close', () => clearTimeout(timer))
    this.ws.close(code, reason)
  }

  /** Releases what is unsent on a closed socket, and stops pending work for it. */
  protected endOutput(): void {
    this.reader.end()
    this.#closed.abort()
  }

  /** The account cuts this reader, since too much is held. Pending work for it stops. */
  #cutAsReader(): void {
    this.#closed.abort()
    this.cut(TRY_AGAIN_LATER, 'try again later')
  }

  /**
   * Encodes a frame; if its values cannot be encoded, without them.
   * @throws the encoder's error for a frame without values
   */
  #encode(frame: object, common: boolean): Uint8Array {
    try {
      return encodeSocketFrame(frame, this.mode, common)
    } catch (error) {
      return encodeSocketFrame(this.#stripValues(frame, error), this.mode, false)
    }
  }

  #stripValues(frame: object, error: unknown): object {
    const stripped = stripFrameValues(frame)
    if (stripped === null) throw error
    this.app.log.error({ err: error }, 'the values of a frame could not be encoded')
    return stripped
  }

  /** Accounts for unsent bytes: for each large frame, which other connections may share, and for all small frames together. */
  #write(bytes: Uint8Array): void {
    const binary = this.mode === 'binary'
    if (bytes.length > LARGE_RESPONSE_BYTES) {
      const release = this.reader.share(bytes, bytes.length)
      this.#largeUnsent += bytes.length
      this.ws.send(bytes, { binary }, () => {
        this.#largeUnsent -= bytes.length
        release()
        this.#onSent()
      })
    } else if (this.ws.bufferedAmount > LARGE_RESPONSE_BYTES) {
      this.ws.send(bytes, { binary }, this.#onSent)
      this.#accountSmallFrames()
    } else this.ws.send(bytes, { binary })
  }

  readonly #onSent = (): void => {
    this.reader.took()
    this.#accountSmallFrames()
  }

  #accountSmallFrames(): void {
    const small = Math.max(0, this.ws.bufferedAmount - this.#largeUnsent)
    const held = small > LARGE_RESPONSE_BYTES ? small : 0
    const before = this.#smallHeld
    this.#smallHeld = held
    this.reader.adjust(held - before)
  }
}
