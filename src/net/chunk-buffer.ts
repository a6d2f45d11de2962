// Collects the chunks of a body until it is complete. A chunk costs some
// hundred bytes besides its content, so very small chunks are joined.

/** Chunks with fewer bytes are joined. */
const SMALL_CHUNK_BYTES = 1_024

export class ChunkBuffer {
  readonly #chunks: Uint8Array[] = []
  #smallChunks: Uint8Array[] = []
  /** Bytes in the pending small chunks. */
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

  /** Returns all chunks in order. */
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
