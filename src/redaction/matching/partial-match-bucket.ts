// Forms with the same prefix: finds how much of a form a text ends with. A few are compared one by one. Of many, the
// prefixes of each length are indexed. A text that holds more waits for the longest form, and is compared at its end.

import type { HeldText } from './held-text.ts'
import { LONGEST_PREFIX, PREFIX_LENGTHS } from './rolling-hashes.ts'
import { estimateMaxLength, measureLongestForm, measureLongestSource, type SecretForm } from './secret-form.ts'

/** What a text ends with: no part of a form, a prefix that a caller may have guessed, or more. */
export type PartialMatch = 'none' | 'guessable' | 'secret'

const MAX_COMPARED_SINGLY = 32
/** More forms are not encoded: each counts as a match of the maximum length. */
const MAX_WRITTEN_FORMS = 2_000
/** The same limit for the total length of their sources. */
const MAX_WRITTEN_CHARACTERS = 2_500_000

export class PartialMatchBucket {
  readonly #forms = new Set<SecretForm>()
  /** The total length of the sources of the forms. */
  #characters = 0
  /** Whether only the owner of the secrets sees the texts. */
  readonly #isOwned: boolean
  /** The length of the longest of many forms; null if it must be computed again. */
  #longest: number | null = null
  /** The forms from the longest to the shortest; null if they must be sorted again. */
  #longest_first: readonly SecretForm[] | null = null
  /**
   * For many forms, by prefix length: the sums of all prefixes of this length, each with the lowest threshold of its
   * forms. Null if it must be computed again.
   */
  #thresholds: Map<number, ReadonlyMap<number, number>> | null = null

  constructor(areOwn: boolean) {
    this.#isOwned = areOwn
  }

  get size(): number {
    return this.#forms.size
  }

  add(form: SecretForm): void {
    this.#forms.add(form)
    this.#characters += form.source_length
    this.#clearCaches()
  }

  remove(form: SecretForm): void {
    this.#forms.delete(form)
    this.#characters -= form.source_length
    this.#clearCaches()
  }

  /**
   * How much of a longer form is at the end of the text from this position. `isLast` is true if nothing follows that
   * would decide.
   */
  findPartialMatch(text: HeldText, at: number, isLast: boolean): PartialMatch {
    const left = text.length - at
    const sum = text.sum(at, left)
    // The secrets of the service are few: an operator sets them.
    const isCompared = isLast ? !this.#areTooMany : this.#forms.size <= MAX_COMPARED_SINGLY
    if (this.#isOwned && !isCompared) return this.#findAmongMany(left, sum)
    let match: PartialMatch = 'none'
    // Of many forms only the longer ones are compared: at all positions together, no more often than the forms have characters.
    const areMany = this.#forms.size > MAX_COMPARED_SINGLY
    for (const form of areMany ? this.#longestFirst() : this.#forms) {
      if (areMany && !form.isLongerThan(left)) break
      if (!isBegunAt(form, text, at, sum)) continue
      if (left >= this.#thresholdOf(form)) return 'secret'
      match = 'guessable'
    }
    return match
  }

  /** The length of the longest form prefix at this position. */
  countShared(text: HeldText, at: number): number {
    let most = 0
    for (const form of this.#forms) most = Math.max(most, form.countShared(text, at))
    return most
  }

  #longestFirst(): readonly SecretForm[] {
    this.#longest_first ??= [...this.#forms].sort((one, other) => other.span.length - one.span.length)
    return this.#longest_first
  }

  get #areTooMany(): boolean {
    return this.#forms.size > MAX_WRITTEN_FORMS || this.#characters > MAX_WRITTEN_CHARACTERS
  }

  #findAmongMany(left: number, sum: number): PartialMatch {
    // So few characters may begin much other text.
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
    for (const form of this.#forms) {
      if (!form.isLongerThan(left)) continue
      const sum = form.sumPrefix(left)
      found.set(sum, Math.min(found.get(sum) ?? Number.POSITIVE_INFINITY, this.#thresholdOf(form)))
    }
    this.#thresholds.set(left, found)
    return found
  }

  #thresholdOf(form: SecretForm): number {
    return this.#isOwned ? form.ownThreshold : form.threshold
  }

  #clearCaches(): void {
    this.#longest = null
    this.#thresholds = null
    this.#longest_first = null
  }
}

/** Whether the text from this position to its end begins a longer form. `sum` is the sum of that part. */
function isBegunAt(form: SecretForm, text: HeldText, at: number, sum: number): boolean {
  const left = text.length - at
  return form.mayStandAt(text, at) && form.beginsWith(left, sum) && form.isLongerThan(left)
}
