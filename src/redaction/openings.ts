// Words that a text which goes on may turn out to hold: it ends with the beginning of one. Beginnings are told by their sums: what looks like one
// by chance is held back until the next piece, and is told then. Words come and go one by one.
import { AlikeWords, type Opening } from './alike-words.ts'
import { BEGINNING, hashOf, LOOKS, SHORTEST_WORD, summed } from './hashes.ts'
import type { HeldText } from './held.ts'
import type { Word } from './word.ts'

export class Openings {
  /** Hashes of beginnings that are shorter than any word, and how many words begin so. */
  readonly #short = new Map<number, number>()
  /** By the hash of the first characters, for each number of `LOOKS` all words that are longer. */
  readonly #words = new Map<number, AlikeWords>()
  /** Whether they are told about to their owner alone. */
  readonly #areOwn: boolean

  constructor(areOwn: boolean) {
    this.#areOwn = areOwn
  }

  /** `beginning`: its first characters; to write a long one as a whole takes long. */
  add(word: Word, beginning: string): void {
    for (const [hash, length] of hashesOf(beginning)) {
      if (length < SHORTEST_WORD) this.#short.set(hash, (this.#short.get(hash) ?? 0) + 1)
      else this.#alike(hash).add(word)
    }
  }

  /** Takes back one `add`. */
  remove(word: Word, beginning: string): void {
    for (const [hash, length] of hashesOf(beginning)) {
      if (length < SHORTEST_WORD) this.#leaveShort(hash)
      else this.#leave(hash, word)
    }
  }

  /** Whether the text, from a place to its end, is the beginning of a longer word. `isLast`: nothing follows by which it could be told. */
  opensAt(text: HeldText, at: number, isLast: boolean): boolean {
    const left = text.length - at
    if (left < SHORTEST_WORD) return this.#short.has(hashOf(text.sum(at, left), left))
    return this.openingAt(text, at, isLast) !== 'none'
  }

  /** How much of a longer word the text is, from a place to its end. */
  openingAt(text: HeldText, at: number, isLast: boolean): Opening {
    const left = text.length - at
    if (left < SHORTEST_WORD) return this.opensAt(text, at, isLast) ? 'guessable' : 'none'
    const look = LOOKS.findLast((length) => length <= left)!
    return this.#words.get(text.short(at, look))?.openingAt(text, at, isLast) ?? 'none'
  }

  /** How much of the text from a place on is the beginning of a word. */
  sharedAt(text: HeldText, at: number): number {
    if (text.length - at < SHORTEST_WORD) return 0
    return this.#words.get(text.short(at, SHORTEST_WORD))?.sharedAt(text, at) ?? 0
  }

  #alike(hash: number): AlikeWords {
    const alike = this.#words.get(hash) ?? new AlikeWords(this.#areOwn)
    this.#words.set(hash, alike)
    return alike
  }

  #leave(hash: number, word: Word): void {
    const alike = this.#words.get(hash)
    alike?.remove(word)
    if (alike?.size === 0) this.#words.delete(hash)
  }

  #leaveShort(hash: number): void {
    const left = (this.#short.get(hash) ?? 0) - 1
    if (left > 0) this.#short.set(hash, left)
    else this.#short.delete(hash)
  }
}

/** Of the beginnings of a word that are shorter than any word, and of those at which words are looked at that have more. */
function* hashesOf(beginning: string): Iterable<readonly [hash: number, length: number]> {
  const isWhole = beginning.length < BEGINNING
  let sum = 0
  for (let at = 0; at < beginning.length - (isWhole ? 1 : 0); at++) {
    sum = summed(sum, beginning.charCodeAt(at))
    const length = at + 1
    if (length < SHORTEST_WORD || LOOKS.some((look) => look === length)) yield [hashOf(sum, length), length]
  }
}
