// Long words that begin alike. A few are compared one by one. Of more the first characters are known as they come; the rest is written when a text holds
// so much of one of them that it may well be one, and of too many not at all.
import { PrefixBucket } from './prefix-bucket.ts'
import { createSpan, type HashedText } from './rolling-hashes.ts'
import { estimateMaxLength, HEAD_LENGTH, measureLongestSource, type SecretForm } from './secret-form.ts'

const MAX_COMPARED_SINGLY = 8
/** Words that are forms of more characters together are not written: each may be the one, and may have as many characters as it can. */
const MAX_WRITTEN_CHARACTERS = 4_000_000
const HEAD_SPAN = createSpan(HEAD_LENGTH)

export class LongFormIndex {
  readonly #all = new LongFormGroup()
  /** By the hash of their first characters; null: they are few. */
  #byHead: Map<number, LongFormGroup> | null = null

  get size(): number {
    return this.#all.size
  }

  add(word: SecretForm): void {
    this.#all.add(word)
    if (this.#byHead) this.#getGroup(this.#byHead, word).add(word)
    else if (this.size > MAX_COMPARED_SINGLY) this.#splitByHead()
  }

  remove(word: SecretForm): void {
    this.#all.remove(word)
    if (!this.#byHead) return
    const alike = this.#getGroup(this.#byHead, word)
    alike.remove(word)
    if (alike.size === 0) this.#byHead.delete(word.head_hash)
  }

  /** The length of the longest word that stands at a place; 0 for none. */
  longestAt(text: HashedText, from: number): number {
    return this.#findGroup(text, from)?.longestAt(text, from) ?? 0
  }

  /** Whether a word may stand at a place that goes on behind the end of the text. */
  mayContinue(text: HashedText, from: number): boolean {
    if (this.#byHead && from + HEAD_LENGTH > text.length) return true
    return this.#findGroup(text, from)?.mayContinue(text, from) === true
  }

  /** Those of which a text has the first characters at a place. All words have more. */
  #findGroup(text: HashedText, from: number): LongFormGroup | undefined {
    if (!this.#byHead) return this.#all
    return from + HEAD_LENGTH > text.length ? undefined : this.#byHead.get(text.longHash(from, HEAD_SPAN))
  }

  #splitByHead(): void {
    const byHead = new Map<number, LongFormGroup>()
    for (const word of this.#all) this.#getGroup(byHead, word).add(word)
    this.#byHead = byHead
  }

  #getGroup(byHead: Map<number, LongFormGroup>, word: SecretForm): LongFormGroup {
    const alike = byHead.get(word.head_hash) ?? new LongFormGroup()
    byHead.set(word.head_hash, alike)
    return alike
  }
}

class LongFormGroup {
  readonly #forms = new Set<SecretForm>()
  /** Of all that they are forms of. */
  #characters = 0
  /** How many characters the longest may have; null: nobody has asked since one came or went. */
  #max_length: number | null = null
  #bucket: PrefixBucket | null = null

  get size(): number {
    return this.#forms.size
  }

  [Symbol.iterator](): Iterator<SecretForm> {
    return this.#forms.values()
  }

  add(word: SecretForm): void {
    this.#forms.add(word)
    this.#characters += word.source_length
    this.#max_length = null
    if (this.#isTooMuch) this.#bucket = null
    this.#bucket?.add(word)
  }

  remove(word: SecretForm): void {
    this.#forms.delete(word)
    this.#characters -= word.source_length
    this.#max_length = null
    this.#bucket?.remove(word)
  }

  longestAt(text: HashedText, from: number): number {
    if (this.#forms.size > MAX_COMPARED_SINGLY) {
      return this.#isTooMuch
        ? Math.min(text.length - from, this.#longestPossible())
        : this.#getBucket().longestAt(text, from)
    }
    let longest = 0
    for (const word of this.#forms)
      if (word.mayStandAt(text, from) && word.span.length > longest && word.standsAt(text, from))
        longest = word.span.length
    return longest
  }

  mayContinue(text: HashedText, from: number): boolean {
    if (this.#forms.size > MAX_COMPARED_SINGLY)
      return from + (this.#isTooMuch ? this.#longestPossible() : this.#getBucket().longest) > text.length
    return [...this.#forms].some((word) => word.mayStandAt(text, from) && from + word.span.length > text.length)
  }

  get #isTooMuch(): boolean {
    return this.#characters > MAX_WRITTEN_CHARACTERS
  }

  #longestPossible(): number {
    this.#max_length ??= estimateMaxLength(measureLongestSource(this.#forms))
    return this.#max_length
  }

  #getBucket(): PrefixBucket {
    this.#bucket ??= new PrefixBucket(this.#forms)
    return this.#bucket
  }
}
