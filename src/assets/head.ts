// The beginning of bytes that pass by: enough to tell what they are.
import { LOOKED_AT } from './content-type.ts'
import type { Source } from './object-store.ts'

export class Head {
  #bytes: Uint8Array = new Uint8Array(0)

  /** The first bytes of those that passed: all, or one more than `LOOKED_AT`. */
  get bytes(): Uint8Array {
    return this.#bytes
  }

  /** Passes a source on. */
  async *of(source: Source): AsyncGenerator<Uint8Array> {
    for await (const chunk of source instanceof Uint8Array ? [source] : source) {
      const wanted = LOOKED_AT + 1 - this.#bytes.length
      if (wanted > 0) this.#bytes = Buffer.concat([this.#bytes, chunk.subarray(0, wanted)])
      yield chunk
    }
  }
}
