// Long forms with the same prefix. A few are compared one by one. Of many, only the first characters are indexed; the
// rest is encoded when a text contains enough of one. Very many are never encoded.
import { PrefixBucket } from './prefix-bucket.ts'
import { createSpan, type HashedText } from './rolling-hashes.ts'
import { estimateMaxLength, HEAD_LENGTH, measureLongestSource, type SecretForm } from './secret-form.ts'

const MAX_COMPARED_SINGLY = 8
/** Forms of longer sources together are not encoded: each counts as a match of the maximum length. */
const MAX_WRITTEN_CHARACTERS = 4_000_000
const HEAD_SPAN = createSpan(HEAD_LENGTH)

export class LongFormIndex {
  readonly #all = new LongFormGroup()
  /** By the hash of the first characters; null if there are few forms. */
  #byHead: Map<number, LongFormGroup> | null = null

  get size(): number {
    return this.#all.size
  }

  add(form: SecretForm): void {
    this.#all.add(form)
    if (this.#byHead) this.#getGroup(this.#byHead, form).add(form)
    else if (this.size > MAX_COMPARED_SINGLY) this.#splitByHead()
  }

  remove(form: SecretForm): void {
    this.#all.remove(form)
    if (!this.#byHead) return
    const group = this.#getGroup(this.#byHead, form)
    group.remove(form)
    if (group.size === 0) this.#byHead.delete(form.head_hash)
  }

  /** The length of the longest form at a position; 0 for none. */
  longestAt(text: HashedText, from: number): number {
    return this.#findGroup(text, from)?.longestAt(text, from) ?? 0
  }

  /** Whether a form at this position may continue after the end of the text. */
  mayContinue(text: HashedText, from: number): boolean {
    if (this.#byHead && from + HEAD_LENGTH > text.length) return true
    return this.#findGroup(text, from)?.mayContinue(text, from) === true
  }

  /** The forms whose first characters are at this position. All forms are longer. */
  #findGroup(text: HashedText, from: number): LongFormGroup | undefined {
    if (!this.#byHead) return this.#all
    return from + HEAD_LENGTH > text.length ? undefined : this.#byHead.get(text.longHash(from, HEAD_SPAN))
  }

  #splitByHead(): void {
    const byHead = new Map<number, LongFormGroup>()
    for (const form of this.#all) this.#getGroup(byHead, form).add(form)
    this.#byHead = byHead
  }

  #getGroup(byHead: Map<number, LongFormGroup>, form: SecretForm): LongFormGroup {
    const group = byHead.get(form.head_hash) ?? new LongFormGroup()
    byHead.set(form.head_hash, group)
    return group
  }
}

class LongFormGroup {
  readonly #forms = new Set<SecretForm>()
  /** The total length of the sources of the forms. */
  #characters = 0
  /** The maximum length of the longest form; null if it must be computed again. */
  #max_length: number | null = null
  #bucket: PrefixBucket | null = null

  get size(): number {
    return this.#forms.size
  }

  [Symbol.iterator](): Iterator<SecretForm> {
    return this.#forms.values()
  }

  add(form: SecretForm): void {
    this.#forms.add(form)
    this.#characters += form.source_length
    this.#max_length = null
    if (this.#isTooMuch) this.#bucket = null
    this.#bucket?.add(form)
  }

  remove(form: SecretForm): void {
    this.#forms.delete(form)
    this.#characters -= form.source_length
    this.#max_length = null
    this.#bucket?.remove(form)
  }

  longestAt(text: HashedText, from: number): number {
    if (this.#forms.size > MAX_COMPARED_SINGLY) {
      return this.#isTooMuch
        ? Math.min(text.length - from, this.#longestPossible())
        : this.#getBucket().longestAt(text, from)
    }
    let longest = 0
    for (const form of this.#forms)
      if (form.mayStandAt(text, from) && form.span.length > longest && form.standsAt(text, from))
        longest = form.span.length
    return longest
  }

  mayContinue(text: HashedText, from: number): boolean {
    if (this.#forms.size > MAX_COMPARED_SINGLY)
      return from + (this.#isTooMuch ? this.#longestPossible() : this.#getBucket().longest) > text.length
    return [...this.#forms].some((form) => form.mayStandAt(text, from) && from + form.span.length > text.length)
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
