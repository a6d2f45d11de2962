// One form of a secret. Only the secret and numbers are stored, since all forms together would be many times as long.

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
 * The prefix lengths of a long form that are compared in turn before all of it is encoded: the text must match each. No
 * encoding has fewer characters than its source.
 */
const LEVEL_LENGTHS = [256, 1_024, 4_096, 16_384] as const
/** Each long form has more characters, in any encoding. */
export const HEAD_LENGTH = LEVEL_LENGTHS[2]
/** Prefixes up to this length are far shorter than a long form. */
const SHORT_PREFIX_LENGTH = 64
/** The encoding of a prefix depends on at most this many following characters. */
const LOOKAHEAD_LENGTH = 32
/**
 * Forms of longer sources are long. Secrets of one owner have at most a mebibyte together, so at most some hundred are
 * long.
 */
const LONG_FORM_LENGTH = HEAD_LENGTH + LOOKAHEAD_LENGTH

interface ComparedLevel {
  readonly span: HashSpan
  readonly hash: number
}

export class SecretForm {
  readonly #text: string
  readonly #encoding: (text: string) => string
  /** Whether the form is of a part of a secret, such as a line. */
  readonly #isPart: boolean
  #span: HashSpan | null = null
  #hash = 0
  #stages: Float64Array | null = null
  /** The sums of prefixes up to LONGEST_PREFIX, and up to the longest requested length. Computed on demand. */
  #first_sums: Int32Array | null = null
  #sums: Int32Array | null = null
  /** Whether `#sums` covers the whole form. */
  #areSumsComplete = false
  /** The levels of a long form that were compared. */
  #levels: ComparedLevel[] | null = null
  #threshold: number | null = null
  #ownThreshold: number | null = null

  constructor(text: string, write: (text: string) => string, isPart = false) {
    this.#text = text
    this.#encoding = write
    this.#isPart = isPart
  }

  /** Encodes the form; the result is not cached. */
  encode(): string {
    return this.#encoding(this.#text)
  }

  /** The length of the encoded text. */
  get source_length(): number {
    return this.#text.length
  }

  get span(): HashSpan {
    return this.#span ?? this.#measured()
  }

  /** Whether several prefixes are compared before the whole form is encoded. */
  get isLong(): boolean {
    return this.#text.length > LONG_FORM_LENGTH
  }

  /** False if the text differs from the form at this position; true if the text ends before the form. */
  mayStandAt(text: HashedText, from: number): boolean {
    for (const [at, length] of LEVEL_LENGTHS.entries()) {
      if (this.#span || this.#text.length <= length + LOOKAHEAD_LENGTH || from + length > text.length) return true
      const { span, hash } = this.#getLevel(at)
      if (text.longHash(from, span) !== hash) return false
    }
    return true
  }

  /** The hash of the first HEAD_LENGTH characters of a long form. */
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

  /** The first `length` characters; the form has more if its source has. */
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

  /** Whether a shorter text with this sum begins the form. A false positive occurs less than once in millions. */
  beginsWith(length: number, sum: number): boolean {
    if (length <= LONGEST_PREFIX) return this.sumPrefix(length) === sum
    if (!this.#areSumsComplete && (this.#sums === null || this.#sums.length <= length)) {
      const level = LEVEL_LENGTHS.find((one) => length <= one) ?? Number.POSITIVE_INFINITY
      const prefix = this.#encodePrefix(level)
      this.#areSumsComplete = prefix.length < level
      this.#sums = sumsOf(prefix)
    }
    return this.#sums![length] === sum
  }

  /** The sum of the first `length` characters, at most LONGEST_PREFIX. */
  sumPrefix(length: number): number {
    this.#first_sums ??= sumsOf(this.#encodePrefix(LONGEST_PREFIX))
    return this.#first_sums[length]!
  }

  /** From this many characters on, the prefix is not a guess. */
  get threshold(): number {
    this.#threshold ??= this.#computeThreshold(this.#isPart ? this.#text.length : measureGuessable(this.#text))
    return this.#threshold
  }

  /** The threshold in texts for the owner, who need not guess: only the prefix of the kind counts. */
  get ownThreshold(): number {
    this.#ownThreshold ??= this.#computeThreshold(measureKnownPrefix(this.#text))
    return this.#ownThreshold
  }

  #computeThreshold(known: number): number {
    // For long forms the threshold does not depend on the exact length.
    const length = this.isLong && known <= SHORT_PREFIX_LENGTH ? this.#text.length : this.span.length
    return computeThreshold(length, this.#encoding(this.#text.slice(0, known)).length)
  }

  /** The length of the common prefix with the text at this position. */
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

  /** The hashes of the prefixes at the stages of the form's length; the last is of the whole form. Computed once. */
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

  /** Computed once, after a prefix of the form occurs in a text. */
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

/** The length of the longest source. */
export function measureLongestSource(forms: Iterable<SecretForm>): number {
  let longest = 0
  for (const { source_length } of forms) longest = Math.max(longest, source_length)
  return longest
}

/** The maximum number of characters for one source character: three bytes in a nested URL. */
const MOST_GROWTH = 15

/** The maximum length of a form with a source of this length. */
export function estimateMaxLength(source_length: number): number {
  return MOST_GROWTH * source_length
}

/** The length of the longest form. */
export function measureLongestForm(forms: Iterable<SecretForm>): number {
  let longest = 0
  for (const { span } of forms) longest = Math.max(longest, span.length)
  return longest
}
