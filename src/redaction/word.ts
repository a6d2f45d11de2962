// One form of one secret. What is kept of it beside the secret are numbers, since all its forms together are many times as long.
import { BEGINNING, beginningHashes, Hashes, type Parts, type Span, spanOf, stagesOf, summed } from './hashes.ts'
import { guessableLength, prefixLength, thresholdOf } from './threshold.ts'

/**
 * So much of a long form is compared, one after the other, before all of it is written: to be compared with more, a text has to hold as much. No way to
 * write takes fewer characters than the text has.
 */
const LEVELS = [256, 1_024, 4_096, 16_384] as const
/** Each long word has more characters, however it is written. */
export const HEAD = LEVELS[2]
/** So many characters of a long word are far from all, however they are written. */
const LITTLE = 64
/** What is written behind a beginning does not change it, but for the last character. */
const BEHIND = 32
/** Words of more characters are long: of those of one owner, which have a mebibyte together, no more than some hundred secrets. */
const LONG = HEAD + BEHIND

interface Level {
  readonly span: Span
  readonly hash: number
}

export class Word {
  readonly #text: string
  readonly #write: (text: string) => string
  /** Whether it is but a part of a secret, such as a line of it. */
  readonly #isPart: boolean
  #span: Span | null = null
  #hash = 0
  #stages: Float64Array | null = null
  /** The sums of its beginnings up to `BEGINNING`, and up to as many as were asked for: made when a text ends with one that is so long. */
  #opening: Int32Array | null = null
  #sums: Int32Array | null = null
  /** Whether those are of all. */
  #areAll = false
  /** Of a long one, the beginnings that were compared. */
  #levels: Level[] | null = null
  #threshold: number | null = null
  #ownThreshold: number | null = null

  constructor(text: string, write: (text: string) => string, isPart = false) {
    this.#text = text
    this.#write = write
    this.#isPart = isPart
  }

  /** Its characters; made anew each time. */
  form(): string {
    return this.#write(this.#text)
  }

  /** Of what it is a form of. */
  get source_length(): number {
    return this.#text.length
  }

  get span(): Span {
    return this.#span ?? this.#measured()
  }

  /** Whether more is compared of it than its beginning before all of it is written. */
  get isLong(): boolean {
    return this.#text.length > LONG
  }

  /** False where so much of it as the text has does not stand there; in a text that ends sooner it may. */
  mayStandAt(text: Parts, from: number): boolean {
    for (const [at, length] of LEVELS.entries()) {
      if (this.#span || this.#text.length <= length + BEHIND || from + length > text.length) return true
      const { span, hash } = this.#levelAt(at)
      if (text.long(from, span) !== hash) return false
    }
    return true
  }

  /** The hash of the first `HEAD` characters of a long word. */
  get head(): number {
    return this.#levelAt(LEVELS.indexOf(HEAD)).hash
  }

  #levelAt(at: number): Level {
    this.#levels ??= []
    this.#levels[at] ??= this.#level(LEVELS[at]!)
    return this.#levels[at]
  }

  #level(length: number): Level {
    const span = spanOf(length)
    return { span, hash: new Hashes(this.#beginning(length)).long(0, span) }
  }

  /** So many of its first characters, of which it has more where the text does. */
  #beginning(length: number): string {
    if (this.#text.length <= length + BEHIND) return this.form().slice(0, length)
    return this.#write(this.#text.slice(0, length + BEHIND)).slice(0, length)
  }

  isLongerThan(length: number): boolean {
    return this.#text.length > length || this.span.length > length
  }

  standsAt(text: Parts, from: number): boolean {
    const span = this.span
    return from + span.length <= text.length && text.long(from, span) === this.#hash
  }

  /** Whether a text begins it that has fewer characters than it, by the text's sum. It may err: not even one in millions that do not begin it. */
  beginsWith(length: number, sum: number): boolean {
    if (length <= BEGINNING) return this.openingSum(length) === sum
    if (!this.#areAll && (this.#sums === null || this.#sums.length <= length)) {
      const level = LEVELS.find((one) => length <= one) ?? Number.POSITIVE_INFINITY
      const beginning = this.#beginning(level)
      this.#areAll = beginning.length < level
      this.#sums = sumsOf(beginning)
    }
    return this.#sums![length] === sum
  }

  /** The sum of so many of its first characters, no more than `BEGINNING`. */
  openingSum(length: number): number {
    this.#opening ??= sumsOf(this.#beginning(BEGINNING))
    return this.#opening[length]!
  }

  /** From so many characters on its beginning is no guess. */
  get threshold(): number {
    this.#threshold ??= this.#thresholdBehind(this.#isPart ? this.#text.length : guessableLength(this.#text))
    return this.#threshold
  }

  /** The same in texts for its owner, who has nothing to guess: so many characters are what others of its kind begin with. */
  get ownThreshold(): number {
    this.#ownThreshold ??= this.#thresholdBehind(prefixLength(this.#text))
    return this.#ownThreshold
  }

  #thresholdBehind(known: number): number {
    // Of a long word it is the same, whatever its length.
    const length = this.isLong && known <= LITTLE ? this.#text.length : this.span.length
    return thresholdOf(length, this.#write(this.#text.slice(0, known)).length)
  }

  /** How much of a text from a place on is the same as its beginning. */
  sharedAt(text: { readonly length: number; sum(from: number, length: number): number }, from: number): number {
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
    const form = this.form()
    const stages = beginningHashes(form, stagesOf(form.length))
    this.#span = spanOf(form.length)
    this.#hash = stages.at(-1)!
    return stages
  }

  /** Once, and not before its beginning is met in a text. */
  #measured(): Span {
    const form = this.form()
    this.#span = spanOf(form.length)
    this.#hash = new Hashes(form).long(0, this.#span)
    return this.#span
  }
}

function sumsOf(text: string): Int32Array {
  const sums = new Int32Array(text.length + 1)
  for (let at = 0; at < text.length; at++) sums[at + 1] = summed(sums[at]!, text.charCodeAt(at))
  return sums
}

/** How many characters the longest has of what some words are forms of. */
export function longestSource(words: Iterable<Word>): number {
  let longest = 0
  for (const { source_length } of words) longest = Math.max(longest, source_length)
  return longest
}

/** So many characters stand for one at most: in URLs in URLs, for one of three bytes. */
const MOST_GROWTH = 15

/** How many characters a word may have, at the most, that is a form of so many. */
export function mostOf(source_length: number): number {
  return MOST_GROWTH * source_length
}

/** How many characters the longest of some words has. */
export function longestOf(words: Iterable<Word>): number {
  let longest = 0
  for (const { span } of words) longest = Math.max(longest, span.length)
  return longest
}
