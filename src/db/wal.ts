// Keeps the write-ahead log small. SQLite copies it into the file as it goes, but a reader that holds on to an old state
// keeps it growing, and it never shrinks by itself; this gives its room back when nobody waits for the database.
import { statSync } from 'node:fs'
import type { Log } from '../log.ts'
import type { Connection } from './connection.ts'

export interface WalLimits {
  /** From this size on, in bytes, the log is emptied as soon as the server is idle. */
  readonly bytes: number
  readonly look_every_ms: number
}

export const WAL_LIMITS: WalLimits = { bytes: 64 * 1024 * 1024, look_every_ms: 5_000 }

/** A reader that keeps the log this many times over its limit is told of. */
const TOLD_AT = 4

export class WalKeeper implements Disposable {
  readonly #db: Connection
  readonly #limits: WalLimits
  readonly #log: Log | null
  readonly #timer: NodeJS.Timeout
  readonly #failed: (error: unknown) => void
  #told = false

  /** `idle` tells whether nobody waits; `failed` takes what a checkpoint throws. */
  constructor(
    db: Connection,
    limits: WalLimits,
    log: Log | null,
    on: { idle: () => boolean; failed: (error: unknown) => void },
  ) {
    this.#db = db
    this.#limits = limits
    this.#log = log
    this.#failed = on.failed
    this.#timer = setInterval(() => {
      try {
        if (this.size() > limits.bytes && on.idle()) this.empty()
      } catch (error) {
        on.failed(error)
      }
    }, limits.look_every_ms)
    this.#timer.unref()
  }

  /** Bytes of the log's file; 0 where there is none. */
  size(): number {
    return statSync(`${this.#db.name}-wal`, { throwIfNoEntry: false })?.size ?? 0
  }

  /** Copies all of the log into the file and gives its room back; without waiting, as much of it as readers allow. */
  empty(): void {
    const busy_ms = this.#db.pragma('busy_timeout', { simple: true }) as number
    this.#db.pragma('busy_timeout = 0')
    try {
      const [{ busy }] = this.#db.pragma('wal_checkpoint(TRUNCATE)') as [{ busy: 0 | 1 }]
      this.#tell(busy === 1)
    } finally {
      this.#db.pragma(`busy_timeout = ${busy_ms}`)
    }
  }

  #tell(held: boolean): void {
    const large = held && this.size() > this.#limits.bytes * TOLD_AT
    if (large && !this.#told) {
      const fields = { bytes: this.size() }
      this.#log?.warn(fields, `${this.#db.name}-wal grows: another program has been reading the database for long`)
    }
    this.#told = large
  }

  /** Leaves an empty log behind, as far as it can: what stays in it is read when the database is opened again. */
  [Symbol.dispose](): void {
    clearInterval(this.#timer)
    try {
      this.empty()
    } catch (error) {
      this.#failed(error)
    }
  }
}
