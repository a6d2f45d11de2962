// Replaces secrets in a text that comes in pieces, with the same result as in the whole. Each place of the text is decided once, from left to right:
// it waits only as long as a secret may begin there that is not all here yet.
import { join, type Range } from './beginnings.ts'
import { BEGINNING, SHORTEST_WORD } from './hashes.ts'
import { HeldText } from './held.ts'

/** The secrets that are looked for. Those that a text waits for may be fewer than those that are found in it. */
export interface Secrets {
  /**
   * The first place of a text at which one has all that it has, or its first `BEGINNING` characters and perhaps more behind the end; else the length
   * of the text.
   */
  firstIn(text: string): number
  /** The length of the longest one that stands at a place; 0 for none. */
  longestAt(text: HeldText, at: number): number
  /** Whether the text, from a place to its end, is the beginning of a longer one that it waits for. `isLast`: nothing follows by which it could be told. */
  opensAt(text: HeldText, at: number, isLast: boolean): boolean
}

/** From so many characters on a quick look at the whole piece is worth its price. */
const LONG_PIECE = 512

/** How a text goes on behind what has come: it does; it has ended; it was cut, and what would have come is missing. */
export type Rest = 'more' | 'none' | 'missing'

export class SecretsInPieces {
  readonly #secrets: Secrets
  readonly #mark: string
  #text = new HeldText()
  /** How much of what is held belongs to a secret whose mark was told, 0 right behind one; null: nothing was told right before. */
  #hidden: number | null = null

  constructor(secrets: Secrets, mark: string) {
    this.#secrets = secrets
    this.#mark = mark
  }

  /** How many characters are held back, but for those of which the mark was told. */
  get waiting(): number {
    return Math.max(0, this.#text.length - (this.#hidden ?? 0))
  }

  /** Takes a piece, and gives what may be told now. */
  push(piece: string, rest: Rest): string {
    this.#text.append(piece)
    const told = this.#told(piece, rest)
    if (rest !== 'more') {
      this.#text = new HeldText()
      this.#hidden = null
    }
    return told
  }

  #told(piece: string, rest: Rest): string {
    const hidden = this.#hidden
    const ranges: Range[] = hidden === null ? [] : [[0, hidden]]
    const decided = this.#decided(piece, rest, ranges)
    if (decided === 0) return ''
    const end = ranges.at(-1)?.[1] ?? -1
    this.#hidden = end < decided ? null : end - decided
    const built = replaced(this.#text.take(decided), ranges, this.#mark)
    return hidden === null ? built : built.slice(this.#mark.length)
  }

  /** How much of the text is decided; adds the secrets in it to the ranges. */
  #decided(piece: string, rest: Rest, ranges: Range[]): number {
    const { length } = this.#text
    const from = length - piece.length
    // From where the piece is looked at closely: nothing ends there that begins sooner, and what is short of a beginning goes on behind it.
    const first = piece.length < LONG_PIECE ? 0 : Math.min(this.#secrets.firstIn(piece), piece.length - BEGINNING + 1)
    for (let at = 0; at < length; at++) {
      if (at >= from) at = Math.max(at, from + first)
      if (rest !== 'none' && this.#secrets.opensAt(this.#text, at, rest !== 'more')) {
        if (rest === 'more') return at
        if (length - at >= SHORTEST_WORD) {
          join(ranges, [at, length])
          return length
        }
      }
      const found = length - at < SHORTEST_WORD ? 0 : this.#secrets.longestAt(this.#text, at)
      if (found > 0) join(ranges, [at, at + found])
    }
    return length
  }
}

/** The text with each range replaced; the last one may end behind it. */
export function replaced(text: string, ranges: readonly Range[], mark: string): string {
  if (ranges.length === 0) return text
  let built = ''
  let done = 0
  for (const [from, to] of ranges) {
    built += text.slice(done, from) + mark
    done = to
  }
  return built + text.slice(done)
}
