// Replaces secrets in a text that comes in pieces, with the same result as in the whole. Each place of the text is decided once, from left to right:
// it waits only as long as a secret may begin there that is not all here yet.
import type { Steps } from '../../shared/time-slices.ts'
import { HeldText } from '../matching/held-text.ts'
import { mergeRange, type TextRange } from '../matching/prefix-index.ts'
import { LONGEST_PREFIX, MIN_FORM_LENGTH } from '../matching/rolling-hashes.ts'

/** The secrets that are looked for. Those that a text waits for may be fewer than those that are found in it. */
export interface SecretMatcher {
  /**
   * The first place of a text at which one has all that it has, or its first `BEGINNING` characters and perhaps more behind the end; else the length
   * of the text.
   */
  findFirst(text: string): number
  /** The length of the longest one that stands at a place; 0 for none. */
  longestAt(text: HeldText, at: number): number
  /** Whether the text, from a place to its end, is the beginning of a longer one that it waits for. `isLast`: nothing follows by which it could be told. */
  hasPartialMatch(text: HeldText, at: number, isLast: boolean): boolean
}

/** From so many characters on a quick look at the whole piece is worth its price. */
const LONG_PIECE_LENGTH = 512
/** So many places are decided in one step: where secrets begin as a text does, each takes microseconds. */
const STARTS_PER_STEP = 4_096

/** How a text goes on behind what has come: it does; it has ended; it was cut, and what would have come is missing. */
export type Continuation = 'more' | 'none' | 'missing'

/** How far the text is decided with a new piece. */
interface Progress {
  readonly rest: Continuation
  /** The secrets that were found. */
  readonly ranges: TextRange[]
  /** From where the piece is looked at closely: nothing ends there that begins sooner, and what is short of a beginning goes on behind it. */
  readonly close: number
  /** Where the piece begins. */
  readonly from: number
  /** The place that is decided next. */
  at: number
}

export class SecretReplacer {
  readonly #matcher: SecretMatcher
  readonly #mark: string
  #text = new HeldText()
  /** How much of what is held belongs to a secret whose mark was told, 0 right behind one; null: nothing was told right before. */
  #hidden: number | null = null

  constructor(secrets: SecretMatcher, mark: string) {
    this.#matcher = secrets
    this.#mark = mark
  }

  /** How many characters are held back, but for those of which the mark was told. */
  get waiting(): number {
    return Math.max(0, this.#text.length - (this.#hidden ?? 0))
  }

  /** Takes a piece, and gives what may be told now. */
  push(piece: string, rest: Continuation): string {
    const progress = this.#begin(piece, rest)
    while (!this.#advance(progress));
    return this.#finish(progress)
  }

  /** As `push`, where much waits. The next piece comes when all steps are done. */
  *pushSteps(piece: string, rest: Continuation): Steps<string> {
    const progress = this.#begin(piece, rest)
    while (!this.#advance(progress)) yield
    return this.#finish(progress)
  }

  #begin(piece: string, rest: Continuation): Progress {
    const from = this.#text.length
    this.#text.append(piece)
    const first =
      piece.length < LONG_PIECE_LENGTH ? 0 : Math.min(this.#matcher.findFirst(piece), piece.length - LONGEST_PREFIX + 1)
    return { rest, ranges: this.#hidden === null ? [] : [[0, this.#hidden]], from, close: from + first, at: 0 }
  }

  /** Decides the next places, and adds the secrets there to the ranges; false: there are more. All before `at` is decided then. */
  #advance(progress: Progress): boolean {
    const { rest, ranges, from, close } = progress
    const { length } = this.#text
    const until = progress.at + STARTS_PER_STEP
    for (; progress.at < length; progress.at++) {
      if (progress.at >= until) return false
      if (progress.at >= from) progress.at = Math.max(progress.at, close)
      const { at } = progress
      if (rest !== 'none' && this.#matcher.hasPartialMatch(this.#text, at, rest !== 'more')) {
        if (rest === 'more') return true
        if (length - at >= MIN_FORM_LENGTH) {
          mergeRange(ranges, [at, length])
          break
        }
      }
      const found = length - at < MIN_FORM_LENGTH ? 0 : this.#matcher.longestAt(this.#text, at)
      if (found > 0) mergeRange(ranges, [at, at + found])
    }
    progress.at = length
    return true
  }

  #finish({ at: decided, rest, ranges }: Progress): string {
    const told = decided === 0 ? '' : this.#takeReplaced(decided, ranges)
    if (rest !== 'more') {
      this.#text = new HeldText()
      this.#hidden = null
    }
    return told
  }

  #takeReplaced(decided: number, ranges: readonly TextRange[]): string {
    const hidden = this.#hidden
    const end = ranges.at(-1)?.[1] ?? -1
    this.#hidden = end < decided ? null : end - decided
    const built = replaceRanges(this.#text.take(decided), ranges, this.#mark)
    return hidden === null ? built : built.slice(this.#mark.length)
  }
}

/** The text with each range replaced; the last one may end behind it. */
export function replaceRanges(text: string, ranges: readonly TextRange[], mark: string): string {
  if (ranges.length === 0) return text
  let built = ''
  let done = 0
  for (const [from, to] of ranges) {
    built += text.slice(done, from) + mark
    done = to
  }
  return built + text.slice(done)
}
