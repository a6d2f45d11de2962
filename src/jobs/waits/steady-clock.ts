// Time as stored delays and limits count it: what has passed, whatever is done to the clock of the machine. A machine that is suspended does not
// count, on Linux (CLOCK_MONOTONIC). What clients are told is the machine's own clock.
import { readMetaValue, writeMetaValue } from '../../db/database-metadata.ts'
import type { Store } from '../../db/store.ts'
import type { Platform } from '../../platform.ts'

/** What is kept of the difference between both clocks, for the next process. */
const OFFSET_KEY = 'clock_offset_ms'
/** The same for processes since the same start of the machine: the time when its monotonic clock began. The machine's clock says nothing there. */
const BOOT_KEY = 'clock_boot'
/** A smaller change is not written. */
const NOTEWORTHY_MS = 1_000
/** Whoever asks for the time has that difference kept, so often. A job with a limit asks twice a minute at least. */
const STORED_EVERY_MS = 10_000

/** When the monotonic clock of a start of the machine began, by the steady clock, and what it said when that was kept. */
interface StoredBootClock {
  readonly boot: string
  readonly origin: number
  readonly elapsed: number
}

export class SteadyClock {
  readonly #store: Store
  readonly #boot: string | null
  readonly #wall: () => number
  readonly #elapsed: () => number
  /** The time when nothing had passed. */
  readonly #origin: number
  #stored_offset: number
  /** How much had passed when the difference was looked at last. */
  #checked_at: number
  #isBootStored: boolean

  constructor(store: Store, { now, elapsed, boot = null }: Pick<Platform, 'now' | 'elapsed' | 'boot'>) {
    this.#store = store
    this.#boot = boot
    this.#wall = () => now()
    this.#elapsed = () => elapsed?.() ?? performance.now()
    this.#stored_offset = Number(store.read((tx) => readMetaValue(tx, OFFSET_KEY)) ?? 0) || 0
    this.#checked_at = this.#elapsed()
    const origin = boot === null ? null : this.#readStoredOrigin(boot)
    this.#isBootStored = boot === null || origin !== null
    this.#origin = origin ?? now() - this.#stored_offset - this.#checked_at
  }

  /** Null where nothing is kept of this start of the machine, or its clock says less than it did before, as in another container. */
  #readStoredOrigin(boot: string): number | null {
    const text = this.#store.read((tx) => readMetaValue(tx, BOOT_KEY))
    if (text === null) return null
    const kept = JSON.parse(text) as StoredBootClock
    return kept.boot === boot && kept.elapsed <= this.#checked_at ? kept.origin : null
  }

  /** Whole milliseconds since the epoch, but for what the machine's clock was moved since the first process. */
  now(): number {
    const elapsed = this.#elapsed()
    if (elapsed - this.#checked_at >= STORED_EVERY_MS) this.#storeOffset(elapsed)
    return Math.floor(this.#origin + elapsed)
  }

  /** Remembers for the next process how far the machine's clock was moved. */
  storeOffset(): void {
    this.#storeOffset(this.#elapsed())
  }

  #storeOffset(elapsed: number): void {
    this.#checked_at = elapsed
    this.#storeBoot(elapsed)
    const offset = Math.round(this.#wall() - Math.floor(this.#origin + elapsed))
    if (Math.abs(offset - this.#stored_offset) < NOTEWORTHY_MS) return
    this.#stored_offset = offset
    this.#store.write((tx) => writeMetaValue(tx, OFFSET_KEY, String(offset))).catch(() => {})
  }

  /** Where that could not be written, the next look tries again. */
  #storeBoot(elapsed: number): void {
    if (this.#isBootStored || this.#boot === null) return
    this.#isBootStored = true
    const kept: StoredBootClock = { boot: this.#boot, origin: this.#origin, elapsed }
    this.#store
      .write((tx) => writeMetaValue(tx, BOOT_KEY, JSON.stringify(kept)))
      .catch(() => {
        this.#isBootStored = false
      })
  }
}
