// Units of work that share transactions. Units of one round of the event loop, or the next, are committed together, and a failed unit is undone
// alone. A transaction that is long or writes much takes no further units.
import type Database from 'better-sqlite3'
import type { SqliteConnection } from './connection.ts'
import { errorCode } from './health/database-faults.ts'
import { type DatabaseHealth, outcomeUnknownError, storeUnavailableError } from './health/database-health.ts'
import type { CommitNumbering } from './loss-detection/commit-numbering.ts'
import type { TransactionStatements, UnitOfWork } from './transaction.ts'

export interface GroupCommitOptions {
  readonly health: DatabaseHealth
  readonly now: () => number
  /** Receives the duration of each commit in milliseconds, and its number of units. */
  readonly onCommitted: (ms: number, units: number) => void
  /** Receives the error of a callback that threw. */
  readonly onCallbackError: (error: unknown) => void
  /** Absent: no file beside the database names the last commit. */
  readonly mark?: CommitNumbering | undefined
}

/** After this many milliseconds a transaction takes no further unit. The rest waits for a later turn of the event loop. */
const LONG_MS = 5
/** The same after about this many written bytes. The commit writes each byte once more: a megabyte takes some 2 ms plus the time of the disk. */
const LARGE_BYTES = 2_000_000

interface PendingUnit {
  unit: UnitOfWork<unknown>
  value: unknown
  error: unknown
  failed: boolean
  done(entry: PendingUnit): void
}

export class GroupCommit {
  readonly #db: SqliteConnection
  readonly #tx: TransactionStatements
  readonly #begin: Database.Statement
  readonly #commit: Database.Statement
  readonly #options: GroupCommitOptions
  #pending: PendingUnit[] = []
  #scheduled = false
  #held: NodeJS.Timeout | null = null
  /** Whether a commit was due while commits were held. */
  #isOverdue = false
  #needsRollback = false
  /** Whether a commit failed in these attempts after it may have reached the disk. */
  #isOutcomeUnknown = false
  #closed = false
  /** The number of units that the last transaction began, and of those that did not throw. */
  #startedUnits = 0
  #finishedUnits = 0
  #wroteAt = Number.NEGATIVE_INFINITY

  constructor(db: SqliteConnection, tx: TransactionStatements, options: GroupCommitOptions) {
    this.#db = db
    this.#tx = tx
    this.#options = options
    this.#begin = db.prepare('BEGIN IMMEDIATE')
    this.#commit = db.prepare('COMMIT')
  }

