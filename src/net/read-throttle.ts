// Limits how long the process parses incoming bytes in one turn of the event loop. A packet may hold thousands of frames or chunks, which
// take milliseconds. Packets of very many connections may come at once.

import { eventLoopTurnMs, hasEventLoopTurn } from '../shared/time-slices.ts'

/** Milliseconds for all connections together. A packet that is begun is parsed to its end. */
const READ_BUDGET_MS = 8
/**
 * After this many turns in a row that accepted a connection, some turns read. A
 * packet of thousands of requests takes much longer than such a turn.
 */
const MAX_TURNS_WITHOUT_READS = 64
/**
 * Connections that are resumed in one turn deliver data in the next. In a
 * single turn, all of them together would have only one packet read.
 */
const CONSECUTIVE_READ_TURNS = 2

export interface PausableConnection {
  /** The origin of the connection. An origin with many connections does not delay others. */
  readonly origin?: string
  /**
   * Whether the connection's packets are very large. Each turn then reads only a part of them, so that other connections are not delayed.
   */
  readonly isFlood?: boolean
  /** Stops reading until `resume`. */
  pause(): void
  resume(): void
}

function isReadTurn(): boolean {
  return hasEventLoopTurn(MAX_TURNS_WITHOUT_READS, CONSECUTIVE_READ_TURNS)
}

/** Throttles connections of one kind. Connections of another kind have a throttle of their own. */
export class ReadThrottle {
  /**
   * Connections by origin, apart for those that were read and those that were not. The
   * most recently read origins and connections come last. No set is empty.
   */
  readonly #connectionsByOrigin = new Map<string, Set<PausableConnection>>()
  /** Connections that were read. */
  readonly #readConnections = new WeakSet<PausableConnection>()
  /** Whether all connections are paused until the next turn that reads. */
  #arePaused = false
  /** Connections that have used their share of this turn. */
  readonly #floodPaused = new Set<PausableConnection>()
  /** When the first packet of this turn was parsed; null before. */
  #turnStartedAt: number | null = null

  add(line: PausableConnection): void {
    this.#insert(line)
    // Node begins to read from a new connection when the current callback has ended.
    if (this.#arePaused) queueMicrotask(() => line.pause())
  }

  remove(line: PausableConnection): void {
    this.#floodPaused.delete(line)
    const key = this.#originKey(line)
    const lines = this.#connectionsByOrigin.get(key)
    if (lines?.delete(line) && lines.size === 0) this.#connectionsByOrigin.delete(key)
  }

  /** Records that data of a connection was parsed. */
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

  /** Returns the first connection of each origin, and then all others. */
  #resumeOrder(): Iterable<PausableConnection> {
    const sets = [...this.#connectionsByOrigin.values()]
    const first = sets.map(([line]) => line!)
    return new Set([...first, ...sets.flatMap((lines) => [...lines])])
  }
}
