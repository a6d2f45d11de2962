// Keeps the write-ahead log small: decides when a thread copies it into the database file, while commits continue. SQLite restarts the log once all
// of it is copied. Under constant writes, commits wait for a short last pass of the thread.
import { statSync } from 'node:fs'
import type { Statement } from 'better-sqlite3'
import type { Log } from '../../log.ts'
import type { Durability, SqliteConnection } from '../connection.ts'
import { commitMarkPath, recordCheckpointEnd } from '../loss-detection/commit-mark-file.ts'
import { runPassiveCheckpoint } from './checkpoint.ts'
import { CheckpointThread, type WalProgress } from './checkpoint-thread.ts'

export interface WalLimits {
  /** From this size on, in bytes, the log's file is emptied once the server is idle. The other sizes are fractions of it. */
  readonly bytes: number
  readonly look_every_ms: number
}

export const WAL_LIMITS: WalLimits = { bytes: 64 * 1024 * 1024, look_every_ms: 5_000 }

export interface CheckpointSchedulerOptions {
  readonly limits: WalLimits
  readonly durability: Durability
  readonly log: Log | null
  readonly now: () => number
  /** Whether no unit of work waits for the database. */
  readonly idle: () => boolean
  /** Delays commits, for at most `ms` milliseconds or until `release`. */
  readonly hold: (ms: number) => void
  readonly release: () => void
  /** Receives the error of a pass. */
  readonly failed: (error: unknown) => void
}

/** Fraction of the limit: after so much growth the thread is asked for a pass. */
const PASS = 1 / 16
/** From this fraction on, the log is copied to its end, so that it restarts; without a thread, it is copied here. */
const TURN = 1 / 4
/** The rest that a last pass may copy: `LAST` of the limit for a log of `TURN`, plus `MORE` of the length beyond `TURN`. */
const LAST = 1 / 256
const MORE = 1 / 16
/** Commits do not wait for a slower last pass: the next may be faster. For a log at its limit they wait longer. */
const HOLD_MS = 20
const HOLD_AT_LIMIT_MS = 500
/** A reader that keeps the log this many times over its limit is logged. */
const TOLD_AT = 4
/** The thread ends after this time without work. */
const REST_MS = 60_000

export class CheckpointScheduler implements Disposable {
  readonly #db: SqliteConnection
  readonly #options: CheckpointSchedulerOptions
  readonly #timer: NodeJS.Timeout
  readonly #thread: CheckpointThread
  readonly #stateStatement: Statement<[], { log: number; checkpointed: number }>
  /** The limit in pages. */
  readonly #limit: number
  /** The length of the log at its last check. */
  #checkedPages = 0
  /** Whether commits wait for the current pass. */
  #isLastPass = false
  #isGrowthLogged = false

