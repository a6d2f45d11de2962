// Long words that begin alike. A few are compared one by one. More are a crowd, which writes all of them: it is made when a text holds so much of one of
// them that it may well be one.
import { Crowd } from './crowd.ts'
import { type Parts, spanOf } from './hashes.ts'
import { HEAD, type Word } from './word.ts'

const FEW = 8
const HEAD_SPAN = spanOf(HEAD)

export class LongWords {
  readonly #words = new Set<Word>()
  /** Of all words, by the hash of their first characters; null: one came or went. */
  #heads: Set<number> | null = null
  #crowd: Crowd | null = null

  get size(): number {
    return this.#words.size
  }

  add(word: Word): void {
    this.#words.add(word)
    this.#crowd?.add(word)
    this.#heads = null
  }

  remove(word: Word): void {
    this.#words.delete(word)
    this.#crowd?.remove(word)
    this.#heads = null
  }

  /** The length of the longest word that stands at a place; 0 for none. */
  longestAt(text: Parts, from: number): number {
    if (this.#words.size > FEW) return this.#mayStandAt(text, from) ? this.#all().longestAt(text, from) : 0
    let longest = 0
    for (const word of this.#words)
      if (word.mayStandAt(text, from) && word.span.length > longest && word.standsAt(text, from))
        longest = word.span.length
    return longest
  }

  /** Whether a word may stand at a place that goes on behind the end of the text. */
  mayGoOn(text: Parts, from: number): boolean {
    if (this.#words.size > FEW)
      return from + HEAD > text.length || (this.#mayStandAt(text, from) && from + this.#all().longest > text.length)
    return [...this.#words].some((word) => word.mayStandAt(text, from) && from + word.span.length > text.length)
  }

  /** Whether the text has the first characters of a word at a place. All words have more. */
  #mayStandAt(text: Parts, from: number): boolean {
    if (from + HEAD > text.length) return false
    this.#heads ??= new Set(Array.from(this.#words, (word) => word.head))
    return this.#heads.has(text.long(from, HEAD_SPAN))
  }

  #all(): Crowd {
    this.#crowd ??= new Crowd(this.#words)
    return this.#crowd
  }
}
