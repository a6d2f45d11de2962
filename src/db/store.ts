// The database as a value: one connection, synchronous reads, and writes that share transactions. It composes opening, units of work, group commits,
// fault handling and checkpoints, each of which has a file of its own. Repositories know what the rows mean.
import type { Log } from '../log.ts'
import type { Durability, SqliteConnection } from './connection.ts'
import { type DatabaseSize, FreePageSpace } from './files/database-size.ts'
import { GroupCommit } from './group-commit.ts'
import { type DatabaseFault, findWriteObstacle } from './health/database-faults.ts'
import { DatabaseHealth, storeUnavailableError } from './health/database-health.ts'
import { StructureCheckThread } from './integrity/structure-check-thread.ts'
import { findRowDamages, type StructureDamage } from './integrity/structure-damage.ts'
import { CommitNumbering } from './loss-detection/commit-numbering.ts'
import { dumpSchema, IN_MEMORY, isLargeDatabase, openDatabase } from './open-database.ts'
import { TransactionStatements, type Tx, type UnitOfWork } from './transaction.ts'
import { clearFinishedCheckpoint } from './wal/checkpoint.ts'
import { CheckpointScheduler, WAL_LIMITS, type WalLimits } from './wal/checkpoint-scheduler.ts'
import { hasWal } from './wal/wal-file.ts'

export type { Tx, UnitOfWork } from './transaction.ts'

export interface StoreOptions {
  durability?: Durability
  /** Receives faults, their end, and the risk of the durability setting. */
  log?: Log
  /** Milliseconds of a monotonic clock. */
  now?: () => number
  wal?: WalLimits
  /** Damages of the structure that are known already. */
  damages?: readonly StructureDamage[]
  /** Receives the duration of each commit in milliseconds, and its number of units. */
  onCommitted?: (ms: number, units: number) => void
}

/** Milliseconds after the last write until the server counts as idle. */
const IDLE_MS = 200
/**
 * How much of a transaction stays in memory until its commit, in KiB. Spilling earlier costs the main thread three times as much. A transaction takes
 * no more than about 2 MB and one unit.
 */
const KEPT_KIB = 262_144
/** How often a write is tried during a fault, in milliseconds. */
const TRY_EVERY_MS = 2_000

export class Store implements AsyncDisposable {
  readonly #db: SqliteConnection
  readonly #path: string
  readonly #statements: TransactionStatements
  readonly #groupCommit: GroupCommit
  readonly #health: DatabaseHealth
  readonly #checkpoints: CheckpointScheduler | null
  readonly #space: FreePageSpace
  readonly #commitNumbering: CommitNumbering | null
  readonly #structureCheck: StructureCheckThread | null
  readonly #now: () => number
  #lastTrialAt = Number.NEGATIVE_INFINITY
  #closed: Promise<void> | null = null

