// One open socket: frames in and out, and its end. Silence beyond what the keep-alive promises is an end as well.
import type { SocketEncoding } from '../../generated/types.ts'
import { decodeFrame, encodeFrame } from './codec.ts'
import { networkError } from './errors.ts'
import type { Settings } from './settings.ts'
import type { Socket, SocketEnd } from './socket.ts'
import type { UnknownRecord } from './values.ts'

interface Unsent {
  /** Null once it was withdrawn. */
  data: Uint8Array | string | null
  readonly onSent: (() => void) | undefined
}

export class Link {
  /** Whether the server has answered a request on it: it took the credential. */
  proved = false
  /** Once it is set, nothing is sent any more. */
  end: SocketEnd | null = null
  readonly #socket: Socket
  readonly #encoding: SocketEncoding
  /** Messages per second. */
  readonly #most: number
  readonly #silence: ReturnType<typeof setInterval>
  readonly #watchers = new Set<(fatal: unknown) => void>()
  #lost: { fatal: unknown } | null = null
  #onEnd: ((end: SocketEnd) => void) | null = null
  #heard = performance.now()
  #sent: number[] = []
  #unsent: Unsent[] = []
  #pace: ReturnType<typeof setTimeout> | null = null

  constructor(socket: Socket, { encoding, times, messages_per_second }: Settings) {
    const { silence_ms } = times
    this.#socket = socket
    this.#encoding = encoding
    this.#most = messages_per_second
    this.#silence = setInterval(() => {
      if (performance.now() - this.#heard > silence_ms) this.drop('The connection fell silent.')
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
    const unsent: Unsent = { data: encodeFrame(frame, this.#encoding), onSent }
    this.#unsent.push(unsent)
    this.#flush()
    return () => {
      unsent.data = null
    }
  }

  /** What a message holds; null for one that cannot be read. */
  read(data: Uint8Array | string): UnknownRecord | null {
    this.hear()
    return decodeFrame(data)
  }

  hear(): void {
    this.#heard = performance.now()
  }

  close(): void {
    this.#socket.close()
    this.finish({ code: 1000, reason: '', status: null, retry_after: null, blind: false })
  }

  /** Gives the connection up without a handshake. */
  drop(reason: string): void {
    this.#socket.terminate()
    this.finish({ code: 1006, reason, status: null, retry_after: null, blind: false })
  }

  /** The socket has ended; the first word counts. */
  finish(end: SocketEnd): void {
    if (this.end) return
    this.end = end
    clearInterval(this.#silence)
    if (this.#pace !== null) clearTimeout(this.#pace)
    this.#onEnd?.(end)
  }

  ended(): Promise<SocketEnd> {
    return new Promise((resolve) => {
      if (this.end) resolve(this.end)
      else this.#onEnd = resolve
    })
  }

  /** Tells those who use it that it is lost: with the error that forbids another one, or null. */
  settle(fatal: unknown): void {
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
    if (this.#pace !== null) return
    const now = performance.now()
    this.#sent = this.#sent.filter((at) => now - at < 1_000)
    while (this.#unsent.length > 0 && this.#sent.length < this.#most) {
      const { data, onSent } = this.#unsent.shift()!
      if (data === null) continue
      this.#sent.push(now)
      onSent?.()
      this.#socket.send(data)
    }
    if (this.#unsent.length === 0) return
    this.#pace = setTimeout(
      () => {
        this.#pace = null
        this.#flush()
      },
      1_000 - (now - this.#sent[0]!),
    )
  }
}
