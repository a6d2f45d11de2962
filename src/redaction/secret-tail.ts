// Replaces secrets in a text of somebody else that comes in pieces, and holds back next to nothing: only what ends with so much of a secret that nobody
// has guessed it. What comes before is told as it comes, whichever secrets there are, and kept in mind: when the rest follows, that is replaced.

import { finish, type Steps } from '../time-slices.ts'
import type { Opening } from './alike-words.ts'
import { join, type Range } from './beginnings.ts'
import { SHORTEST_WORD } from './hashes.ts'
import { HeldText } from './held.ts'
import type { Rest, Secrets } from './secrets.ts'
import { LONGEST_THRESHOLD } from './threshold.ts'

/** The secrets that are looked for. */
export interface TailSecrets extends Pick<Secrets, 'longestAt'> {
  /** False where none begins with the four characters at a place. */
  mayBegin(text: string, at: number): boolean
  /** How much of a longer one the text is, from a place to its end. `isLast`: nothing follows by which it could be told. */
  openingAt(text: HeldText, at: number, isLast: boolean): Opening
  /** How much of the text from a place on is the beginning of one. */
  sharedAt(text: HeldText, at: number): number
}

/** So many characters behind may begin a secret that no look finds: each looks at four. */
const UNSEEN = 3
/** So many places at which a secret may have begun are kept in mind: texts have one or two, unless a secret repeats itself. */
const MOST_PLACES = 64
/** So many places are looked at in one step: where very many secrets begin as a text does, each takes microseconds. */
const LOOKED_AT_ONCE = 512

export class SecretTail {
  readonly #secrets: TailSecrets
  readonly #mark: string
  /** What was told last, as far as it may begin a secret, and what is held back. */
  #text = ''
  /** How much of the text was told. */
  #told = 0
  /** The same text, as long as a secret has begun in it. */
  #held: HeldText | null = null
  /** Where in what was told a secret may have begun. */
  #places: number[] = []
  /** The first place that was not looked at. */
  #next = 0
  /** Where a secret began whose beginning was replaced before the rest came; what follows of it is left out. */
  #settled: number | null = null
  /** Whether the mark was told last. */
  #isMarked = false

  constructor(secrets: TailSecrets, mark: string) {
    this.#secrets = secrets
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
    return finish(this.pushSteps(piece))
  }

  /** As `push`, for a long piece. The next one comes when all steps are done. */
  *pushSteps(piece: string): Steps<string> {
    const text = this.#text + piece
    if (this.#held !== null || this.#mayBeginIn(text)) return yield* this.#look(piece, 'more')
    this.#text = text.slice(-UNSEEN)
    this.#told = this.#text.length
    this.#isMarked &&= piece === ''
    return piece
  }

  /**
   * The rest: nothing follows, or nobody waits for it any longer. What is held back is so much of a secret that it is replaced like a whole one. Where
   * the text goes on all the same, what follows of that secret is left out.
   */
  end(): string {
    return this.waiting === 0 ? '' : finish(this.#look('', 'missing'))
  }

  #mayBeginIn(text: string): boolean {
    for (let at = 0, last = text.length - UNSEEN - 1; at <= last; at++)
      if (this.#secrets.mayBegin(text, at)) return true
    return false
  }

  *#look(piece: string, rest: Rest): Steps<string> {
    if (this.#held === null) this.#next = 0
    const held = this.#held ?? heldOf(this.#text)
    held.append(piece)
    const text = this.#text + piece
    const ranges: Range[] = []
    const decided = yield* this.#decided(held, text, rest, ranges)
    const shown = this.#shown(text, decided, ranges)
    this.#keep(held, text, Math.max(decided, this.#told))
    return shown
  }

  /** Forgets what was told of the text, but for what may begin a secret. */
  #keep(held: HeldText, text: string, told: number): void {
    const from = Math.min(told, this.#next, this.#places[0] ?? told)
    held.take(from)
    this.#text = text.slice(from)
    this.#told = told - from
    this.#next -= from
    this.#places = this.#places.map((place) => place - from)
    if (this.#settled !== null) this.#settled -= from
    this.#held = this.#places.length > 0 || this.waiting > 0 ? held : null
  }

  /** How much of the text is decided; adds the secrets in it to the ranges. */
  *#decided(held: HeldText, text: string, rest: Rest, ranges: Range[]): Steps<number> {
    const { length } = text
    const known = this.#places.filter((place) => place < this.#next)
    const places: number[] = []
    this.#places = places
    for (let turn = 0, at = 0; ; turn++) {
      at = turn < known.length ? known[turn]! : this.#next + turn - known.length
      if (at + UNSEEN >= length) break
      if (turn % LOOKED_AT_ONCE === LOOKED_AT_ONCE - 1) yield
      if (turn >= known.length && !this.#secrets.mayBegin(text, at)) continue
      if (at === this.#settled) {
        const shared = this.#secrets.sharedAt(held, at)
        join(ranges, [at, at + shared])
        if (at + shared === length) return this.#settle(at, length)
        this.#settled = null
      }
      const opening = this.#secrets.openingAt(held, at, rest !== 'more')
      if (opening === 'secret') {
        if (rest === 'more') return this.#wait(at, ranges)
        join(ranges, [at, length])
        return this.#settle(at, length)
      }
      const found = length - at < SHORTEST_WORD ? 0 : this.#secrets.longestAt(held, at)
      if (found > 0) join(ranges, [at, at + found])
      if (opening === 'guessable' && length - at <= LONGEST_THRESHOLD && places.length < MOST_PLACES) places.push(at)
    }
    this.#next = Math.max(0, length - UNSEEN)
    return length
  }

  /** A secret waits from a place on. One that it overlaps does not: both have the mark that is told now. */
  #wait(at: number, ranges: readonly Range[]): number {
    this.#next = at
    return Math.max(at, ranges.at(-1)?.[1] ?? 0)
  }

  /** From a place on the text is a secret that may go on. */
  #settle(at: number, length: number): number {
    this.#settled = at
    this.#places.push(at)
    this.#next = at + 1
    return length
  }

  /** What is told of the text up to a place, behind what was told of it before. Secrets that touch have one mark, whenever they come. */
  #shown(text: string, decided: number, ranges: readonly Range[]): string {
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

function heldOf(text: string): HeldText {
  const held = new HeldText()
  held.append(text)
  return held
}
