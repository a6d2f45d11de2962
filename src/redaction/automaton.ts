// Finds every place of many words in one pass over a text (A. Aho, M. Corasick, Efficient string matching, 1975): the time does not depend
// on how many words there are, nor on how alike the text is to them.

const ROOT = 0
const NONE = -1

export class Automaton {
  /** Most states have one successor; those of the others, and of the first state, are in `#further` by state and character. */
  readonly #char: Uint16Array
  readonly #successor: Int32Array
  readonly #further = new Map<number, number>()
  readonly #fallback: Int32Array
  /** How long the longest word is that ends at a state; 0 where none does. */
  readonly #ending: Int32Array
  #states = 1

  constructor(words: readonly string[]) {
    const most = words.reduce((sum, word) => sum + word.length, 1)
    this.#char = new Uint16Array(most)
    this.#successor = new Int32Array(most).fill(NONE)
    this.#fallback = new Int32Array(most)
    this.#ending = new Int32Array(most)
    const depths = new Int32Array(most)
    for (const word of words) this.#enter(word, depths)
    this.#link(depths)
  }

  /** Where words stand in the text, in order: from (inclusive) and to (exclusive). Words that touch or overlap are one. */
  ranges(text: string): [number, number][] {
    const ranges: [number, number][] = []
    let state = ROOT
    for (let at = 0; at < text.length; at++) {
      state = this.#step(state, text.charCodeAt(at))
      const length = this.#ending[state]!
      if (length === 0) continue
      let from = at + 1 - length
      while (ranges.length > 0 && ranges.at(-1)![1] >= from) from = Math.min(from, ranges.pop()![0])
      ranges.push([from, at + 1])
    }
    return ranges
  }

  #step(from: number, char: number): number {
    let state = from
    for (;;) {
      const next = this.#next(state, char)
      if (next !== NONE) return next
      if (state === ROOT) return ROOT
      state = this.#fallback[state]!
    }
  }

  #next(state: number, char: number): number {
    const successor = this.#successor[state]!
    if (successor === NONE) return NONE
    if (this.#char[state] === char) return successor
    return this.#further.get(state * 0x10000 + char) ?? NONE
  }

  #enter(word: string, depths: Int32Array): void {
    let state = ROOT
    for (let at = 0; at < word.length; at++) {
      const char = word.charCodeAt(at)
      let next = this.#next(state, char)
      if (next === NONE) {
        next = this.#states++
        depths[next] = at + 1
        if (this.#successor[state] === NONE) {
          this.#successor[state] = next
          this.#char[state] = char
        } else this.#further.set(state * 0x10000 + char, next)
      }
      state = next
    }
    this.#ending[state] = word.length
  }

  /** Where to go on when a character does not continue a state: the longest other beginning of a word that the text ends with. */
  #link(depths: Int32Array): void {
    const parents = new Int32Array(this.#states)
    const chars = new Uint16Array(this.#states)
    const note = (parent: number, char: number, state: number) => {
      parents[state] = parent
      chars[state] = char
    }
    for (let state = 0; state < this.#states; state++) {
      if (this.#successor[state] !== NONE) note(state, this.#char[state]!, this.#successor[state]!)
    }
    for (const [place, state] of this.#further) note(Math.floor(place / 0x10000), place % 0x10000, state)
    // Shorter beginnings first: what a state falls back on is shorter than the state.
    const states = Int32Array.from({ length: this.#states - 1 }, (_, i) => i + 1)
    for (const state of states.sort((a, b) => depths[a]! - depths[b]!)) {
      if (depths[state] !== 1) this.#fallback[state] = this.#step(this.#fallback[parents[state]!]!, chars[state]!)
      this.#ending[state] ||= this.#ending[this.#fallback[state]!]!
    }
  }
}
