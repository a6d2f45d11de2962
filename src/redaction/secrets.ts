// Replaces secrets in a text that comes in pieces, with the same result as in the whole. Each place of the text is decided once, from left to right:
// it waits only as long as a secret may begin there that is not all here yet.
import type { Steps } from '../time-slices.ts'
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
/** So many places are decided in one step: where secrets begin as a text does, each takes microseconds. */
const DECIDED_AT_ONCE = 4_096

/** How a text goes on behind what has come: it does; it has ended; it was cut, and what would have come is missing. */
export type Rest = 'more' | 'none' | 'missing'

/** How far the text is decided with a new piece. */
interface Progress {
  readonly rest: Rest
  /** The secrets that were found. */
  readonly ranges: Range[]
  /** From where the piece is looked at closely: nothing ends there that begins sooner, and what is short of a beginning goes on behind it. */
  readonly close: number
  /** Where the piece begins. */
  readonly from: number
  /** The place that is decided next. */
  at: number
}

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
    const progress = this.#begin(piece, rest)
    while (!this.#goOn(progress));
    return this.#told(progress)
  }

  /** As `push`, where much waits. The next piece comes when all steps are done. */
  *pushSteps(piece: string, rest: Rest): Steps<string> {
    const progress = this.#begin(piece, rest)
    while (!this.#goOn(progress)) yield
    return this.#told(progress)
  }

  #begin(piece: string, rest: Rest): Progress {
    const from = this.#text.length
    this.#text.append(piece)
    const first = piece.length < LONG_PIECE ? 0 : Math.min(this.#secrets.firstIn(piece), piece.length - BEGINNING + 1)
    return { rest, ranges: this.#hidden === null ? [] : [[0, this.#hidden]], from, close: from + first, at: 0 }
  }

  /** Decides the next places, and adds the secrets there to the ranges; false: there are more. All before `at` is decided then. */
  #goOn(progress: Progress): boolean {
    const { rest, ranges, from, close } = progress
    const { length } = this.#text
    const until = progress.at + DECIDED_AT_ONCE
    for (; progress.at < length; progress.at++) {
      if (progress.at >= until) return false
      if (progress.at >= from) progress.at = Math.max(progress.at, close)
      const { at } = progress
      if (rest !== 'none' && this.#secrets.opensAt(this.#text, at, rest !== 'more')) {
        if (rest === 'more') return true
        if (length - at >= SHORTEST_WORD) {
          join(ranges, [at, length])
          break
        }
      }
      const found = length - at < SHORTEST_WORD ? 0 : this.#secrets.longestAt(this.#text, at)
      if (found > 0) join(ranges, [at, at + found])
    }
    progress.at = length
    return true
  }

  #told({ at: decided, rest, ranges }: Progress): string {
    const told = decided === 0 ? '' : this.#taken(decided, ranges)
    if (rest !== 'more') {
      this.#text = new HeldText()
      this.#hidden = null
    }
    return told
  }

  #taken(decided: number, ranges: readonly Range[]): string {
    const hidden = this.#hidden
    const end = ranges.at(-1)?.[1] ?? -1
    this.#hidden = end < decided ? null : end - decided
    const built = replaced(this.#text.take(decided), ranges, this.#mark)
    return hidden === null ? built : built.slice(this.#mark.length)
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
