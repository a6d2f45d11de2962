// How long bytes of peers are taken apart in one turn of the event loop. A packet may hold thousands of frames or chunks, which cost milliseconds, and
// packets of very many connections may come at once.

import { eventLoopTurnMs, hasEventLoopTurn } from '../shared/time-slices.ts'

/** Milliseconds, in all connections together. What is taken apart then is taken apart to its end. */
const READ_BUDGET_MS = 8
/** Of so many turns in which a connection came in, one behind the other, reading has some: a packet of thousands of requests takes much longer than such a turn. */
const MAX_TURNS_WITHOUT_READS = 64
/** Connections that are resumed in one turn bring something in the next: in a turn alone, all of them together would have one packet read. */
const CONSECUTIVE_READ_TURNS = 2

/** A connection. */
export interface PausableConnection {
  /** Where it comes from: origins of many connections do not keep others waiting. */
  readonly origin?: string
  /** Whether its packets hold very much: then a little of it is read in each turn, so that those behind it have theirs. */
  readonly isFlood?: boolean
  /** Reads nothing more until `resume`. */
  pause(): void
  resume(): void
}

function isReadTurn(): boolean {
  return hasEventLoopTurn(MAX_TURNS_WITHOUT_READS, CONSECUTIVE_READ_TURNS)
}

/** Of connections of one kind: what came on those of another does not wait for them. */
export class ReadThrottle {
  /** By origin, those that were read from and those that were not yet. What was read from last comes last, sets and lines of each. No set is empty. */
  readonly #connectionsByOrigin = new Map<string, Set<PausableConnection>>()
  /** Those that were read from. */
  readonly #readConnections = new WeakSet<PausableConnection>()
  /** Whether all are, until the next turn that reading has. */
  #arePaused = false
  /** Those that have been read from enough in this turn. */
  readonly #floodPaused = new Set<PausableConnection>()
  /** When a turn's first packet was taken apart; null before. */
  #turnStartedAt: number | null = null

  add(line: PausableConnection): void {
    this.#insert(line)
    // Node begins to read from a new connection when what it does now has ended.
    if (this.#arePaused) queueMicrotask(() => line.pause())
  }

  remove(line: PausableConnection): void {
    this.#floodPaused.delete(line)
    const key = this.#originKey(line)
    const lines = this.#connectionsByOrigin.get(key)
    if (lines?.delete(line) && lines.size === 0) this.#connectionsByOrigin.delete(key)
  }

  /** Something from the line was taken apart. */
  recordRead(line: PausableConnection): void {
    if (this.#turnStartedAt === null) {
      this.#turnStartedAt = performance.now()
      setImmediate(this.#startNextTurn)
    }
    this.#moveLast(line)
    if (line.isFlood) {
      line.pause()
      this.#floodPaused.add(line)
    }
    if (this.#arePaused || (isReadTurn() && performance.now() - this.#turnStartedAt < eventLoopTurnMs(READ_BUDGET_MS)))
      return
    this.#arePaused = true
    for (const one of this.#resumeOrder()) one.pause()
  }

  #originKey(line: PausableConnection): string {
    return `${this.#readConnections.has(line)} ${line.origin}`
  }

  #insert(line: PausableConnection): void {
    const key = this.#originKey(line)
    const lines = this.#connectionsByOrigin.get(key)
    if (lines) lines.add(line)
    else this.#connectionsByOrigin.set(key, new Set([line]))
  }

  #moveLast(line: PausableConnection): void {
    const key = this.#originKey(line)
    const lines = this.#connectionsByOrigin.get(key)
    if (!lines?.delete(line)) return
    this.#connectionsByOrigin.delete(key)
    if (lines.size > 0) this.#connectionsByOrigin.set(key, lines)
    this.#readConnections.add(line)
    this.#insert(line)
  }

  readonly #startNextTurn = (): void => {
    const arePaused = this.#arePaused
    if ((arePaused || this.#floodPaused.size > 0) && !isReadTurn()) return void setImmediate(this.#startNextTurn)
    this.#turnStartedAt = null
    this.#arePaused = false
    const paused = arePaused ? this.#resumeOrder() : [...this.#floodPaused]
    this.#floodPaused.clear()
    for (const line of paused) line.resume()
  }

  /** The first line of each set, and then all others. */
  #resumeOrder(): Iterable<PausableConnection> {
    const sets = [...this.#connectionsByOrigin.values()]
    const first = sets.map(([line]) => line!)
    return new Set([...first, ...sets.flatMap((lines) => [...lines])])
  }
}
