// Hashes of parts of texts, of the few lengths at which words are compared.

/** No word is shorter. */
export const SHORTEST_WORD = 8

/**
 * How many characters of a word are compared at each closer look. Keys often begin alike, those of one provider or one format; the last look
 * tells most of them apart.
 */
export const LOOKS = [SHORTEST_WORD, 32, 96] as const

const BASE = 0x01000193

/** Powers of the base for each length that is looked at, modulo 2^32. */
const POWERS: ReadonlyMap<number, number> = new Map(
  LOOKS.map((length) => [
    length,
    Array.from({ length }, () => BASE).reduce((power, base) => Math.imul(power, base), 1),
  ]),
)

/**
 * Hashes of parts of a text, polynomials modulo 2^32 (R. Karp, M. Rabin, Efficient randomized pattern-matching algorithms, 1987). After one
 * pass over the text each takes the same time, whatever the text and the length.
 */
export class Hashes {
  readonly length: number
  readonly #text: string
  /** The hash of each beginning of the text; made when the first long part is asked for. */
  #sums: Int32Array | null = null

  constructor(text: string) {
    this.#text = text
    this.length = text.length
  }

  hash(from: number, length: number): number {
    return hashOf(length === SHORTEST_WORD ? this.#directly(from) : this.#between(from, length), length)
  }

  #directly(from: number): number {
    let sum = 0
    for (let at = from; at < from + SHORTEST_WORD; at++) sum = summed(sum, this.#text.charCodeAt(at))
    return sum
  }

  #between(from: number, length: number): number {
    this.#sums ??= this.#allSums()
    return (this.#sums[from + length]! - Math.imul(this.#sums[from]!, POWERS.get(length)!)) | 0
  }

  #allSums(): Int32Array {
    const sums = new Int32Array(this.length + 1)
    let sum = 0
    for (let at = 0; at < this.length; at++) {
      sum = summed(sum, this.#text.charCodeAt(at))
      sums[at + 1] = sum
    }
    return sums
  }
}

/** The sum of a text with one more character. */
export function summed(sum: number, char: number): number {
  return (Math.imul(sum, BASE) + char) | 0
}

/** The hash of a part of so many characters, out of its sum: a small integer, which maps are fastest with. The high bits, which depend on most characters, get a part in the low ones. */
export function hashOf(sum: number, length: number): number {
  return ((sum ^ (sum >>> 15)) + length) & 0x3fffffff
}
