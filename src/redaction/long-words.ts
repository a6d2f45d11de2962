// Long words that begin alike. A few are compared one by one. Of more the first characters are known as they come; the rest is written when a text holds
// so much of one of them that it may well be one, and of too many not at all.
import { Crowd } from './crowd.ts'
import { type Parts, spanOf } from './hashes.ts'
import { HEAD, longestSource, mostOf, type Word } from './word.ts'

const FEW = 8
/** Words that are forms of more characters together are not written: each may be the one, and may have as many characters as it can. */
const MOST_WRITTEN = 4_000_000
const HEAD_SPAN = spanOf(HEAD)

export class LongWords {
  readonly #all = new AlikeLongWords()
  /** By the hash of their first characters; null: they are few. */
  #byHead: Map<number, AlikeLongWords> | null = null

  get size(): number {
    return this.#all.size
  }

  add(word: Word): void {
    this.#all.add(word)
    if (this.#byHead) this.#alike(this.#byHead, word).add(word)
    else if (this.size > FEW) this.#part()
  }

  remove(word: Word): void {
    this.#all.remove(word)
    if (!this.#byHead) return
    const alike = this.#alike(this.#byHead, word)
    alike.remove(word)
    if (alike.size === 0) this.#byHead.delete(word.head)
  }

  /** The length of the longest word that stands at a place; 0 for none. */
  longestAt(text: Parts, from: number): number {
    return this.#at(text, from)?.longestAt(text, from) ?? 0
  }

  /** Whether a word may stand at a place that goes on behind the end of the text. */
  mayGoOn(text: Parts, from: number): boolean {
    if (this.#byHead && from + HEAD > text.length) return true
    return this.#at(text, from)?.mayGoOn(text, from) === true
  }

  /** Those of which a text has the first characters at a place. All words have more. */
  #at(text: Parts, from: number): AlikeLongWords | undefined {
    if (!this.#byHead) return this.#all
    return from + HEAD > text.length ? undefined : this.#byHead.get(text.long(from, HEAD_SPAN))
  }

  #part(): void {
    const byHead = new Map<number, AlikeLongWords>()
    for (const word of this.#all) this.#alike(byHead, word).add(word)
    this.#byHead = byHead
  }

  #alike(byHead: Map<number, AlikeLongWords>, word: Word): AlikeLongWords {
    const alike = byHead.get(word.head) ?? new AlikeLongWords()
    byHead.set(word.head, alike)
    return alike
  }
}

class AlikeLongWords {
  readonly #words = new Set<Word>()
  /** Of all that they are forms of. */
  #characters = 0
  /** How many characters the longest may have; null: nobody has asked since one came or went. */
  #most: number | null = null
  #crowd: Crowd | null = null

  get size(): number {
    return this.#words.size
  }

  [Symbol.iterator](): Iterator<Word> {
    return this.#words.values()
  }

  add(word: Word): void {
    this.#words.add(word)
    this.#characters += word.source_length
    this.#most = null
    if (this.#isTooMuch) this.#crowd = null
    this.#crowd?.add(word)
  }

  remove(word: Word): void {
    this.#words.delete(word)
    this.#characters -= word.source_length
    this.#most = null
    this.#crowd?.remove(word)
  }

  longestAt(text: Parts, from: number): number {
    if (this.#words.size > FEW) {
      return this.#isTooMuch ? Math.min(text.length - from, this.#mostPossible()) : this.#ofMany().longestAt(text, from)
    }
    let longest = 0
    for (const word of this.#words)
      if (word.mayStandAt(text, from) && word.span.length > longest && word.standsAt(text, from))
        longest = word.span.length
    return longest
  }

  mayGoOn(text: Parts, from: number): boolean {
    if (this.#words.size > FEW)
      return from + (this.#isTooMuch ? this.#mostPossible() : this.#ofMany().longest) > text.length
    return [...this.#words].some((word) => word.mayStandAt(text, from) && from + word.span.length > text.length)
  }

  get #isTooMuch(): boolean {
    return this.#characters > MOST_WRITTEN
  }

  #mostPossible(): number {
    this.#most ??= mostOf(longestSource(this.#words))
    return this.#most
  }

  #ofMany(): Crowd {
    this.#crowd ??= new Crowd(this.#words)
    return this.#crowd
  }
}