  constructor(db: SqliteConnection, options: CheckpointSchedulerOptions) {
    const { log } = options
    this.#db = db
    this.#options = options
    this.#limit = options.limits.bytes / (db.pragma('page_size', { simple: true }) as number)
    // Only reports the state, in some microseconds.
    this.#stateStatement = db.prepare('pragma wal_checkpoint(NOOP)')
    this.#thread = new CheckpointThread({ path: db.name, durability: options.durability }, options.now, {
      passEnded: (copied) => this.#endPass((last) => this.#handlePass(copied, last)),
      passFailed: (error) => this.#endPass(() => options.failed(error)),
      threadLost: (err) => this.#endPass(() => log?.error({ err }, `the thread that copies ${db.name}-wal failed`)),
    })
    this.#timer = setInterval(() => this.#safely(() => this.#tick()), options.limits.look_every_ms)
    this.#timer.unref()
  }

  /** Bytes of the log's file; 0: there is none. */
  walBytes(): number {
    return statSync(`${this.#db.name}-wal`, { throwIfNoEntry: false })?.size ?? 0
  }

  /** Must be called after each commit. It never throws. */
  commitDone(): void {
    if (this.#thread.isBusy) return
    this.#safely(() => {
      const { pages } = this.#state()
      if (pages < this.#checkedPages) this.#checkedPages = 0
      const more = pages - this.#checkedPages
      if (!this.#thread.isFailing && more >= this.#limit * PASS) this.#thread.requestPass()
      else if (more >= this.#limit * TURN) this.#checkpointHere()
    })
  }

  /** Starts a pass if the file is longer than the database, which has `bytes`: the end of a pass truncates the file. */
  shrinkDatabaseFile(bytes: number): void {
    this.#safely(() => {
      if (this.#thread.isFailing || (statSync(this.#db.name, { throwIfNoEntry: false })?.size ?? 0) <= bytes) return
      this.#thread.requestPass()
    })
  }

  /** Copies the whole log into the file and truncates the log. It does not wait, so it copies only as much as readers allow. */
  truncateWal(): void {
    const busy_ms = this.#db.pragma('busy_timeout', { simple: true }) as number
    this.#db.pragma('busy_timeout = 0')
    try {
      const { pages, copied } = this.#state()
      // The copy comes first: an emptied log would look like an interrupted checkpoint.
      if (pages > copied) runPassiveCheckpoint(this.#db)
      const [{ busy }] = this.#db.pragma('wal_checkpoint(TRUNCATE)') as [{ busy: 0 | 1 }]
      if (busy === 0) recordCheckpointEnd(commitMarkPath(this.#db.name))
      this.#logGrowth(busy === 1)
    } finally {
      this.#db.pragma(`busy_timeout = ${busy_ms}`)
    }
  }

  /** Ends the thread, so that the store has the last connection; null: there is no thread. */
  endThread(): Promise<unknown> | null {
    clearInterval(this.#timer)
    return this.#thread.end()
  }

  /** Empties the log as far as possible: the rest is read when the database is opened again. */
  [Symbol.dispose](): void {
    clearInterval(this.#timer)
    this.#safely(() => this.truncateWal())
  }

  /** The length of the log and its copied part, in pages. */
  #state(): WalProgress {
    const { log, checkpointed } = this.#stateStatement.get()!
    return { pages: log, copied: checkpointed }
  }

  #tick(): void {
    this.#thread.endIfIdle(REST_MS)
    const { limits, idle } = this.#options
    if (this.#thread.isBusy || this.walBytes() <= limits.bytes || !idle()) return
    const { pages, copied } = this.#state()
    if (pages - copied <= this.#limit * LAST || this.#thread.isFailing) this.truncateWal()
    else this.#thread.requestPass()
  }

  #handlePass(found: WalProgress | null, last: boolean): void {
    const { pages, copied } = this.#state()
    this.#checkedPages = found?.pages ?? pages
    // A pass that another connection prevented says nothing about readers.
    if (found === null) return
    const held = found.copied < found.pages
    this.#logGrowth(held)
    const excess = pages - this.#limit * TURN
    const full = pages >= this.#limit
    if (held || pages === copied || excess < 0) return
    // Commits could not wait, or the disk was slow. The pass is repeated after further growth, but not endlessly.
    if (last && full) this.#checkpointHere()
    if (last) return
    // The next pass copies what was committed during this one, and is therefore shorter.
    this.#isLastPass = full || pages - copied <= this.#limit * LAST + excess * MORE
    if (this.#isLastPass) this.#options.hold(full ? HOLD_AT_LIMIT_MS : HOLD_MS)
    this.#thread.requestPass()
  }

  /** A pass has ended: calls `act`, with whether it was a last pass, and then releases waiting commits. */
  #endPass(act: (last: boolean) => void): void {
    const last = this.#isLastPass
    this.#isLastPass = false
    this.#safely(() => act(last))
    if (last) this.#options.release()
  }

  #checkpointHere(): void {
    runPassiveCheckpoint(this.#db)
    this.#checkedPages = this.#state().pages
  }

  #logGrowth(held: boolean): void {
    const { limits, log } = this.#options
    const large = held && this.walBytes() > limits.bytes * TOLD_AT
    if (large && !this.#isGrowthLogged) {
      const fields = { bytes: this.walBytes() }
      log?.warn(fields, `${this.#db.name}-wal grows: another program has been reading the database for long`)
    }
    this.#isGrowthLogged = large
  }

  #safely(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.#options.failed(error)
    }
  }
}
