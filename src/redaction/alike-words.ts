// Words that begin alike, and how much of one a text ends with. A few are compared one by one. Of more it is known, for each number of characters that a
// beginning has, which there are; a text that has more of them waits for the longest, and is compared when nothing follows.
import { BEGINNING, LOOKS } from './hashes.ts'
import type { HeldText } from './held.ts'
import { longestOf, longestSource, mostOf, type Word } from './word.ts'

/** What a text ends with: nothing of a word; so little of one that anybody may have guessed it; or more. */
export type Opening = 'none' | 'guessable' | 'secret'

const FEW = 32
/** Of more none is written: each may be the one, and may have as many characters as it can. */
const MOST_WRITTEN = 2_000
/** The same of words that are forms of so many characters together. */
const MOST_CHARACTERS = 2_500_000

export class AlikeWords {
  readonly #words = new Set<Word>()
  /** Of all that they are forms of. */
  #characters = 0
  /** Whether they are told about to their owner alone. */
  readonly #areOwn: boolean
  /** How many characters the longest of many has; null: nobody has asked since one came or went. */
  #longest: number | null = null
  /**
   * Of many, by the number of characters: the sums of all beginnings of so many, each with the least threshold of those that begin so. Null: nobody has
   * asked since one came or went.
   */
  #thresholds: Map<number, ReadonlyMap<number, number>> | null = null

  constructor(areOwn: boolean) {
    this.#areOwn = areOwn
  }

  get size(): number {
    return this.#words.size
  }

  add(word: Word): void {
    this.#words.add(word)
    this.#characters += word.source_length
    this.#change()
  }

  remove(word: Word): void {
    this.#words.delete(word)
    this.#characters -= word.source_length
    this.#change()
  }

  /** How much of a longer word the text is, from a place to its end. `isLast`: nothing follows by which it could be told. */
  openingAt(text: HeldText, at: number, isLast: boolean): Opening {
    const left = text.length - at
    const sum = text.sum(at, left)
    // What the service has is not more than an operator sets.
    const isCompared = isLast ? !this.#areTooMany : this.#words.size <= FEW
    if (this.#areOwn && !isCompared) return this.#openingOfMany(left, sum)
    let opening: Opening = 'none'
    for (const word of this.#words) {
      if (!isBegun(word, text, at, sum)) continue
      if (left >= this.#thresholdOf(word)) return 'secret'
      opening = 'guessable'
    }
    return opening
  }

  /** How much of the text from a place on is the beginning of a word. */
  sharedAt(text: HeldText, at: number): number {
    let most = 0
    for (const word of this.#words) most = Math.max(most, word.sharedAt(text, at))
    return most
  }

  get #areTooMany(): boolean {
    return this.#words.size > MOST_WRITTEN || this.#characters > MOST_CHARACTERS
  }

  #openingOfMany(left: number, sum: number): Opening {
    // So little may begin much else.
    if (left < LOOKS[1] && this.#areTooMany) return 'guessable'
    if (left >= BEGINNING || this.#areTooMany) return left < this.#most() ? 'secret' : 'none'
    const threshold = this.#thresholdsAt(left).get(sum)
    if (threshold === undefined) return 'none'
    return left >= threshold ? 'secret' : 'guessable'
  }

  #most(): number {
    this.#longest ??= this.#areTooMany ? mostOf(longestSource(this.#words)) : longestOf(this.#words)
    return this.#longest
  }

  #thresholdsAt(left: number): ReadonlyMap<number, number> {
    this.#thresholds ??= new Map()
    const present = this.#thresholds.get(left)
    if (present) return present
    const found = new Map<number, number>()
    for (const word of this.#words) {
      if (!word.isLongerThan(left)) continue
      const sum = word.openingSum(left)
      found.set(sum, Math.min(found.get(sum) ?? Number.POSITIVE_INFINITY, this.#thresholdOf(word)))
    }
    this.#thresholds.set(left, found)
    return found
  }

  #thresholdOf(word: Word): number {
    return this.#areOwn ? word.ownThreshold : word.threshold
  }

  #change(): void {
    this.#longest = null
    this.#thresholds = null
  }
}

/** Whether the text, from a place to its end, begins a longer word. `sum`: that of so much of the text. */
function isBegun(word: Word, text: HeldText, at: number, sum: number): boolean {
  const left = text.length - at
  return word.mayStandAt(text, at) && word.beginsWith(left, sum) && word.isLongerThan(left)
}