  add<T>(unit: UnitOfWork<T>, done: (error: unknown, value: T | undefined) => void): void {
    this.#pending.push({
      unit,
      value: undefined,
      error: null,
      failed: false,
      done: (entry) => done(entry.failed ? entry.error : null, entry.value as T | undefined),
    })
    this.#schedule()
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    // One more round gathers requests that have arrived meanwhile: with ten connections it saves a tenth of the time of a run.
    setImmediate(() => setImmediate(() => this.#runScheduled()))
  }

  /** Delays due commits until `release`, or for `ms`. A flush is not delayed. */
  hold(ms: number): void {
    this.#held ??= setTimeout(() => this.release(), ms)
  }

  release(): void {
    if (this.#held === null) return
    clearTimeout(this.#held)
    this.#held = null
    if (this.#isOverdue) this.#commitDue()
  }

  #runScheduled(): void {
    this.#scheduled = false
    this.#commitDue()
  }

  #commitDue(): void {
    this.#isOverdue = false
    if (this.#held === null && this.#pending.length > 0) this.#commitSome()
    if (this.#pending.length === 0) return
    if (this.#held === null) this.#schedule()
    else this.#isOverdue = true
  }

  /** Commits all units that wait now. */
  flush(): void {
    this.#isOverdue = false
    for (let left = this.#pending.length; left > 0 && this.#pending.length > 0; ) left -= this.#commitSome()
  }

  /** Commits as many waiting units as fit into one transaction, and returns their number. */
  #commitSome(): number {
    const batch = this.#pending
    this.#pending = []
    this.#isOutcomeUnknown = false
    const count = this.#commitTogether(batch) || this.#commitApart(batch.slice(0, this.#startedUnits || batch.length))
    if (count < batch.length) this.#pending = [...batch.slice(count), ...this.#pending]
    this.#wroteAt = this.#options.now()
    for (let at = 0; at < count; at++) this.#settle(batch[at]!)
    return count
  }

  /** Whether no unit waits, and nothing was written in the last `ms`. */
  isIdleFor(ms: number): boolean {
    return this.#pending.length === 0 && this.#options.now() - this.#wroteAt > ms
  }

  /** Commits waiting units. Later units fail with SERVICE_UNAVAILABLE, since requests and jobs may be under way while the server stops. */
  close(): void {
    this.release()
    this.flush()
    this.#closed = true
  }

  /**
   * Commits units of a failed transaction, and returns their number. If a unit threw, the units before it are still committed together. The unit
   * itself follows alone, perhaps in a later turn, as the first of the rest.
   */
  #commitApart(begun: readonly PendingUnit[]): number {
    const threw = this.#finishedUnits < this.#startedUnits
    const together = threw && begun.length > 1 ? this.#commitTogether(begun.slice(0, -1)) : 0
    if (together > 0) return together
    for (const entry of begun) this.#commitTogether([entry])
    return begun.length
  }

  /**
   * One transaction for all units, or for as many as time and size permit. Returns their number; 0, with nothing written: a unit or the commit
   * failed.
   */
  #commitTogether(batch: readonly PendingUnit[]): number {
    const { health } = this.#options
    const { writes } = this.#tx
    try {
      const count = this.#run(batch)
      // A transaction without changes succeeds even on a full disk.
      if (this.#tx.writes > writes) health.recordWrite()
      return count
    } catch (error) {
      this.#rollback()
      if (batch.length > 1) return 0
      const met = health.recordFault(error) ?? new Error('the unit threw nothing')
      const isFault = met !== error
      const failure = isFault && this.#isOutcomeUnknown ? outcomeUnknownError() : met
      // The result of the unit is not stored, because its transaction failed.
      for (const entry of batch) Object.assign(entry, { failed: true, error: failure, value: undefined })
      return batch.length
    }
  }

  #run(batch: readonly PendingUnit[]): number {
    this.#startedUnits = 0
    this.#finishedUnits = 0
    if (this.#closed) throw storeUnavailableError()
    if (this.#options.health.isDamaged) throw storeUnavailableError()
    if (this.#needsRollback) this.#rollback()
    const started = this.#options.now()
    const { mark } = this.#options
    const { writes, bytes } = this.#tx
    this.#begin.run()
    for (const entry of batch) {
      if (this.#finishedUnits > 0 && this.#isFull(started, bytes)) break
      this.#startedUnits++
      entry.value = entry.unit(this.#tx)
      // Code after the first `await` would write outside of the transaction.
      if (entry.value instanceof Promise) throw new Error('a unit of work must not be asynchronous')
      this.#finishedUnits++
    }
    const isMarked = mark !== undefined && this.#tx.writes > writes
    if (isMarked) mark.numberTransaction()
    try {
      this.#commit.run()
    } catch (error) {
      // The frames of the commit may be in the write-ahead log although their sync failed: the next process may find them.
      this.#isOutcomeUnknown ||= errorCode(error).startsWith('SQLITE_IOERR')
      throw error
    }
    if (isMarked) mark.recordCommit()
    this.#options.onCommitted(this.#options.now() - started, this.#finishedUnits)
    return this.#finishedUnits
  }

  #isFull(started: number, bytes: number): boolean {
    return this.#tx.bytes - bytes >= LARGE_BYTES || this.#options.now() - started >= LONG_MS
  }

  #rollback(): void {
    try {
      if (this.#db.inTransaction) this.#db.exec('ROLLBACK')
      this.#needsRollback = false
    } catch (error) {
      // The next transaction cannot begin before this one is rolled back, so it tries again.
      this.#needsRollback = true
      this.#options.health.recordFault(error)
    }
  }

  // A callback that throws must neither keep other callbacks from being called, nor end the process.
  #settle(entry: PendingUnit): void {
    try {
      entry.done(entry)
    } catch (error) {
      this.#options.onCallbackError(error)
    }
  }
}
