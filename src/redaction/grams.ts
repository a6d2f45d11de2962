// A quick look at a text: may it hold one of many words? It says no wrongly never, and yes wrongly seldom.

const GRAM = 4
/** The stride at which a text is looked at: so far apart that no word of SHORTEST_WORD characters falls between two looks. */
const STRIDE = 5
const SHORTEST_WORD = GRAM + STRIDE - 1
/** Bits of the table for each entry: the more, the seldomer it errs. */
const BITS_PER_GRAM = 256
const LEAST_BITS = 12

/** The four-letter parts at which words are recognised, wherever in a word the look falls. */
export class Grams {
  readonly #bits: Uint8Array
  readonly #shift: number
  /** How words begin, to look closer where a part was recognised. */
  readonly #heads: ReadonlySet<string>

  /** `words` of at least 8 characters. */
  constructor(words: readonly string[]) {
    const size = Math.max(LEAST_BITS, Math.ceil(Math.log2(words.length * STRIDE * BITS_PER_GRAM + 1)))
    this.#bits = new Uint8Array(2 ** (size - 3))
    this.#shift = 32 - size
    this.#heads = new Set(words.map((word) => word.slice(0, SHORTEST_WORD)))
    for (const word of words) {
      if (word.length < SHORTEST_WORD) throw new RangeError(`a word of less than ${SHORTEST_WORD} characters`)
      for (let at = 0; at < STRIDE; at++) this.#add(this.#place(word, at))
    }
  }

  mayHold(text: string): boolean {
    const bits = this.#bits
    for (let at = 0, last = text.length - GRAM; at <= last; at += STRIDE) {
      const place = this.#place(text, at)
      if ((bits[place >>> 3]! & (1 << (place & 7))) !== 0 && this.#beginsNear(text, at)) return true
    }
    return false
  }

  /** Whether a word may begin at a place, or up to a stride before it. */
  #beginsNear(text: string, at: number): boolean {
    for (let from = Math.max(0, at - STRIDE + 1); from <= at; from++) {
      if (this.#heads.has(text.slice(from, from + SHORTEST_WORD))) return true
    }
    return false
  }

  #add(place: number): void {
    this.#bits[place >>> 3]! |= 1 << (place & 7)
  }

  /** Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4) of four characters. */
  #place(text: string, at: number): number {
    const gram =
      text.charCodeAt(at) ^
      (text.charCodeAt(at + 1) << 8) ^
      (text.charCodeAt(at + 2) << 16) ^
      (text.charCodeAt(at + 3) << 24)
    return Math.imul(gram, 0x9e3779b1) >>> this.#shift
  }
}
