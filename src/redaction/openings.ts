// Words that a text which goes on may turn out to hold: it ends with the beginning of one. Beginnings are told by their sums: what looks like one
// by chance is held back until the next piece, and is told then.

import { BEGINNING, hashOf, LOOKS, SHORTEST_WORD, summed } from './hashes.ts'
import type { HeldText } from './held.ts'
import type { Word } from './word.ts'

/** What a text ends with: nothing of a word; so little of one that anybody may have guessed it; or more. */
export type Opening = 'none' | 'guessable' | 'secret'

export class Openings {
  /** Hashes of beginnings that are shorter than any word. */
  readonly #short = new Set<number>()
  /** By the hash of the first characters, for each number of `LOOKS` all words that are longer. */
  readonly #words = new Map<number, Word[]>()

  /** Whether they are told about to their owner alone. */
  readonly #areOwn: boolean

  /** Words with their beginnings: to write long ones as a whole takes long. */
  constructor(words: Iterable<readonly [word: Word, beginning: string]>, areOwn: boolean) {
    this.#areOwn = areOwn
    for (const [word, beginning] of words) this.#enter(word, beginning)
  }

  /** Whether the text, from a place to its end, is the beginning of a longer word. */
  opensAt(text: HeldText, at: number): boolean {
    const left = text.length - at
    const sum = text.sum(at, left)
    if (left < SHORTEST_WORD) return this.#short.has(hashOf(sum, left))
    return this.#alike(text, at, left)?.some((word) => isBegun(word, text, at, sum)) === true
  }

  /** How much of a longer word the text is, from a place to its end. */
  openingAt(text: HeldText, at: number): Opening {
    const left = text.length - at
    if (left < SHORTEST_WORD) return this.opensAt(text, at) ? 'guessable' : 'none'
    const sum = text.sum(at, left)
    let opening: Opening = 'none'
    for (const word of this.#alike(text, at, left) ?? []) {
      if (!isBegun(word, text, at, sum)) continue
      if (left >= (this.#areOwn ? word.ownThreshold : word.threshold)) return 'secret'
      opening = 'guessable'
    }
    return opening
  }

  /** How much of the text from a place on is the beginning of a word. */
  sharedAt(text: HeldText, at: number): number {
    const alike = text.length - at < SHORTEST_WORD ? [] : this.#alike(text, at, SHORTEST_WORD)
    return Math.max(0, ...(alike ?? []).map((word) => word.sharedAt(text, at)))
  }

  #alike(text: HeldText, at: number, left: number): readonly Word[] | undefined {
    return this.#words.get(text.short(at, LOOKS.findLast((length) => length <= left)!))
  }

  #enter(word: Word, beginning: string): void {
    const isWhole = beginning.length < BEGINNING
    let sum = 0
    for (let at = 0; at < beginning.length - (isWhole ? 1 : 0); at++) {
      sum = summed(sum, beginning.charCodeAt(at))
      const hash = hashOf(sum, at + 1)
      if (at + 1 < SHORTEST_WORD) this.#short.add(hash)
      else if (LOOKS.some((length) => length === at + 1)) enter(this.#words, hash, word)
    }
  }
}

/** Whether the text, from a place to its end, begins a longer word. `sum`: that of so much of the text. */
function isBegun(word: Word, text: HeldText, at: number, sum: number): boolean {
  const left = text.length - at
  return word.mayStandAt(text, at) && word.beginsWith(left, sum) && word.isLongerThan(left)
}

function enter(words: Map<number, Word[]>, hash: number, word: Word): void {
  const alike = words.get(hash)
  if (alike) alike.push(word)
  else words.set(hash, [word])
}