  private constructor(db: SqliteConnection, path: string, options: StoreOptions) {
    const { log = null, now = () => performance.now(), durability = 'full', wal = WAL_LIMITS } = options
    const condition = new DatabaseHealth(path, log, now, () => this.#structureCheck?.start())
    db.pragma(`cache_spill = -${KEPT_KIB}`)
    this.#db = db
    this.#path = path
    this.#now = now
    this.#health = condition
    this.#statements = new TransactionStatements(db, {
      rowSkipped: (row) => void condition.recordFault(row),
      rejectIfKeyDamaged: (table, key) => condition.rejectIfKeyDamaged(table, key),
      rejectIfIncomplete: (sql) => condition.rejectIfIncomplete(sql),
    })
    this.#space = new FreePageSpace(db)
    const unmarked = (err: unknown) =>
      log?.error({ err }, `the mark of the last commit beside ${path} cannot be written: a loss may stay unknown`)
    this.#commitNumbering = path === IN_MEMORY ? null : new CommitNumbering(db, durability, unmarked)
    this.#groupCommit = new GroupCommit(db, this.#statements, {
      health: condition,
      now,
      onCommitted: (ms, units) => {
        options.onCommitted?.(ms, units)
        this.#checkpoints?.commitDone()
      },
      onCallbackError: (error) => log?.error({ err: error }, 'a callback after a commit failed'),
      mark: this.#commitNumbering ?? undefined,
    })
    const failed = (err: unknown) => {
      if (condition.recordFault(err) === err) log?.error({ err }, 'the write-ahead log could not be copied')
    }
    this.#structureCheck =
      path === IN_MEMORY
        ? null
        : new StructureCheckThread({
            path,
            onFound: ({ structure, rows }) => {
              condition.recordDamagedRows(rows)
              condition.recordStructureDamage(structure)
            },
            onFailed: (err) => log?.warn({ err }, `the structure of ${path} could not be checked`),
          })
    const idle = () => this.#groupCommit.isIdleFor(IDLE_MS)
    const hold = (ms: number) => this.#groupCommit.hold(ms)
    const release = () => this.#groupCommit.release()
    const keeping = { limits: wal, durability, log, now, idle, hold, release, failed }
    this.#checkpoints = path === IN_MEMORY ? null : new CheckpointScheduler(db, keeping)
  }

  /**
   * Opens and migrates the database at `path` (`:memory:` for a temporary one).
   * @throws StartError in one clear line: not a database, of another program, damaged, from a newer version, not writable
   */
  static async open(path: string, options: StoreOptions = {}): Promise<Store> {
    const { durability = 'full', log = null, wal = WAL_LIMITS, damages = [] } = options
    const store = new Store(await openDatabase(path, { durability, wal_bytes: wal.bytes, log }), path, options)
    store.#health.recordStructureDamage(damages)
    if (isLargeDatabase(path)) store.#structureCheck?.start()
    else if (path !== IN_MEMORY) store.#health.recordDamagedRows(findRowDamages(store.#db))
    if (durability === 'normal')
      log?.warn('SVC_DURABILITY is normal: a power cut may take back acknowledged work of the last moments')
    return store
  }

  /** The number of statements that were executed since the store was opened, for tests that compare requests. */
  get statements(): number {
    return this.#statements.count
  }

  /** The known fault that keeps the database from being written; null: none. */
  get fault(): DatabaseFault | null {
    return this.#health.fault
  }

  /** Whether the database ends with the process. */
  get in_memory(): boolean {
    return this.#path === IN_MEMORY
  }

  /** Whether a damaged row was met since the store was opened. */
  get hasDamagedRows(): boolean {
    return this.#health.hasDamagedRows
  }

  /**
   * Runs a read at once, on everything that is committed.
   * @throws SERVICE_UNAVAILABLE if the file cannot be read or the store is closed, since work in slices may continue while the server stops;
   * DATA_DAMAGED for a damaged row
   */
  read<T>(unit: UnitOfWork<T>): T {
    try {
      return unit(this.#statements)
    } catch (error) {
      throw this.#db.open ? this.#health.recordFault(error) : storeUnavailableError()
    }
  }

  /**
   * Runs `unit` in the next transaction, together with other units of this round of the event loop and the next, and settles after the commit. A unit
   * that throws is undone alone.
   * @throws SERVICE_UNAVAILABLE if the file cannot be written or the store is closed; the data is then unchanged
   */
  write<T>(unit: UnitOfWork<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.writeThen(unit, (error, value) => (error === null ? resolve(value as T) : reject(error)))
    })
  }

  /** As `write`, with a callback that runs synchronously after the commit, in the order of the calls. */
  writeThen<T>(unit: UnitOfWork<T>, done: (error: unknown, value: T | undefined) => void): void {
    this.#groupCommit.add(unit, done)
  }

  /** Commits waiting units at once. It never throws: each unit's callback receives the outcome. */
  flush(): void {
    this.#groupCommit.flush()
  }

  /**
   * Runs `unit` as a write of its own if a fault may have passed, or the file system reports an obstacle. It does so at most every two seconds, and
   * then updates `fault`.
   */
  retryWriteIfFaulty(unit: (tx: Tx) => void): void {
    if (this.#path === IN_MEMORY || (this.fault === null && findWriteObstacle(this.#path) === null)) return
    if (this.#health.isDamaged || this.#now() - this.#lastTrialAt < TRY_EVERY_MS) return
    this.#lastTrialAt = this.#now()
    this.flush()
    this.writeThen(unit, () => {})
    this.flush()
  }

  /** Whether the file shrinks when rows are removed. Files of older versions do not. */
  get canShrink(): boolean {
    return this.#space.canShrink
  }

  /** The size of the database on the disk. */
  get space(): DatabaseSize {
    return this.#space.measure()
  }

  /**
   * Gives at most `pages` excess free pages back to the file system. Returns, after the commit, the milliseconds that this took. Null: there are
   * none; the next checkpoint then shortens the file to the size of the database.
   */
  async releaseFreePages(pages: number): Promise<number | null> {
    const excess = this.#space.countExcessPages()
    if (excess > 0)
      return this.write(() => {
        const began = performance.now()
        this.#space.releasePages(Math.min(pages, excess))
        return performance.now() - began
      })
    const { pages: kept, page_bytes } = this.#space.measure()
    this.#checkpoints?.shrinkDatabaseFile(kept * page_bytes)
    return null
  }

  /** The value of a pragma, for tests. */
  pragma(name: 'synchronous' | 'journal_mode' | 'foreign_keys'): unknown {
    return this.#db.pragma(name, { simple: true })
  }

  dumpSchema(): string {
    return dumpSchema(this.#db)
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#groupCommit.close()
    await this.#structureCheck?.[Symbol.asyncDispose]()
    const ending = this.#checkpoints?.endThread()
    if (ending) await ending
    this.#checkpoints?.[Symbol.dispose]()
    const path = this.#path
    const hadLog = path !== IN_MEMORY && hasWal(path)
    this.#db.close()
    if (hadLog) clearFinishedCheckpoint(path)
    this.#commitNumbering?.[Symbol.dispose]()
  }
}
