// Keeps the write-ahead log small. A thread copies it into the database's file while commits go on; this tells when. SQLite
// begins the log anew once all of it is copied: under constant writes, commits wait for a last short pass of the thread.
import { statSync } from 'node:fs'
import type { Statement } from 'better-sqlite3'
import type { Log } from '../../log.ts'
import type { Durability, SqliteConnection } from '../connection.ts'
import { commitMarkPath, recordCheckpointEnd } from '../loss-detection/commit-mark-file.ts'
import { runPassiveCheckpoint } from './checkpoint.ts'
import { CheckpointThread, type WalProgress } from './checkpoint-thread.ts'

export interface WalLimits {
  /** From this size on, in bytes, the log's file is emptied as soon as the server is idle. The other sizes are parts of it. */
  readonly bytes: number
  readonly look_every_ms: number
}

export const WAL_LIMITS: WalLimits = { bytes: 64 * 1024 * 1024, look_every_ms: 5_000 }

export interface CheckpointSchedulerOptions {
  readonly limits: WalLimits
  readonly durability: Durability
  readonly log: Log | null
  readonly now: () => number
  /** Tells whether nobody waits for the database. */
  readonly idle: () => boolean
  /** Lets commits wait, for so many milliseconds at most or until `release`. */
  readonly hold: (ms: number) => void
  readonly release: () => void
  /** Takes what a pass throws. */
  readonly failed: (error: unknown) => void
}

/** A part of the limit: after so much the thread is asked for a pass. */
const PASS = 1 / 16
/** From here on the log is brought to its end, so that it begins anew; without a thread, it is copied here. */
const TURN = 1 / 4
/** So much may be left for the last pass of a log of `TURN`, and a part of what a larger one is longer besides. */
const LAST = 1 / 256
const MORE = 1 / 16
/** For a last pass that takes longer nobody waits: the next one may be faster. A log at its limit is waited for. */
const HOLD_MS = 20
const HOLD_AT_LIMIT_MS = 500
/** A reader that keeps the log this many times over its limit is told of. */
const TOLD_AT = 4
/** The thread ends after so long without work. */
const REST_MS = 60_000

export class CheckpointScheduler implements Disposable {
  readonly #db: SqliteConnection
  readonly #options: CheckpointSchedulerOptions
  readonly #timer: NodeJS.Timeout
  readonly #thread: CheckpointThread
  readonly #stateStatement: Statement<[], { log: number; checkpointed: number }>
  /** The limit in pages. */
  readonly #limit: number
  /** How long the log was when it was last looked through. */
  #checkedPages = 0
  /** Whether commits wait for the pass that is being made. */
  #isLastPass = false
  #isGrowthLogged = false

  constructor(db: SqliteConnection, options: CheckpointSchedulerOptions) {
    const { log } = options
    this.#db = db
    this.#options = options
    this.#limit = options.limits.bytes / (db.pragma('page_size', { simple: true }) as number)
    // Does nothing but tell, in some microseconds.
    this.#stateStatement = db.prepare('pragma wal_checkpoint(NOOP)')
    this.#thread = new CheckpointThread({ path: db.name, durability: options.durability }, options.now, {
      passEnded: (copied) => this.#endPass((last) => this.#handlePass(copied, last)),
      passFailed: (error) => this.#endPass(() => options.failed(error)),
      threadLost: (err) => this.#endPass(() => log?.error({ err }, `the thread that copies ${db.name}-wal failed`)),
    })
    this.#timer = setInterval(() => this.#safely(() => this.#tick()), options.limits.look_every_ms)
    this.#timer.unref()
  }

  /** Bytes of the log's file; 0 where there is none. */
  walBytes(): number {
    return statSync(`${this.#db.name}-wal`, { throwIfNoEntry: false })?.size ?? 0
  }

  /** To be called after each commit. It never throws. */
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

  /** Has the log copied where the file is longer than the database, which has `bytes`: it is cut at the end of a pass. */
  shrinkDatabaseFile(bytes: number): void {
    this.#safely(() => {
      if (this.#thread.isFailing || (statSync(this.#db.name, { throwIfNoEntry: false })?.size ?? 0) <= bytes) return
      this.#thread.requestPass()
    })
  }

  /** Copies all of the log into the file and gives its room back; without waiting, as much of it as readers allow. */
  truncateWal(): void {
    const busy_ms = this.#db.pragma('busy_timeout', { simple: true }) as number
    this.#db.pragma('busy_timeout = 0')
    try {
      const { pages, copied } = this.#state()
      // Copied first: a log that is emptied must not be missed by what looks for an interrupted copying.
      if (pages > copied) runPassiveCheckpoint(this.#db)
      const [{ busy }] = this.#db.pragma('wal_checkpoint(TRUNCATE)') as [{ busy: 0 | 1 }]
      if (busy === 0) recordCheckpointEnd(commitMarkPath(this.#db.name))
      this.#logGrowth(busy === 1)
    } finally {
      this.#db.pragma(`busy_timeout = ${busy_ms}`)
    }
  }

  /** Ends the thread, for the last connection to be the store's; null where there is none. */
  endThread(): Promise<unknown> | null {
    clearInterval(this.#timer)
    return this.#thread.end()
  }

  /** Leaves an empty log behind, as far as it can: what stays in it is read when the database is opened again. */
  [Symbol.dispose](): void {
    clearInterval(this.#timer)
    this.#safely(() => this.truncateWal())
  }

  /** How long the log is, and how much of it is in the file, in pages. */
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
    // A pass that another connection kept from looking says nothing of readers.
    if (found === null) return
    const held = found.copied < found.pages
    this.#logGrowth(held)
    const excess = pages - this.#limit * TURN
    const full = pages >= this.#limit
    if (held || pages === copied || excess < 0) return
    // Somebody could not wait, or the disk was slow. It is tried again after some more, but not for ever.
    if (last && full) this.#checkpointHere()
    if (last) return
    // What was committed during a pass is left for the next one, which is shorter for that.
    this.#isLastPass = full || pages - copied <= this.#limit * LAST + excess * MORE
    if (this.#isLastPass) this.#options.hold(full ? HOLD_AT_LIMIT_MS : HOLD_MS)
    this.#thread.requestPass()
  }

  /** A pass is over: who waited for it goes on, after `act`, which hears whether it was a last one. */
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
