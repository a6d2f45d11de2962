// How long bytes of peers are taken apart in one turn of the event loop. A packet may hold thousands of frames or chunks, which cost milliseconds, and
// packets of very many connections may come at once.

import { hasTurn, turnMs } from '../time-slices.ts'

/** Milliseconds, in all connections together. What is taken apart then is taken apart to its end. */
const TURN_MS = 8
/** Of so many turns in which a connection came in, one behind the other, reading has some: a packet of thousands of requests takes much longer than such a turn. */
const CROWDED_TURNS = 64
/** Connections that are resumed in one turn bring something in the next: in a turn alone, all of them together would have one packet read. */
const IN_A_ROW = 2

/** A connection. */
export interface Line {
  /** Where it comes from: origins of many connections do not keep others waiting. */
  readonly origin?: string
  /** Whether its packets hold very much: then a little of it is read in each turn, so that those behind it have theirs. */
  readonly isFlood?: boolean
  /** Reads nothing more until `resume`. */
  pause(): void
  resume(): void
}

function hasReadingTurn(): boolean {
  return hasTurn(CROWDED_TURNS, IN_A_ROW)
}

/** Of connections of one kind: what came on those of another does not wait for them. */
export class ReadingTurn {
  /** By origin, those that were read from and those that were not yet. What was read from last comes last, sets and lines of each. No set is empty. */
  readonly #lines = new Map<string, Set<Line>>()
  /** Those that were read from. */
  readonly #known = new WeakSet<Line>()
  /** Whether all are, until the next turn that reading has. */
  #arePaused = false
  /** Those that have been read from enough in this turn. */
  readonly #resting = new Set<Line>()
  /** When a turn's first packet was taken apart; null before. */
  #since: number | null = null

  add(line: Line): void {
    this.#join(line)
    // Node begins to read from a new connection when what it does now has ended.
    if (this.#arePaused) queueMicrotask(() => line.pause())
  }

  remove(line: Line): void {
    this.#resting.delete(line)
    const key = this.#keyOf(line)
    const lines = this.#lines.get(key)
    if (lines?.delete(line) && lines.size === 0) this.#lines.delete(key)
  }

  /** Something from the line was taken apart. */
  took(line: Line): void {
    if (this.#since === null) {
      this.#since = performance.now()
      setImmediate(this.#next)
    }
    this.#moveLast(line)
    if (line.isFlood) {
      line.pause()
      this.#resting.add(line)
    }
    if (this.#arePaused || (hasReadingTurn() && performance.now() - this.#since < turnMs(TURN_MS))) return
    this.#arePaused = true
    for (const one of this.#inOrder()) one.pause()
  }

  #keyOf(line: Line): string {
    return `${this.#known.has(line)} ${line.origin}`
  }

  #join(line: Line): void {
    const key = this.#keyOf(line)
    const lines = this.#lines.get(key)
    if (lines) lines.add(line)
    else this.#lines.set(key, new Set([line]))
  }

  #moveLast(line: Line): void {
    const key = this.#keyOf(line)
    const lines = this.#lines.get(key)
    if (!lines?.delete(line)) return
    this.#lines.delete(key)
    if (lines.size > 0) this.#lines.set(key, lines)
    this.#known.add(line)
    this.#join(line)
  }

  readonly #next = (): void => {
    const arePaused = this.#arePaused
    if ((arePaused || this.#resting.size > 0) && !hasReadingTurn()) return void setImmediate(this.#next)
    this.#since = null
    this.#arePaused = false
    const paused = arePaused ? this.#inOrder() : [...this.#resting]
    this.#resting.clear()
    for (const line of paused) line.resume()
  }

  /** The first line of each set, and then all others. */
  #inOrder(): Iterable<Line> {
    const sets = [...this.#lines.values()]
    const first = sets.map(([line]) => line!)
    return new Set([...first, ...sets.flatMap((lines) => [...lines])])
  }
}
