// Words that a text which goes on may turn out to hold: it ends with the beginning of one. Beginnings are told by their sums: what looks like one
// by chance is held back until the next piece, and is told then. Words come and go one by one.

import type { HeldText } from './held-text.ts'
import { type PartialMatch, PartialMatchBucket } from './partial-match-bucket.ts'
import { extendSum, hashSum, LONGEST_PREFIX, MIN_FORM_LENGTH, PREFIX_LENGTHS } from './rolling-hashes.ts'
import type { SecretForm } from './secret-form.ts'

export class PartialMatchIndex {
  /** Hashes of beginnings that are shorter than any word, and how many words begin so. */
  readonly #short_prefixes = new Map<number, number>()
  /** By the hash of the first characters, for each number of `LOOKS` all words that are longer. */
  readonly #buckets = new Map<number, PartialMatchBucket>()
  /** Whether they are told about to their owner alone. */
  readonly #isOwned: boolean

  constructor(areOwn: boolean) {
    this.#isOwned = areOwn
  }

  /** `beginning`: its first characters; to write a long one as a whole takes long. */
  add(word: SecretForm, beginning: string): void {
    for (const [hash, length] of hashPrefixesOf(beginning)) {
      if (length < MIN_FORM_LENGTH) this.#short_prefixes.set(hash, (this.#short_prefixes.get(hash) ?? 0) + 1)
      else this.#getBucket(hash).add(word)
    }
  }

  /** Takes back one `add`. */
  remove(word: SecretForm, beginning: string): void {
    for (const [hash, length] of hashPrefixesOf(beginning)) {
      if (length < MIN_FORM_LENGTH) this.#removeShort(hash)
      else this.#removeFromBucket(hash, word)
    }
  }

  /** Whether the text, from a place to its end, is the beginning of a longer word. `isLast`: nothing follows by which it could be told. */
  hasPartialMatch(text: HeldText, at: number, isLast: boolean): boolean {
    const left = text.length - at
    if (left < MIN_FORM_LENGTH) return this.#short_prefixes.has(hashSum(text.sum(at, left), left))
    return this.findPartialMatch(text, at, isLast) !== 'none'
  }

  /** How much of a longer word the text is, from a place to its end. */
  findPartialMatch(text: HeldText, at: number, isLast: boolean): PartialMatch {
    const left = text.length - at
    if (left < MIN_FORM_LENGTH) return this.hasPartialMatch(text, at, isLast) ? 'guessable' : 'none'
    const look = PREFIX_LENGTHS.findLast((length) => length <= left)!
    return this.#buckets.get(text.shortHash(at, look))?.findPartialMatch(text, at, isLast) ?? 'none'
  }

  /** How much of the text from a place on is the beginning of a word. */
  countShared(text: HeldText, at: number): number {
    if (text.length - at < MIN_FORM_LENGTH) return 0
    return this.#buckets.get(text.shortHash(at, MIN_FORM_LENGTH))?.countShared(text, at) ?? 0
  }

  #getBucket(hash: number): PartialMatchBucket {
    const alike = this.#buckets.get(hash) ?? new PartialMatchBucket(this.#isOwned)
    this.#buckets.set(hash, alike)
    return alike
  }

  #removeFromBucket(hash: number, word: SecretForm): void {
    const alike = this.#buckets.get(hash)
    alike?.remove(word)
    if (alike?.size === 0) this.#buckets.delete(hash)
  }

  #removeShort(hash: number): void {
    const left = (this.#short_prefixes.get(hash) ?? 0) - 1
    if (left > 0) this.#short_prefixes.set(hash, left)
    else this.#short_prefixes.delete(hash)
  }
}

/** Of the beginnings of a word that are shorter than any word, and of those at which words are looked at that have more. */
function* hashPrefixesOf(beginning: string): Iterable<readonly [hash: number, length: number]> {
  const isWhole = beginning.length < LONGEST_PREFIX
  let sum = 0
  for (let at = 0; at < beginning.length - (isWhole ? 1 : 0); at++) {
    sum = extendSum(sum, beginning.charCodeAt(at))
    const length = at + 1
    if (length < MIN_FORM_LENGTH || PREFIX_LENGTHS.some((look) => look === length)) yield [hashSum(sum, length), length]
  }
}
