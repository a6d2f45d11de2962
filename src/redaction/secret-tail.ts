// Replaces secrets in a text of somebody else that comes in pieces, and holds back next to nothing: only what ends with the first characters of a
// secret, from the fourth on. Fewer are told: readers wait for every word of a model, and keys of one kind begin alike.
import { join, type Range } from './beginnings.ts'
import { SHORTEST_WORD } from './hashes.ts'
import { HeldText } from './held.ts'
import { type Rest, replaced, type Secrets } from './secrets.ts'

/** So many characters of a secret are told at most where it comes character by character, and so many behind are looked at again. */
const TOLD = 3

export class SecretTail {
  readonly #secrets: Secrets
  readonly #mark: string
  /** What was told last, which may begin a secret, and what is held back. */
  #text = ''
  /** How much of the text was told. */
  #told = 0
  /** The same text, as long as something of it is held back. */
  #held: HeldText | null = null

  constructor(secrets: Secrets, mark: string) {
    this.#secrets = secrets
    this.#mark = mark
  }

  /** How many characters are held back. */
  get waiting(): number {
    return this.#text.length - this.#told
  }

  /** Whether `push` would give the piece as it is, with nothing held back. */
  wouldPass(piece: string): boolean {
    return this.#held === null && !this.#mayBeginIn(this.#text + piece)
  }

  /** Takes a piece, and gives what may be told now. */
  push(piece: string): string {
    const text = this.#text + piece
    if (this.#held === null && !this.#mayBeginIn(text)) {
      this.#text = text.slice(-TOLD)
      this.#told = this.#text.length
      return piece
    }
    return this.#look(piece, 'more')
  }

  /** The rest: nothing follows. What begins a secret there, and is not just a few letters, is replaced like a whole one. */
  end(): string {
    return this.waiting === 0 ? '' : this.#look('', 'missing')
  }

  #mayBeginIn(text: string): boolean {
    for (let at = 0, last = text.length - TOLD - 1; at <= last; at++) if (this.#secrets.mayBegin(text, at)) return true
    return false
  }

  #look(piece: string, rest: Rest): string {
    const held = this.#held ?? heldOf(this.#text)
    held.append(piece)
    const text = this.#text + piece
    const ranges: Range[] = []
    const decided = this.#decided(held, text, rest, ranges)
    const told = this.#shown(text, decided, ranges)
    const before = this.#told
    const kept = Math.min(TOLD, decided - (ranges.at(-1)?.[1] ?? 0))
    held.take(decided - kept)
    this.#text = text.slice(decided - kept)
    // Of a secret that waits, the first characters may have been told.
    this.#told = kept + Math.max(0, before - decided)
    this.#held = this.waiting > 0 ? held : null
    return told
  }

  /** How much of the text is decided; adds the secrets in it to the ranges. */
  #decided(held: HeldText, text: string, rest: Rest, ranges: Range[]): number {
    const { length } = text
    for (let at = 0; at + TOLD < length; at++) {
      if (!this.#secrets.mayBegin(text, at)) continue
      if (this.#secrets.opensAt(held, at)) {
        if (rest === 'more') return beforeSecret(ranges, Math.max(at, this.#told))
        if (length - at >= SHORTEST_WORD) {
          join(ranges, [at, length])
          return length
        }
      }
      const found = length - at < SHORTEST_WORD ? 0 : this.#secrets.longestAt(held, at)
      if (found > 0) join(ranges, [at, at + found])
    }
    return length
  }

  /** What is told of the text up to a place. Of a secret that begins in what was told before, the mark is. */
  #shown(text: string, decided: number, ranges: readonly Range[]): string {
    const from = this.#told
    const behind = ranges.map(([start, end]): Range => [Math.max(start, from) - from, end - from])
    return replaced(text.slice(from, decided), behind, this.#mark)
  }
}

function heldOf(text: string): HeldText {
  const held = new HeldText()
  held.append(text)
  return held
}

/** A place that is not within the last range, which waits where it is. */
function beforeSecret(ranges: Range[], at: number): number {
  const last = ranges.at(-1)
  if (!last || last[1] <= at) return at
  ranges.pop()
  return last[0]
}
