// Pieces of a body that are kept until all of it has come. One takes some hundred bytes besides its own: very small ones are put together on the way.

/** Bytes. */
const SMALL_CHUNK_BYTES = 1_024

export class ChunkBuffer {
  readonly #chunks: Uint8Array[] = []
  #smallChunks: Uint8Array[] = []
  /** Bytes in it. */
  #smallBytes = 0

  add(piece: Uint8Array): void {
    if (piece.length >= SMALL_CHUNK_BYTES) {
      this.#joinSmallChunks()
      this.#chunks.push(piece)
      return
    }
    this.#smallChunks.push(piece)
    this.#smallBytes += piece.length
    if (this.#smallBytes >= SMALL_CHUNK_BYTES) this.#joinSmallChunks()
  }

  /** All of them, in their order. */
  chunks(): readonly Uint8Array[] {
    this.#joinSmallChunks()
    return this.#chunks
  }

  #joinSmallChunks(): void {
    if (this.#smallChunks.length > 0) this.#chunks.push(Buffer.concat(this.#smallChunks))
    this.#smallChunks = []
    this.#smallBytes = 0
  }
}
