// The beginning of bytes that pass by: enough to tell what they are.
import { SNIFFED_BYTES } from '../content-type.ts'
import type { ByteSource } from './object-store.ts'

export class LeadingBytes {
  #bytes: Uint8Array = new Uint8Array(0)

  /** The first bytes of those that passed: all, or one more than `LOOKED_AT`. */
  get bytes(): Uint8Array {
    return this.#bytes
  }

  /** Passes a source on. */
  async *capture(source: ByteSource): AsyncGenerator<Uint8Array> {
    for await (const chunk of source instanceof Uint8Array ? [source] : source) {
      const wanted = SNIFFED_BYTES + 1 - this.#bytes.length
      if (wanted > 0) this.#bytes = Buffer.concat([this.#bytes, chunk.subarray(0, wanted)])
      yield chunk
    }
  }
}
