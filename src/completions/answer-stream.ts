// A streamed answer as its reader takes it: a piece is asked for when there is room for it, and nothing is asked for any more when the reader has
// gone.
import { Readable } from 'node:stream'

export interface Pieces {
  /** Null after the last one. Never called before the last call settled. */
  next(): Promise<string | Uint8Array | null>
  /** Nobody reads on, or there is nothing left to read. */
  close(): void
}

/** In bytes: what waits for a slow reader, besides what its connection holds. */
const ROOM = 16_384

export class AnswerStream extends Readable {
  readonly #pieces: Pieces
  #first: string | Uint8Array | null

  /** `first` was asked for already. */
  constructor(first: string | Uint8Array | null, pieces: Pieces) {
    super({ highWaterMark: ROOM })
    this.#first = first
    this.#pieces = pieces
  }

  override _read(): void {
    const first = this.#first
    this.#first = null
    if (first !== null) {
      this.push(first)
      return
    }
    this.#pieces.next().then(
      (piece) => this.push(piece),
      (error) => this.destroy(error),
    )
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#pieces.close()
    done(error)
  }
}
