// Redacts a streamed text of others and holds as little as possible: only an end that a caller cannot have guessed.
// Earlier text is emitted at once and remembered: when the rest of a secret follows, that rest is replaced.

import { runToCompletion, type Steps } from '../../shared/time-slices.ts'
import { MAX_THRESHOLD } from '../matching/guess-threshold.ts'
import { HeldText } from '../matching/held-text.ts'
import type { PartialMatch } from '../matching/partial-match-bucket.ts'
import { mergeRange, type TextRange } from '../matching/prefix-index.ts'
import { MIN_FORM_LENGTH } from '../matching/rolling-hashes.ts'
import type { Continuation, SecretMatcher } from './secret-replacer.ts'

/** Finds the secrets. */
export interface EagerSecretMatcher extends Pick<SecretMatcher, 'longestAt'> {
  /** False if no secret begins with the four characters at this position. */
  mayBegin(text: string, at: number): boolean
  /**
   * How much of a longer secret is at the end of the text from this position. `isLast` is true if nothing follows that
   * would decide.
   */
  findPartialMatch(text: HeldText, at: number, isLast: boolean): PartialMatch
  /** The length of the longest secret prefix at this position. */
  countShared(text: HeldText, at: number): number
}

/** The last characters may begin a secret that `mayBegin` cannot find, since it needs four. */
const UNSEEN_LENGTH = 3
/** The limit of remembered starts of secrets: texts have one or two, unless a secret repeats itself. */
const MAX_STARTS = 64
/** Positions per step: with very many similar secrets, each takes microseconds. */
const STARTS_PER_STEP = 512

export class EagerSecretReplacer {
  readonly #matcher: EagerSecretMatcher
  readonly #mark: string
  /** Emitted text that may begin a secret, followed by the held text. */
  #text = ''
  /** How much of the text was emitted. */
  #emitted = 0
  /** The same text, while a secret may have begun in it. */
  #held: HeldText | null = null
  /** Positions in the emitted text where a secret may have begun. */
  #starts: number[] = []
  /** The first position that is not checked yet. */
  #next_start = 0
  /** The start of a secret whose prefix was replaced before its rest arrived; the rest is dropped. */
  #replaced_start: number | null = null
  /** Whether the mark was emitted last. */
  #isMarked = false

  constructor(secrets: EagerSecretMatcher, mark: string) {
    this.#matcher = secrets
    this.#mark = mark
  }

  /** The number of held characters. */
  get waiting(): number {
    return this.#text.length - this.#emitted
  }

  /** True if `push` would return the piece unchanged and hold nothing. */
  wouldPass(piece: string): boolean {
    return this.#held === null && !this.#mayBeginIn(this.#text + piece)
  }

  /** Takes a piece, and returns the text that may be emitted now. */
  push(piece: string): string {
    return runToCompletion(this.pushSteps(piece))
  }

