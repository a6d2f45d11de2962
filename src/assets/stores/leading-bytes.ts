// LeadingBytes keeps the first bytes of a source that passes through it, so that their content type can be detected.
import { SNIFFED_BYTES } from '../content-type.ts'
import type { ByteSource } from './object-store.ts'

export class LeadingBytes {
  #bytes: Uint8Array = new Uint8Array(0)

  /** All bytes that passed, or the first SNIFFED_BYTES + 1 of them. */
  get bytes(): Uint8Array {
    return this.#bytes
  }

  /** Passes a source through. */
  async *capture(source: ByteSource): AsyncGenerator<Uint8Array> {
    for await (const chunk of source instanceof Uint8Array ? [source] : source) {
      const wanted = SNIFFED_BYTES + 1 - this.#bytes.length
      if (wanted > 0) this.#bytes = Buffer.concat([this.#bytes, chunk.subarray(0, wanted)])
      yield chunk
    }
  }
}
