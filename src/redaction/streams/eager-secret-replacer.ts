// Replaces secrets in a text of somebody else that comes in pieces, and holds back next to nothing: only what ends with so much of a secret that nobody
// has guessed it. What comes before is told as it comes, whichever secrets there are, and kept in mind: when the rest follows, that is replaced.

import { runToCompletion, type Steps } from '../../shared/time-slices.ts'
import { MAX_THRESHOLD } from '../matching/guess-threshold.ts'
import { HeldText } from '../matching/held-text.ts'
import type { PartialMatch } from '../matching/partial-match-bucket.ts'
import { mergeRange, type TextRange } from '../matching/prefix-index.ts'
import { MIN_FORM_LENGTH } from '../matching/rolling-hashes.ts'
import type { Continuation, SecretMatcher } from './secret-replacer.ts'

/** The secrets that are looked for. */
export interface EagerSecretMatcher extends Pick<SecretMatcher, 'longestAt'> {
  /** False where none begins with the four characters at a place. */
  mayBegin(text: string, at: number): boolean
  /** How much of a longer one the text is, from a place to its end. `isLast`: nothing follows by which it could be told. */
  findPartialMatch(text: HeldText, at: number, isLast: boolean): PartialMatch
  /** How much of the text from a place on is the beginning of one. */
  countShared(text: HeldText, at: number): number
}

/** So many characters behind may begin a secret that no look finds: each looks at four. */
const UNSEEN_LENGTH = 3
/** So many places at which a secret may have begun are kept in mind: texts have one or two, unless a secret repeats itself. */
const MAX_STARTS = 64
/** So many places are looked at in one step: where very many secrets begin as a text does, each takes microseconds. */
const STARTS_PER_STEP = 512

export class EagerSecretReplacer {
  readonly #matcher: EagerSecretMatcher
  readonly #mark: string
  /** What was told last, as far as it may begin a secret, and what is held back. */
  #text = ''
  /** How much of the text was told. */
  #told = 0
  /** The same text, as long as a secret has begun in it. */
  #held: HeldText | null = null
  /** Where in what was told a secret may have begun. */
  #starts: number[] = []
  /** The first place that was not looked at. */
  #next_start = 0
  /** Where a secret began whose beginning was replaced before the rest came; what follows of it is left out. */
  #replaced_start: number | null = null
  /** Whether the mark was told last. */
  #isMarked = false

  constructor(secrets: EagerSecretMatcher, mark: string) {
    this.#matcher = secrets
    this.#mark = mark
  }

  /** How many characters are held back. */
  get waiting(): number {
    return this.#text.length - this.#told
  }

  /** True where `push` gives the piece as it is, with nothing held back. */
  wouldPass(piece: string): boolean {
    return this.#held === null && !this.#mayBeginIn(this.#text + piece)
  }

  /** Takes a piece, and gives what may be told now. */
  push(piece: string): string {
    return runToCompletion(this.pushSteps(piece))
  }

  /** As `push`, for a long piece. The next one comes when all steps are done. */
  *pushSteps(piece: string): Steps<string> {
    const text = this.#text + piece
    if (this.#held !== null || this.#mayBeginIn(text)) return yield* this.#scan(piece, 'more')
    this.#text = text.slice(-UNSEEN_LENGTH)
    this.#told = this.#text.length
    this.#isMarked &&= piece === ''
    return piece
  }

  /**
   * The rest: nothing follows, or nobody waits for it any longer. What is held back is so much of a secret that it is replaced like a whole one. Where
   * the text goes on all the same, what follows of that secret is left out.
   */
  end(): string {
    return this.waiting === 0 ? '' : runToCompletion(this.#scan('', 'missing'))
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
    this.#keep(held, text, Math.max(decided, this.#told))
    return shown
  }

  /** Forgets what was told of the text, but for what may begin a secret. */
  #keep(held: HeldText, text: string, told: number): void {
    const from = Math.min(told, this.#next_start, this.#starts[0] ?? told)
    held.take(from)
    this.#text = text.slice(from)
    this.#told = told - from
    this.#next_start -= from
    this.#starts = this.#starts.map((place) => place - from)
    if (this.#replaced_start !== null) this.#replaced_start -= from
    this.#held = this.#starts.length > 0 || this.waiting > 0 ? held : null
  }

  /** How much of the text is decided; adds the secrets in it to the ranges. */
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
      const opening = this.#matcher.findPartialMatch(held, at, rest !== 'more')
      if (opening === 'secret') {
        if (rest === 'more') return this.#wait(at, ranges)
        mergeRange(ranges, [at, length])
        return this.#settle(at, length)
      }
      const found = length - at < MIN_FORM_LENGTH ? 0 : this.#matcher.longestAt(held, at)
      if (found > 0) mergeRange(ranges, [at, at + found])
      if (opening === 'guessable' && length - at <= MAX_THRESHOLD && places.length < MAX_STARTS) places.push(at)
    }
    this.#next_start = Math.max(0, length - UNSEEN_LENGTH)
    return length
  }

  /** A secret waits from a place on. One that it overlaps does not: both have the mark that is told now. */
  #wait(at: number, ranges: readonly TextRange[]): number {
    this.#next_start = at
    return Math.max(at, ranges.at(-1)?.[1] ?? 0)
  }

  /** From a place on the text is a secret that may go on. */
  #settle(at: number, length: number): number {
    this.#replaced_start = at
    this.#starts.push(at)
    this.#next_start = at + 1
    return length
  }

  /** What is told of the text up to a place, behind what was told of it before. Secrets that touch have one mark, whenever they come. */
  #replace(text: string, decided: number, ranges: readonly TextRange[]): string {
    let shown = ''
    let at = this.#told
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
