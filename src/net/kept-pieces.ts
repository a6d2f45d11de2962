// Pieces of a body that are kept until all of it has come. One takes some hundred bytes besides its own: very small ones are put together on the way.

/** Bytes. */
const SMALL = 1_024

export class KeptPieces {
  readonly #pieces: Uint8Array[] = []
  #small: Uint8Array[] = []
  /** Bytes in it. */
  #waiting = 0

  add(piece: Uint8Array): void {
    if (piece.length >= SMALL) {
      this.#join()
      this.#pieces.push(piece)
      return
    }
    this.#small.push(piece)
    this.#waiting += piece.length
    if (this.#waiting >= SMALL) this.#join()
  }

  /** All of them, in their order. */
  all(): readonly Uint8Array[] {
    this.#join()
    return this.#pieces
  }

  #join(): void {
    if (this.#small.length > 0) this.#pieces.push(Buffer.concat(this.#small))
    this.#small = []
    this.#waiting = 0
  }
}
