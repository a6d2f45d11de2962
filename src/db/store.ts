// The database as a value: one connection, synchronous reads, and writes that share transactions. It puts the parts
// together: how it is opened, what a unit may do, how commits are shared, faults of the disk, and the size of the
// write-ahead log are files of their own. What the rows mean is left to the repositories.
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
  /** Hears of faults, of their end, and of what the durability risks. */
  log?: Log
  /** Milliseconds of a clock that never goes back. */
  now?: () => number
  wal?: WalLimits
  /** Damages of the structure that are known already. */
  damages?: readonly StructureDamage[]
  /** Hears of each commit: how long it took, in milliseconds, and how many units it held. */
  onCommitted?: (ms: number, units: number) => void
}

/** So long after its last write the server counts as idle. */
const IDLE_MS = 200
/**
 * So much of a transaction is kept in memory until its commit, in KiB. What SQLite writes before costs three times as much of the main thread. A
 * transaction takes up no more than about 2 MB and one unit.
 */
const KEPT_KIB = 262_144
/** So often a write is tried to learn whether a fault has passed. */
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
      onCallbackError: (error) => log?.error({ err: error }, 'what follows a commit failed'),
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
   * Opens and migrates the database at `path` (`:memory:` for one that is not kept).
   * @throws StartError in one clear line: not a database, not ours, damaged, from a newer version, not writable
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

  /** How many statements units have executed since the store was opened, for tests that compare what two requests do. */
  get statements(): number {
    return this.#statements.count
  }

  /** What keeps the database from being written, as far as is known; null while nothing does. */
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
   * Runs a read at once. It sees everything that has been committed.
   * @throws SERVICE_UNAVAILABLE where the file cannot be read, or the store is closed: work in slices may go on while the server stops; DATA_DAMAGED where a row is
   * not what was written
   */
  read<T>(unit: UnitOfWork<T>): T {
    try {
      return unit(this.#statements)
    } catch (error) {
      throw this.#db.open ? this.#health.recordFault(error) : storeUnavailableError()
    }
  }

  /**
   * Runs `unit` in the next transaction, together with what else is asked for in this round of the event loop and the
   * next, and settles after the commit. A unit that throws is undone alone.
   * @throws SERVICE_UNAVAILABLE where the file cannot be written, or the store is closed; what is in it is then as it was before
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

  /** Commits what is waiting, at once. It never throws: each unit's own callback hears how it went. */
  flush(): void {
    this.#groupCommit.flush()
  }

  /**
   * Runs `unit` as a write of its own if there is reason to ask whether the file can be written: a fault that may have
   * passed, or a file system that says so. At most every two seconds. Afterwards `fault` says what came of it.
   */
  retryWriteIfFaulty(unit: (tx: Tx) => void): void {
    if (this.#path === IN_MEMORY || (this.fault === null && findWriteObstacle(this.#path) === null)) return
    if (this.#health.isDamaged || this.#now() - this.#lastTrialAt < TRY_EVERY_MS) return
    this.#lastTrialAt = this.#now()
    this.flush()
    this.writeThen(unit, () => {})
    this.flush()
  }

  /** Whether the file gets shorter when rows are removed. One that an older version made does not. */
  get canShrink(): boolean {
    return this.#space.canShrink
  }

  /** What the database takes on the disk. */
  get space(): DatabaseSize {
    return this.#space.measure()
  }

  /**
   * Gives at most `pages` of the free pages that are too many back to the file system, and settles after the commit: with how long it took before,
   * in milliseconds. Null where there are none; the file is then made as short as the database is, which happens when the log is copied into it.
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

  /** Every table, index and trigger as SQL, in a stable order. */
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
