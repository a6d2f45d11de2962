// Finds forms that a streamed text may continue with: the text ends with a prefix of a form. Prefixes are compared by
// sums; a chance match is held until the next piece. Forms are added and removed one by one.

import type { HeldText } from './held-text.ts'
import { type PartialMatch, PartialMatchBucket } from './partial-match-bucket.ts'
import { extendSum, hashSum, LONGEST_PREFIX, MIN_FORM_LENGTH, PREFIX_LENGTHS } from './rolling-hashes.ts'
import type { SecretForm } from './secret-form.ts'

export class PartialMatchIndex {
  /** Hashes of prefixes shorter than any form, and the number of forms with each. */
  readonly #short_prefixes = new Map<number, number>()
  /** By the hash of the prefix, for each length of `PREFIX_LENGTHS`: all longer forms. */
  readonly #buckets = new Map<number, PartialMatchBucket>()
  /** Whether only the owner of the secrets sees the texts. */
  readonly #isOwned: boolean

  constructor(areOwn: boolean) {
    this.#isOwned = areOwn
  }

  /** `prefix` has the first characters: encoding a long form takes long. */
  add(form: SecretForm, prefix: string): void {
    for (const [hash, length] of hashPrefixesOf(prefix)) {
      if (length < MIN_FORM_LENGTH) this.#short_prefixes.set(hash, (this.#short_prefixes.get(hash) ?? 0) + 1)
      else this.#getBucket(hash).add(form)
    }
  }

  /** Undoes one `add`. */
  remove(form: SecretForm, prefix: string): void {
    for (const [hash, length] of hashPrefixesOf(prefix)) {
      if (length < MIN_FORM_LENGTH) this.#removeShort(hash)
      else this.#removeFromBucket(hash, form)
    }
  }

  /**
   * Whether the text from this position to its end begins a longer form. `isLast` is true if nothing follows that would
   * decide.
   */
  hasPartialMatch(text: HeldText, at: number, isLast: boolean): boolean {
    const left = text.length - at
    if (left < MIN_FORM_LENGTH) return this.#short_prefixes.has(hashSum(text.sum(at, left), left))
    return this.findPartialMatch(text, at, isLast) !== 'none'
  }

  /** How much of a longer form is at the end of the text from this position. */
  findPartialMatch(text: HeldText, at: number, isLast: boolean): PartialMatch {
    const left = text.length - at
    if (left < MIN_FORM_LENGTH) return this.hasPartialMatch(text, at, isLast) ? 'guessable' : 'none'
    const prefix_length = PREFIX_LENGTHS.findLast((length) => length <= left)!
    return this.#buckets.get(text.shortHash(at, prefix_length))?.findPartialMatch(text, at, isLast) ?? 'none'
  }

  /** The length of the longest form prefix at this position. */
  countShared(text: HeldText, at: number): number {
    if (text.length - at < MIN_FORM_LENGTH) return 0
    return this.#buckets.get(text.shortHash(at, MIN_FORM_LENGTH))?.countShared(text, at) ?? 0
  }

  #getBucket(hash: number): PartialMatchBucket {
    const bucket = this.#buckets.get(hash) ?? new PartialMatchBucket(this.#isOwned)
    this.#buckets.set(hash, bucket)
    return bucket
  }

  #removeFromBucket(hash: number, form: SecretForm): void {
    const bucket = this.#buckets.get(hash)
    bucket?.remove(form)
    if (bucket?.size === 0) this.#buckets.delete(hash)
  }

  #removeShort(hash: number): void {
    const left = (this.#short_prefixes.get(hash) ?? 0) - 1
    if (left > 0) this.#short_prefixes.set(hash, left)
    else this.#short_prefixes.delete(hash)
  }
}

/**
 * The hashes of all prefixes shorter than any form, and of the prefixes with a length of `PREFIX_LENGTHS` if the form
 * is longer.
 */
function* hashPrefixesOf(prefix: string): Iterable<readonly [hash: number, length: number]> {
  const isWhole = prefix.length < LONGEST_PREFIX
  let sum = 0
  for (let at = 0; at < prefix.length - (isWhole ? 1 : 0); at++) {
    sum = extendSum(sum, prefix.charCodeAt(at))
    const length = at + 1
    if (length < MIN_FORM_LENGTH || PREFIX_LENGTHS.some((prefix_length) => prefix_length === length))
      yield [hashSum(sum, length), length]
  }
}
