// A streamed answer as a Node.js stream. It reads its source only when its buffer has room, and closes the source when
// the client disconnects.
import { Readable } from 'node:stream'

export interface AnswerStreamSource {
  /** Returns null after the last piece. The caller awaits each call before the next. */
  next(): Promise<string | Uint8Array | null>
  /** Called when the client disconnects or the stream has ended. */
  close(): void
}

/** In bytes: what is buffered for a slow client, besides the buffers of its connection. */
const BUFFER_BYTES = 16_384

export class AnswerStream extends Readable {
  readonly #source: AnswerStreamSource
  #first_piece: string | Uint8Array | null

  /** `first` was read from the source already. */
  constructor(first: string | Uint8Array | null, pieces: AnswerStreamSource) {
    super({ highWaterMark: BUFFER_BYTES })
    this.#first_piece = first
    this.#source = pieces
  }

  override _read(): void {
    const first = this.#first_piece
    this.#first_piece = null
    if (first !== null) {
      this.push(first)
      return
    }
    this.#source.next().then(
      (piece) => this.push(piece),
      (error) => this.destroy(error),
    )
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#source.close()
    done(error)
  }
}
