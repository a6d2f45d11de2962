// One form of one secret. What is kept of it beside the secret are numbers, since all its forms together are many times as long.

import { computeThreshold, measureGuessable, measureKnownPrefix } from './guess-threshold.ts'
import {
  createSpan,
  extendSum,
  type HashedText,
  type HashSpan,
  hashPrefixes,
  LONGEST_PREFIX,
  listStageLengths,
  TextHashes,
} from './rolling-hashes.ts'

/**
 * So much of a long form is compared, one after the other, before all of it is written: to be compared with more, a text has to hold as much. No way to
 * write takes fewer characters than the text has.
 */
const LEVEL_LENGTHS = [256, 1_024, 4_096, 16_384] as const
/** Each long word has more characters, however it is written. */
export const HEAD_LENGTH = LEVEL_LENGTHS[2]
/** So many characters of a long word are far from all, however they are written. */
const SHORT_PREFIX_LENGTH = 64
/** What is written behind a beginning does not change it, but for the last character. */
const LOOKAHEAD_LENGTH = 32
/** Words of more characters are long: of those of one owner, which have a mebibyte together, no more than some hundred secrets. */
const LONG_FORM_LENGTH = HEAD_LENGTH + LOOKAHEAD_LENGTH

interface ComparedLevel {
  readonly span: HashSpan
  readonly hash: number
}

export class SecretForm {
  readonly #text: string
  readonly #encoding: (text: string) => string
  /** Whether it is but a part of a secret, such as a line of it. */
  readonly #isPart: boolean
  #span: HashSpan | null = null
  #hash = 0
  #stages: Float64Array | null = null
  /** The sums of its beginnings up to `BEGINNING`, and up to as many as were asked for: made when a text ends with one that is so long. */
  #first_sums: Int32Array | null = null
  #sums: Int32Array | null = null
  /** Whether those are of all. */
  #areSumsComplete = false
  /** Of a long one, the beginnings that were compared. */
  #levels: ComparedLevel[] | null = null
  #threshold: number | null = null
  #ownThreshold: number | null = null

  constructor(text: string, write: (text: string) => string, isPart = false) {
    this.#text = text
    this.#encoding = write
    this.#isPart = isPart
  }

  /** Its characters; made anew each time. */
  encode(): string {
    return this.#encoding(this.#text)
  }

  /** Of what it is a form of. */
  get source_length(): number {
    return this.#text.length
  }

  get span(): HashSpan {
    return this.#span ?? this.#measured()
  }

  /** Whether more is compared of it than its beginning before all of it is written. */
  get isLong(): boolean {
    return this.#text.length > LONG_FORM_LENGTH
  }

  /** False where so much of it as the text has does not stand there; in a text that ends sooner it may. */
  mayStandAt(text: HashedText, from: number): boolean {
    for (const [at, length] of LEVEL_LENGTHS.entries()) {
      if (this.#span || this.#text.length <= length + LOOKAHEAD_LENGTH || from + length > text.length) return true
      const { span, hash } = this.#getLevel(at)
      if (text.longHash(from, span) !== hash) return false
    }
    return true
  }

  /** The hash of the first `HEAD` characters of a long word. */
  get head_hash(): number {
    return this.#getLevel(LEVEL_LENGTHS.indexOf(HEAD_LENGTH)).hash
  }

  #getLevel(at: number): ComparedLevel {
    this.#levels ??= []
    this.#levels[at] ??= this.#createLevel(LEVEL_LENGTHS[at]!)
    return this.#levels[at]
  }

