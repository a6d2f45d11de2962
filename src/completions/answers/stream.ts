// A streamed answer as its reader takes it: a piece is asked for when there is room for it, and nothing is asked for any more when the reader has
// gone.
import { Readable } from 'node:stream'

export interface AnswerStreamSource {
  /** Null after the last one. Never called before the last call settled. */
  next(): Promise<string | Uint8Array | null>
  /** Nobody reads on, or there is nothing left to read. */
  close(): void
}

/** In bytes: what waits for a slow reader, besides what its connection holds. */
const BUFFER_BYTES = 16_384

export class AnswerStream extends Readable {
  readonly #source: AnswerStreamSource
  #first_piece: string | Uint8Array | null

  /** `first` was asked for already. */
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
