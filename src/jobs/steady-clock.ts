// Time as stored delays and limits count it: what has passed, whatever is done to the clock of the machine. A machine that is suspended does not
// count, on Linux (CLOCK_MONOTONIC). What clients are told is the machine's own clock.
import { metaValue, putMeta } from '../db/meta.ts'
import type { Store } from '../db/store.ts'
import type { Platform } from '../platform.ts'

/** What is kept of the difference between both clocks, for the next process. */
const OFFSET = 'clock_offset_ms'
/** A smaller change is not written. */
const NOTEWORTHY_MS = 1_000
/** Whoever asks for the time has that difference kept, so often. A job with a limit asks twice a minute at least. */
const KEPT_EVERY_MS = 10_000

export class SteadyClock {
  readonly #store: Store
  readonly #wall: () => number
  readonly #elapsed: () => number
  /** The time when nothing had passed. */
  readonly #origin: number
  #kept: number
  /** How much had passed when the difference was looked at last. */
  #looked: number

  constructor(store: Store, { now, elapsed }: Pick<Platform, 'now' | 'elapsed'>) {
    this.#store = store
    this.#wall = () => now()
    this.#elapsed = () => elapsed?.() ?? performance.now()
    this.#kept = Number(store.read((tx) => metaValue(tx, OFFSET)) ?? 0) || 0
    this.#looked = this.#elapsed()
    this.#origin = now() - this.#kept - this.#looked
  }

  /** Whole milliseconds since the epoch, but for what the machine's clock was moved since the first process. */
  now(): number {
    const elapsed = this.#elapsed()
    if (elapsed - this.#looked >= KEPT_EVERY_MS) this.#keep(elapsed)
    return Math.floor(this.#origin + elapsed)
  }

  /** Remembers for the next process how far the machine's clock was moved. */
  keep(): void {
    this.#keep(this.#elapsed())
  }

  #keep(elapsed: number): void {
    this.#looked = elapsed
    const offset = Math.round(this.#wall() - Math.floor(this.#origin + elapsed))
    if (Math.abs(offset - this.#kept) < NOTEWORTHY_MS) return
    this.#kept = offset
    this.#store.write((tx) => putMeta(tx, OFFSET, String(offset))).catch(() => {})
  }
}