  /** Like `push`, for a long piece. The caller finishes all steps before the next piece. */
  *pushSteps(piece: string): Steps<string> {
    const text = this.#text + piece
    if (this.#held !== null || this.#mayBeginIn(text)) return yield* this.#scan(piece, 'more')
    this.#text = text.slice(-UNSEEN_LENGTH)
    this.#emitted = this.#text.length
    this.#isMarked &&= piece === ''
    return piece
  }

  /**
   * Ends the text, or stops waiting. Held text is a large part of a secret, so it is replaced. If the text continues
   * anyway, the rest of that secret is dropped.
   */
  end(): string {
    return runToCompletion(this.endSteps())
  }

  /** Like `end`, if much is held. The caller finishes all steps before the next call. */
  *endSteps(): Steps<string> {
    return this.waiting === 0 ? '' : yield* this.#scan('', 'missing')
  }

  #mayBeginIn(text: string): boolean {
    for (let at = 0, last = text.length - UNSEEN_LENGTH - 1; at <= last; at++)
      if (this.#matcher.mayBegin(text, at)) return true
    return false
  }

  *#scan(piece: string, rest: Continuation): Steps<string> {
    if (this.#held === null) this.#next_start = 0
    const held = this.#held ?? toHeldText(this.#text)
    held.append(piece)
    const text = this.#text + piece
    const ranges: TextRange[] = []
    const decided = yield* this.#decide(held, text, rest, ranges)
    const shown = this.#replace(text, decided, ranges)
    this.#keep(held, text, Math.max(decided, this.#emitted))
    return shown
  }

  /** Drops emitted text that cannot begin a secret. */
  #keep(held: HeldText, text: string, emitted: number): void {
    const from = Math.min(emitted, this.#next_start, this.#starts[0] ?? emitted)
    held.take(from)
    this.#text = text.slice(from)
    this.#emitted = emitted - from
    this.#next_start -= from
    this.#starts = this.#starts.map((place) => place - from)
    if (this.#replaced_start !== null) this.#replaced_start -= from
    this.#held = this.#starts.length > 0 || this.waiting > 0 ? held : null
  }

  /** Returns how much of the text is decided, and adds the found secrets to `ranges`. */
  *#decide(held: HeldText, text: string, rest: Continuation, ranges: TextRange[]): Steps<number> {
    const { length } = text
    const known = this.#starts.filter((place) => place < this.#next_start)
    const places: number[] = []
    this.#starts = places
    for (let turn = 0, at = 0; ; turn++) {
      at = turn < known.length ? known[turn]! : this.#next_start + turn - known.length
      if (at + UNSEEN_LENGTH >= length) break
      if (turn % STARTS_PER_STEP === STARTS_PER_STEP - 1) yield
      if (turn >= known.length && !this.#matcher.mayBegin(text, at)) continue
      if (at === this.#replaced_start) {
        const shared = this.#matcher.countShared(held, at)
        mergeRange(ranges, [at, at + shared])
        if (at + shared === length) return this.#settle(at, length)
        this.#replaced_start = null
      }
      const match = this.#matcher.findPartialMatch(held, at, rest !== 'more')
      if (match === 'secret') {
        if (rest === 'more') return this.#wait(at, ranges)
        mergeRange(ranges, [at, length])
        return this.#settle(at, length)
      }
      const found = length - at < MIN_FORM_LENGTH ? 0 : this.#matcher.longestAt(held, at)
      if (found > 0) mergeRange(ranges, [at, at + found])
      if (match === 'guessable' && length - at <= MAX_THRESHOLD && places.length < MAX_STARTS) places.push(at)
    }
    this.#next_start = Math.max(0, length - UNSEEN_LENGTH)
    return length
  }

  /**
   * Holds a secret from this position on. A secret that overlaps it is not held: both share the mark that is emitted
   * now.
   */
  #wait(at: number, ranges: readonly TextRange[]): number {
    this.#next_start = at
    return Math.max(at, ranges.at(-1)?.[1] ?? 0)
  }

  /** The text from this position on is a secret that may continue. */
  #settle(at: number, length: number): number {
    this.#replaced_start = at
    this.#starts.push(at)
    this.#next_start = at + 1
    return length
  }

  /**
   * Returns the redacted text up to a position, after the emitted text. Secrets that touch share one mark, also across
   * pieces.
   */
  #replace(text: string, decided: number, ranges: readonly TextRange[]): string {
    let shown = ''
    let at = this.#emitted
    for (const [from, to] of ranges) {
      if (to <= at) continue
      if (from > at) this.#isMarked = false
      shown += text.slice(at, from) + (this.#isMarked ? '' : this.#mark)
      this.#isMarked = true
      at = to
    }
    if (decided <= at) return shown
    this.#isMarked = false
    return shown + text.slice(at, decided)
  }
}

function toHeldText(text: string): HeldText {
  const held = new HeldText()
  held.append(text)
  return held
}
