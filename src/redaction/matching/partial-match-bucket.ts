// Words that begin alike, and how much of one a text ends with. A few are compared one by one. Of more it is known, for each number of characters that a
// beginning has, which there are; a text that has more of them waits for the longest, and is compared when nothing follows.

import type { HeldText } from './held-text.ts'
import { LONGEST_PREFIX, PREFIX_LENGTHS } from './rolling-hashes.ts'
import { estimateMaxLength, measureLongestForm, measureLongestSource, type SecretForm } from './secret-form.ts'

/** What a text ends with: nothing of a word; so little of one that anybody may have guessed it; or more. */
export type PartialMatch = 'none' | 'guessable' | 'secret'

const MAX_COMPARED_SINGLY = 32
/** Of more none is written: each may be the one, and may have as many characters as it can. */
const MAX_WRITTEN_FORMS = 2_000
/** The same of words that are forms of so many characters together. */
const MAX_WRITTEN_CHARACTERS = 2_500_000

export class PartialMatchBucket {
  readonly #forms = new Set<SecretForm>()
  /** Of all that they are forms of. */
  #characters = 0
  /** Whether they are told about to their owner alone. */
  readonly #isOwned: boolean
  /** How many characters the longest of many has; null: nobody has asked since one came or went. */
  #longest: number | null = null
  /**
   * Of many, by the number of characters: the sums of all beginnings of so many, each with the least threshold of those that begin so. Null: nobody has
   * asked since one came or went.
   */
  #thresholds: Map<number, ReadonlyMap<number, number>> | null = null

  constructor(areOwn: boolean) {
    this.#isOwned = areOwn
  }

  get size(): number {
    return this.#forms.size
  }

  add(word: SecretForm): void {
    this.#forms.add(word)
    this.#characters += word.source_length
    this.#clearCaches()
  }

  remove(word: SecretForm): void {
    this.#forms.delete(word)
    this.#characters -= word.source_length
    this.#clearCaches()
  }

  /** How much of a longer word the text is, from a place to its end. `isLast`: nothing follows by which it could be told. */
  findPartialMatch(text: HeldText, at: number, isLast: boolean): PartialMatch {
    const left = text.length - at
    const sum = text.sum(at, left)
    // What the service has is not more than an operator sets.
    const isCompared = isLast ? !this.#areTooMany : this.#forms.size <= MAX_COMPARED_SINGLY
    if (this.#isOwned && !isCompared) return this.#findAmongMany(left, sum)
    let opening: PartialMatch = 'none'
    for (const word of this.#forms) {
      if (!isBegunAt(word, text, at, sum)) continue
      if (left >= this.#thresholdOf(word)) return 'secret'
      opening = 'guessable'
    }
    return opening
  }

  /** How much of the text from a place on is the beginning of a word. */
  countShared(text: HeldText, at: number): number {
    let most = 0
    for (const word of this.#forms) most = Math.max(most, word.countShared(text, at))
    return most
  }

  get #areTooMany(): boolean {
    return this.#forms.size > MAX_WRITTEN_FORMS || this.#characters > MAX_WRITTEN_CHARACTERS
  }

  #findAmongMany(left: number, sum: number): PartialMatch {
    // So little may begin much else.
    if (left < PREFIX_LENGTHS[1] && this.#areTooMany) return 'guessable'
    if (left >= LONGEST_PREFIX || this.#areTooMany) return left < this.#longestPossible() ? 'secret' : 'none'
    const threshold = this.#thresholdsForLength(left).get(sum)
    if (threshold === undefined) return 'none'
    return left >= threshold ? 'secret' : 'guessable'
  }

  #longestPossible(): number {
    this.#longest ??= this.#areTooMany
      ? estimateMaxLength(measureLongestSource(this.#forms))
      : measureLongestForm(this.#forms)
    return this.#longest
  }

  #thresholdsForLength(left: number): ReadonlyMap<number, number> {
    this.#thresholds ??= new Map()
    const present = this.#thresholds.get(left)
    if (present) return present
    const found = new Map<number, number>()
    for (const word of this.#forms) {
      if (!word.isLongerThan(left)) continue
      const sum = word.sumPrefix(left)
      found.set(sum, Math.min(found.get(sum) ?? Number.POSITIVE_INFINITY, this.#thresholdOf(word)))
    }
    this.#thresholds.set(left, found)
    return found
  }

  #thresholdOf(word: SecretForm): number {
    return this.#isOwned ? word.ownThreshold : word.threshold
  }

  #clearCaches(): void {
    this.#longest = null
    this.#thresholds = null
  }
}

/** Whether the text, from a place to its end, begins a longer word. `sum`: that of so much of the text. */
function isBegunAt(word: SecretForm, text: HeldText, at: number, sum: number): boolean {
  const left = text.length - at
  return word.mayStandAt(text, at) && word.beginsWith(left, sum) && word.isLongerThan(left)
}
