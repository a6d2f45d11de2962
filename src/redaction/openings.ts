// Words that a text which goes on may turn out to hold: it ends with the beginning of one. Beginnings are told by their sums: what looks like one
// by chance is held back until the next piece, and is told then.

import { BEGINNING, hashOf, LOOKS, SHORTEST_WORD, summed } from './hashes.ts'
import type { HeldText } from './held.ts'
import type { Word } from './word.ts'

export class Openings {
  /** Hashes of beginnings that are shorter than any word. */
  readonly #short = new Set<number>()
  /** By the hash of the first characters, for each number of `LOOKS` all words that are longer. */
  readonly #words = new Map<number, Word[]>()

  constructor(words: Iterable<Word>) {
    for (const word of words) this.#enter(word, word.form())
  }

  /** Whether the text, from a place to its end, is the beginning of a longer word. */
  opensAt(text: HeldText, at: number): boolean {
    const left = text.length - at
    const sum = text.sum(at, left)
    if (left < SHORTEST_WORD) return this.#short.has(hashOf(sum, left))
    const alike = this.#words.get(text.short(at, LOOKS.findLast((length) => length <= left)!))
    return alike?.some((word) => word.span.length > left && word.beginsWith(left, sum)) === true
  }

  #enter(word: Word, form: string): void {
    let sum = 0
    for (let at = 0; at < Math.min(form.length - 1, BEGINNING); at++) {
      sum = summed(sum, form.charCodeAt(at))
      const hash = hashOf(sum, at + 1)
      if (at + 1 < SHORTEST_WORD) this.#short.add(hash)
      else if (LOOKS.some((length) => length === at + 1)) enter(this.#words, hash, word)
    }
  }
}

function enter(words: Map<number, Word[]>, hash: number, word: Word): void {
  const alike = words.get(hash)
  if (alike) alike.push(word)
  else words.set(hash, [word])
}
