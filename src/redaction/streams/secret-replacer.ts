// Redacts a streamed text with the same result as for the whole text. Each position is decided once, from left to
// right: a position waits only while an incomplete secret may begin there.
import type { Steps } from '../../shared/time-slices.ts'
import { HeldText } from '../matching/held-text.ts'
import { mergeRange, type TextRange } from '../matching/prefix-index.ts'
import { LONGEST_PREFIX, MIN_FORM_LENGTH } from '../matching/rolling-hashes.ts'

/** Finds the secrets. A text may wait for fewer secrets than are found in it. */
export interface SecretMatcher {
  /**
   * The first position of a complete secret, or of its first LONGEST_PREFIX characters, which may continue after the
   * end; otherwise the length of the text.
   */
  findFirst(text: string): number
  /** The length of the longest secret at a position; 0 for none. */
  longestAt(text: HeldText, at: number): number
  /**
   * Whether the text from this position to its end begins a longer secret that the text waits for. `isLast` is true if
   * nothing follows that would decide.
   */
  hasPartialMatch(text: HeldText, at: number, isLast: boolean): boolean
}

/** From this length on, a quick check of the whole piece pays off. */
const LONG_PIECE_LENGTH = 512
/** Positions per step: with very many similar secrets, each takes dozens of microseconds. */
const STARTS_PER_STEP = 512

/** How a text goes on: more follows, it has ended, or it was cut and the rest is missing. */
export type Continuation = 'more' | 'none' | 'missing'

/** The progress of decisions for a new piece. */
interface Progress {
  readonly rest: Continuation
  /** The ranges of the found secrets. */
  readonly ranges: TextRange[]
  /**
   * The position in the piece from which each position is checked. No secret that begins earlier ends in the piece, and
   * shorter prefixes continue after it.
   */
  readonly close: number
  /** The position where the piece begins. */
  readonly from: number
  /** The next position to decide. */
  at: number
}

export class SecretReplacer {
  readonly #matcher: SecretMatcher
  readonly #mark: string
  #text = new HeldText()
  /**
   * How many held characters belong to a secret whose mark was emitted; 0 right after one; null if no mark was emitted
   * right before.
   */
  #hidden: number | null = null

  constructor(secrets: SecretMatcher, mark: string) {
    this.#matcher = secrets
    this.#mark = mark
  }

  /** The number of held characters, without those whose mark was emitted. */
  get waiting(): number {
    return Math.max(0, this.#text.length - (this.#hidden ?? 0))
  }

  /** Takes a piece, and returns the text that may be emitted now. */
  push(piece: string, rest: Continuation): string {
    const progress = this.#begin(piece, rest)
    while (!this.#advance(progress));
    return this.#finish(progress)
  }

  /** Like `push`, if much is held. The caller finishes all steps before the next piece. */
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

  /**
   * Decides the next positions, and adds found secrets to the ranges. Returns false if more steps are needed. Then all
   * positions before `at` are decided.
   */
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
    const output = decided === 0 ? '' : this.#takeReplaced(decided, ranges)
    if (rest !== 'more') {
      this.#text = new HeldText()
      this.#hidden = null
    }
    return output
  }

  #takeReplaced(decided: number, ranges: readonly TextRange[]): string {
    const hidden = this.#hidden
    const end = ranges.at(-1)?.[1] ?? -1
    this.#hidden = end < decided ? null : end - decided
    const built = replaceRanges(this.#text.take(decided), ranges, this.#mark)
    return hidden === null ? built : built.slice(this.#mark.length)
  }
}

/** Replaces each range by the mark; the last range may end after the text. */
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
