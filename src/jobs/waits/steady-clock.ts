// The clock for stored delays and limits. It counts elapsed time, whatever changes are made to the system clock. On Linux (CLOCK_MONOTONIC) the time of a
// suspended machine does not count. Clients get times of the system clock.
import { readMetaValue, writeMetaValue } from '../../db/database-metadata.ts'
import type { Store } from '../../db/store.ts'
import type { Platform } from '../../platform.ts'

/** The difference between both clocks, stored for the next process. */
const OFFSET_KEY = 'clock_offset_ms'
/** The origin of the monotonic clock, for processes since the same boot, where it is exact whatever the system clock says. */
const BOOT_KEY = 'clock_boot'
/** A smaller change of the difference is not stored. */
const NOTEWORTHY_MS = 1_000
/** Calls of `now` store the difference this often. A job with a limit calls it twice a minute at least. */
const STORED_EVERY_MS = 10_000

/** The origin of a boot's monotonic clock, by the steady clock, and the monotonic time when that was stored. */
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
  /** The steady time at elapsed time 0. */
  readonly #origin: number
  #stored_offset: number
  /** The elapsed time when the difference was checked last. */
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

  /** Null where this boot has no stored origin, or its clock is behind the stored time, as in another container. */
  #readStoredOrigin(boot: string): number | null {
    const text = this.#store.read((tx) => readMetaValue(tx, BOOT_KEY))
    if (text === null) return null
    const kept = JSON.parse(text) as StoredBootClock
    return kept.boot === boot && kept.elapsed <= this.#checked_at ? kept.origin : null
  }

  /** Whole milliseconds since the epoch, without the changes of the system clock since the first process. */
  now(): number {
    const elapsed = this.#elapsed()
    if (elapsed - this.#checked_at >= STORED_EVERY_MS) this.#storeOffset(elapsed)
    return Math.floor(this.#origin + elapsed)
  }

  /** Stores for the next process how far the system clock was moved. */
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

  /** Stores the origin of this boot. A failed write is retried at the next check. */
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