  #createLevel(length: number): ComparedLevel {
    const span = createSpan(length)
    return { span, hash: new TextHashes(this.#encodePrefix(length)).longHash(0, span) }
  }

  /** So many of its first characters, of which it has more where the text does. */
  #encodePrefix(length: number): string {
    if (this.#text.length <= length + LOOKAHEAD_LENGTH) return this.encode().slice(0, length)
    return this.#encoding(this.#text.slice(0, length + LOOKAHEAD_LENGTH)).slice(0, length)
  }

  isLongerThan(length: number): boolean {
    return this.#text.length > length || this.span.length > length
  }

  standsAt(text: HashedText, from: number): boolean {
    const span = this.span
    return from + span.length <= text.length && text.longHash(from, span) === this.#hash
  }

  /** Whether a text begins it that has fewer characters than it, by the text's sum. It may err: not even one in millions that do not begin it. */
  beginsWith(length: number, sum: number): boolean {
    if (length <= LONGEST_PREFIX) return this.sumPrefix(length) === sum
    if (!this.#areSumsComplete && (this.#sums === null || this.#sums.length <= length)) {
      const level = LEVEL_LENGTHS.find((one) => length <= one) ?? Number.POSITIVE_INFINITY
      const beginning = this.#encodePrefix(level)
      this.#areSumsComplete = beginning.length < level
      this.#sums = sumsOf(beginning)
    }
    return this.#sums![length] === sum
  }

  /** The sum of so many of its first characters, no more than `BEGINNING`. */
  sumPrefix(length: number): number {
    this.#first_sums ??= sumsOf(this.#encodePrefix(LONGEST_PREFIX))
    return this.#first_sums[length]!
  }

  /** From so many characters on its beginning is no guess. */
  get threshold(): number {
    this.#threshold ??= this.#computeThreshold(this.#isPart ? this.#text.length : measureGuessable(this.#text))
    return this.#threshold
  }

  /** The same in texts for its owner, who has nothing to guess: so many characters are what others of its kind begin with. */
  get ownThreshold(): number {
    this.#ownThreshold ??= this.#computeThreshold(measureKnownPrefix(this.#text))
    return this.#ownThreshold
  }

  #computeThreshold(known: number): number {
    // Of a long word it is the same, whatever its length.
    const length = this.isLong && known <= SHORT_PREFIX_LENGTH ? this.#text.length : this.span.length
    return computeThreshold(length, this.#encoding(this.#text.slice(0, known)).length)
  }

  /** How much of a text from a place on is the same as its beginning. */
  countShared(text: { readonly length: number; sum(from: number, length: number): number }, from: number): number {
    const left = text.length - from
    let [low, high] = [0, this.isLongerThan(left) ? left : this.span.length]
    while (low < high) {
      const middle = (low + high + 1) >>> 1
      if (this.beginsWith(middle, text.sum(from, middle))) low = middle
      else high = middle - 1
    }
    return low
  }

  /** The hashes of its beginnings that have as many characters as the stages of its length: the last is its own. Written once. */
  get stages(): Float64Array {
    this.#stages ??= this.#staged()
    return this.#stages
  }

  #staged(): Float64Array {
    const form = this.encode()
    const stages = hashPrefixes(form, listStageLengths(form.length))
    this.#span = createSpan(form.length)
    this.#hash = stages.at(-1)!
    return stages
  }

  /** Once, and not before its beginning is met in a text. */
  #measured(): HashSpan {
    const form = this.encode()
    this.#span = createSpan(form.length)
    this.#hash = new TextHashes(form).longHash(0, this.#span)
    return this.#span
  }
}

function sumsOf(text: string): Int32Array {
  const sums = new Int32Array(text.length + 1)
  for (let at = 0; at < text.length; at++) sums[at + 1] = extendSum(sums[at]!, text.charCodeAt(at))
  return sums
}

/** How many characters the longest has of what some words are forms of. */
export function measureLongestSource(words: Iterable<SecretForm>): number {
  let longest = 0
  for (const { source_length } of words) longest = Math.max(longest, source_length)
  return longest
}

/** So many characters stand for one at most: in URLs in URLs, for one of three bytes. */
const MOST_GROWTH = 15

/** How many characters a word may have, at the most, that is a form of so many. */
export function estimateMaxLength(source_length: number): number {
  return MOST_GROWTH * source_length
}

/** How many characters the longest of some words has. */
export function measureLongestForm(words: Iterable<SecretForm>): number {
  let longest = 0
  for (const { span } of words) longest = Math.max(longest, span.length)
  return longest
}
