// Time as stored delays and limits count it: what has passed, whatever is done to the clock of the machine. A machine that is suspended does not
// count, on Linux (CLOCK_MONOTONIC). What clients are told is the machine's own clock.
import { metaValue, putMeta } from '../db/meta.ts'
import type { Store } from '../db/store.ts'
import type { Platform } from '../platform.ts'

/** What is kept of the difference between both clocks, for the next process. */
const OFFSET = 'clock_offset_ms'
/** The same for processes since the same start of the machine: the time when its monotonic clock began. The machine's clock says nothing there. */
const BOOT = 'clock_boot'
/** A smaller change is not written. */
const NOTEWORTHY_MS = 1_000
/** Whoever asks for the time has that difference kept, so often. A job with a limit asks twice a minute at least. */
const KEPT_EVERY_MS = 10_000

/** When the monotonic clock of a start of the machine began, by the steady clock, and what it said when that was kept. */
interface KeptBoot {
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
  #kept: number
  /** How much had passed when the difference was looked at last. */
  #looked: number
  #isBootKept: boolean

  constructor(store: Store, { now, elapsed, boot = null }: Pick<Platform, 'now' | 'elapsed' | 'boot'>) {
    this.#store = store
    this.#boot = boot
    this.#wall = () => now()
    this.#elapsed = () => elapsed?.() ?? performance.now()
    this.#kept = Number(store.read((tx) => metaValue(tx, OFFSET)) ?? 0) || 0
    this.#looked = this.#elapsed()
    const origin = boot === null ? null : this.#keptOrigin(boot)
    this.#isBootKept = boot === null || origin !== null
    this.#origin = origin ?? now() - this.#kept - this.#looked
  }

  /** Null where nothing is kept of this start of the machine, or its clock says less than it did before, as in another container. */
  #keptOrigin(boot: string): number | null {
    const text = this.#store.read((tx) => metaValue(tx, BOOT))
    if (text === null) return null
    const kept = JSON.parse(text) as KeptBoot
    return kept.boot === boot && kept.elapsed <= this.#looked ? kept.origin : null
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
    this.#keepBoot(elapsed)
    const offset = Math.round(this.#wall() - Math.floor(this.#origin + elapsed))
    if (Math.abs(offset - this.#kept) < NOTEWORTHY_MS) return
    this.#kept = offset
    this.#store.write((tx) => putMeta(tx, OFFSET, String(offset))).catch(() => {})
  }

  /** Where that could not be written, the next look tries again. */
  #keepBoot(elapsed: number): void {
    if (this.#isBootKept || this.#boot === null) return
    this.#isBootKept = true
    const kept: KeptBoot = { boot: this.#boot, origin: this.#origin, elapsed }
    this.#store
      .write((tx) => putMeta(tx, BOOT, JSON.stringify(kept)))
      .catch(() => {
        this.#isBootKept = false
      })
  }
}
