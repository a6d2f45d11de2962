// Hashes of parts of texts: short ones of the few lengths at which beginnings are compared, and long ones of whole words.

/** No word is shorter. */
export const MIN_FORM_LENGTH = 8

/** How many characters of a word are compared at each closer look. Keys often begin alike, those of one provider or one format. */
export const PREFIX_LENGTHS = [MIN_FORM_LENGTH, 32, 96] as const
/** So much of a word is its beginning; the rest is not looked at before that stands in a text. */
export const LONGEST_PREFIX = PREFIX_LENGTHS[2]

const BASE = 0x01000193
const OTHER_BASE = 0x2c1b3c6d

/** A length, with the powers of both bases for it modulo 2^32. */
export interface HashSpan {
  readonly length: number
  readonly power: number
  readonly otherPower: number
}

export function createSpan(length: number): HashSpan {
  return { length, power: computePower(BASE, length), otherPower: computePower(OTHER_BASE, length) }
}

/** By squaring. */
function computePower(base: number, exponent: number): number {
  let power = 1
  for (let left = exponent, square = base; left > 0; left >>>= 1, square = Math.imul(square, square))
    if ((left & 1) === 1) power = Math.imul(power, square)
  return power
}

const SPANS: ReadonlyMap<number, HashSpan> = new Map(PREFIX_LENGTHS.map((length) => [length, createSpan(length)]))

/** A text of which parts are compared by their hashes. */
export interface HashedText {
  readonly length: number
  /** Of a part that has one of the lengths of `LOOKS`: 30 bits. */
  shortHash(from: number, length: number): number
  /** Of a part of any length: 52 bits, so that nothing else has it. */
  longHash(from: number, span: HashSpan): number
}

/**
 * Hashes of parts of a text, polynomials modulo 2^32 (R. Karp, M. Rabin, Efficient randomized pattern-matching algorithms, 1987). After one
 * pass over the text each takes the same time, whatever the text and the length.
 */
export class TextHashes implements HashedText {
  readonly length: number
  readonly #text: string
  /** Of each beginning of the text; made when the first long part is asked for. */
  #sums: HashSums | null = null

  constructor(text: string) {
    this.#text = text
    this.length = text.length
  }

  shortHash(from: number, length: number): number {
    if (length === MIN_FORM_LENGTH) return hashSum(this.#sumFirst(from), length)
    this.#sums ??= this.#createSums()
    return hashShortPart(this.#sums, from, length)
  }

  longHash(from: number, span: HashSpan): number {
    this.#sums ??= this.#createSums()
    return hashLongPart(this.#sums, from, span)
  }

  #sumFirst(from: number): number {
    let sum = 0
    for (let at = from; at < from + MIN_FORM_LENGTH; at++) sum = extendSum(sum, this.#text.charCodeAt(at))
    return sum
  }

  #createSums(): HashSums {
    const all = allocateSums(this.length)
    appendSums(all, 0, this.#text)
    return all
  }
}

export interface HashSums {
  readonly sums: Int32Array
  readonly otherSums: Int32Array
}

/** For texts of at most so many characters. The first sum is that of no characters, and stays 0. */
export function allocateSums(length: number): HashSums {
  return { sums: new Int32Array(length + 1), otherSums: new Int32Array(length + 1) }
}

/** Enters the sums of a text that goes on with `text` behind so many characters. */
export function appendSums({ sums, otherSums }: HashSums, from: number, text: string): void {
  let [sum, other] = [sums[from]!, otherSums[from]!]
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    sum = extendSum(sum, char)
    other = extendOtherSum(other, char)
    sums[from + at + 1] = sum
    otherSums[from + at + 1] = other
  }
}

export function hashShortPart({ sums }: HashSums, from: number, length: number): number {
  return hashSum(subtractPrefix(sums, from, length, SPANS.get(length)!.power), length)
}

export function hashLongPart(
  { sums, otherSums }: HashSums,
  from: number,
  { length, power, otherPower }: HashSpan,
): number {
  return combineSums(subtractPrefix(sums, from, length, power), subtractPrefix(otherSums, from, length, otherPower))
}

function combineSums(sum: number, other: number): number {
  return (sum >>> 12) * 2 ** 32 + (other >>> 0)
}

/** The numbers that are made of the highest bits of a length, the least first: of 22 they are 16, 20 and 22. */
export function listStageLengths(length: number): number[] {
  const stages: number[] = []
  for (let left = length; left > 0; left &= left - 1) stages.push(left)
  return stages.reverse()
}

/** The long hashes of the beginnings of a text that have so many characters, in order; nothing else is kept of it. */
export function hashPrefixes(text: string, lengths: readonly number[]): Float64Array {
  const hashes = new Float64Array(lengths.length)
  let [sum, other, at] = [0, 0, 0]
  for (let i = 0; i < lengths.length; i++) {
    for (const length = lengths[i]!; at < length; at++) {
      const char = text.charCodeAt(at)
      sum = extendSum(sum, char)
      other = extendOtherSum(other, char)
    }
    hashes[i] = combineSums(sum, other)
  }
  return hashes
}

/** The sum of a part of any length, as `summed` makes it of its characters. */
export function sumPart({ sums }: HashSums, from: number, length: number): number {
  return subtractPrefix(sums, from, length, computePower(BASE, length))
}

function subtractPrefix(sums: Int32Array, from: number, length: number, power: number): number {
  return (sums[from + length]! - Math.imul(sums[from]!, power)) | 0
}

/** The sum of a text with one more character. */
export function extendSum(sum: number, char: number): number {
  return (Math.imul(sum, BASE) + char) | 0
}

function extendOtherSum(sum: number, char: number): number {
  return (Math.imul(sum, OTHER_BASE) + char) | 0
}

/** The hash of a part of so many characters, out of its sum: a small integer, which maps are fastest with. The high bits, which depend on most characters, get a part in the low ones. */
export function hashSum(sum: number, length: number): number {
  return ((sum ^ (sum >>> 15)) + length) & 0x3fffffff
}
