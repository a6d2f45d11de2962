// Hashes of text parts: short hashes for the few prefix lengths, and long hashes for whole forms.

/** No form is shorter. */
export const MIN_FORM_LENGTH = 8

/** The prefix lengths of successive comparisons. Keys of one provider or format often share a prefix. */
export const PREFIX_LENGTHS = [MIN_FORM_LENGTH, 32, 96] as const
/** The length of a stored prefix; the rest of a form is not read before the prefix occurs in a text. */
export const LONGEST_PREFIX = PREFIX_LENGTHS[2]

const BASE = 0x01000193
const OTHER_BASE = 0x2c1b3c6d

/** A length with the powers of both bases, modulo 2^32. */
export interface HashSpan {
  readonly length: number
  readonly power: number
  readonly otherPower: number
}

export function createSpan(length: number): HashSpan {
  return { length, power: computePower(BASE, length), otherPower: computePower(OTHER_BASE, length) }
}

/** By repeated squaring. */
function computePower(base: number, exponent: number): number {
  let power = 1
  for (let left = exponent, square = base; left > 0; left >>>= 1, square = Math.imul(square, square))
    if ((left & 1) === 1) power = Math.imul(power, square)
  return power
}

const SPANS: ReadonlyMap<number, HashSpan> = new Map(PREFIX_LENGTHS.map((length) => [length, createSpan(length)]))

/** A text whose parts are compared by hashes. */
export interface HashedText {
  readonly length: number
  /** The hash of a part with a length of `PREFIX_LENGTHS`: 30 bits. */
  shortHash(from: number, length: number): number
  /** The hash of a part of any length: 52 bits, so that collisions do not occur in practice. */
  longHash(from: number, span: HashSpan): number
}

/**
 * Polynomial hashes modulo 2^32 (R. Karp, M. Rabin, Efficient randomized pattern-matching algorithms, 1987). After one
 * pass over the text, each hash takes constant time.
 */
export class TextHashes implements HashedText {
  readonly length: number
  readonly #text: string
  /** The sums of all prefixes of the text; computed for the first long part. */
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

/** For texts of up to `length` characters. The first sum belongs to the empty prefix, and stays 0. */
export function allocateSums(length: number): HashSums {
  return { sums: new Int32Array(length + 1), otherSums: new Int32Array(length + 1) }
}

/** Appends the sums for `text`, which follows `from` characters. */
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

/** Lengths made of the highest bits of a length, in ascending order: 22 gives 16, 20 and 22. */
export function listStageLengths(length: number): number[] {
  const stages: number[] = []
  for (let left = length; left > 0; left &= left - 1) stages.push(left)
  return stages.reverse()
}

/** The long hashes of the prefixes of these lengths, in order. Nothing else is kept of the text. */
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

/** The sum of a part of any length, equal to the sum over its characters. */
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

/**
 * The hash of a part from its sum and length: a small integer, which is fastest as a map key. The high bits depend on
 * most characters, and are mixed into the low bits.
 */
export function hashSum(sum: number, length: number): number {
  return ((sum ^ (sum >>> 15)) + length) & 0x3fffffff
}
