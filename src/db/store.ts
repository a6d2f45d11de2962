// The database as a value: one connection, synchronous reads, and writes that share transactions. It puts the parts
// together: how it is opened, what a unit may do, how commits are shared, faults of the disk, and the size of the
// write-ahead log are files of their own. What the rows mean is left to the repositories.
import type { Log } from '../log.ts'
import { CommitMark } from './commit-mark.ts'
import { Condition, unavailable } from './condition.ts'
import type { Connection, Durability } from './connection.ts'
import { settleCopying } from './copying.ts'
import { type Fault, obstacle } from './faults.ts'
import { GroupCommit } from './group-commit.ts'
import { hasLog } from './log-file.ts'
import { IN_MEMORY, isLarge, openDatabase, schemaOf } from './open.ts'
import { type DatabaseSpace, Space } from './space.ts'
import { rowDamages, type StructureDamage } from './structure.ts'
import { StructureCheck } from './structure-check.ts'
import { Statements, type Tx, type Unit } from './tx.ts'
import { WAL_LIMITS, WalKeeper, type WalLimits } from './wal.ts'

export type { Tx, Unit } from './tx.ts'

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
  committed?: (ms: number, units: number) => void
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
  readonly #db: Connection
  readonly #path: string
  readonly #statements: Statements
  readonly #group: GroupCommit
  readonly #condition: Condition
  readonly #wal: WalKeeper | null
  readonly #space: Space
  readonly #mark: CommitMark | null
  readonly #structure: StructureCheck | null
  readonly #now: () => number
  #triedAt = Number.NEGATIVE_INFINITY
  #closed: Promise<void> | null = null

  private constructor(db: Connection, path: string, options: StoreOptions) {
    const { log = null, now = () => performance.now(), durability = 'full', wal = WAL_LIMITS } = options
    const condition = new Condition(path, log, now, () => this.#structure?.start())
    db.pragma(`cache_spill = -${KEPT_KIB}`)
    this.#db = db
    this.#path = path
    this.#now = now
    this.#condition = condition
    this.#statements = new Statements(db, {
      leftOut: (row) => void condition.meet(row),
      mayBeDamaged: (table, key) => condition.mayBeDamaged(table, key),
      mayMiss: (sql) => condition.mayMiss(sql),
    })
    this.#space = new Space(db)
    const unmarked = (err: unknown) =>
      log?.error({ err }, `the mark of the last commit beside ${path} cannot be written: a loss may stay unknown`)
    this.#mark = path === IN_MEMORY ? null : new CommitMark(db, durability, unmarked)
    this.#group = new GroupCommit(db, this.#statements, {
      condition,
      now,
      committed: (ms, units) => {
        options.committed?.(ms, units)
        this.#wal?.wrote()
      },
      broken: (error) => log?.error({ err: error }, 'what follows a commit failed'),
      mark: this.#mark ?? undefined,
    })
    const failed = (err: unknown) => {
      if (condition.meet(err) === err) log?.error({ err }, 'the write-ahead log could not be copied')
    }
    this.#structure =
      path === IN_MEMORY
        ? null
        : new StructureCheck({
            path,
            found: ({ structure, rows }) => {
              condition.meetRows(rows)
              condition.meetStructure(structure)
            },
            failed: (err) => log?.warn({ err }, `the structure of ${path} could not be checked`),
          })
    const idle = () => this.#group.idleFor(IDLE_MS)
    const hold = (ms: number) => this.#group.hold(ms)
    const release = () => this.#group.release()
    const keeping = { limits: wal, durability, log, now, idle, hold, release, failed }
    this.#wal = path === IN_MEMORY ? null : new WalKeeper(db, keeping)
  }

  /**
   * Opens and migrates the database at `path` (`:memory:` for one that is not kept).
   * @throws StartError in one clear line: not a database, not ours, damaged, from a newer version, not writable
   */
  static async open(path: string, options: StoreOptions = {}): Promise<Store> {
    const { durability = 'full', log = null, wal = WAL_LIMITS, damages = [] } = options
    const store = new Store(await openDatabase(path, { durability, wal_bytes: wal.bytes, log }), path, options)
    store.#condition.meetStructure(damages)
    if (isLarge(path)) store.#structure?.start()
    else if (path !== IN_MEMORY) store.#condition.meetRows(rowDamages(store.#db))
    if (durability === 'normal')
      log?.warn('SVC_DURABILITY is normal: a power cut may take back acknowledged work of the last moments')
    return store
  }

  /** How many statements units have executed since the store was opened, for tests that compare what two requests do. */
  get statements(): number {
    return this.#statements.count
  }

  /** What keeps the database from being written, as far as is known; null while nothing does. */
  get fault(): Fault | null {
    return this.#condition.fault
  }

  /** Whether the database ends with the process. */
  get in_memory(): boolean {
    return this.#path === IN_MEMORY
  }

  /** Whether a damaged row was met since the store was opened. */
  get hasDamagedRows(): boolean {
    return this.#condition.hasDamagedRows
  }

  /**
   * Runs a read at once. It sees everything that has been committed.
   * @throws SERVICE_UNAVAILABLE where the file cannot be read, or the store is closed: work in slices may go on while the server stops; DATA_DAMAGED where a row is
   * not what was written
   */
  read<T>(unit: Unit<T>): T {
    try {
      return unit(this.#statements)
    } catch (error) {
      throw this.#db.open ? this.#condition.meet(error) : unavailable()
    }
  }

  /**
   * Runs `unit` in the next transaction, together with what else is asked for in this round of the event loop and the
   * next, and settles after the commit. A unit that throws is undone alone.
   * @throws SERVICE_UNAVAILABLE where the file cannot be written, or the store is closed; what is in it is then as it was before
   */
  write<T>(unit: Unit<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.writeThen(unit, (error, value) => (error === null ? resolve(value as T) : reject(error)))
    })
  }

  /** As `write`, with a callback that runs synchronously after the commit, in the order of the calls. */
  writeThen<T>(unit: Unit<T>, done: (error: unknown, value: T | undefined) => void): void {
    this.#group.add(unit, done)
  }

  /** Commits what is waiting, at once. It never throws: each unit's own callback hears how it went. */
  flush(): void {
    this.#group.flush()
  }

  /**
   * Runs `unit` as a write of its own if there is reason to ask whether the file can be written: a fault that may have
   * passed, or a file system that says so. At most every two seconds. Afterwards `fault` says what came of it.
   */
  tryWriting(unit: (tx: Tx) => void): void {
    if (this.#path === IN_MEMORY || (this.fault === null && obstacle(this.#path) === null)) return
    if (this.#condition.damaged || this.#now() - this.#triedAt < TRY_EVERY_MS) return
    this.#triedAt = this.#now()
    this.flush()
    this.writeThen(unit, () => {})
    this.flush()
  }

  /** Whether the file gets shorter when rows are removed. One that an older version made does not. */
  get canShrink(): boolean {
    return this.#space.canShrink
  }

  /** What the database takes on the disk. */
  get space(): DatabaseSpace {
    return this.#space.now()
  }

  /**
   * Gives at most `pages` of the free pages that are too many back to the file system, and settles after the commit: with how long it took before,
   * in milliseconds. Null where there are none; the file is then made as short as the database is, which happens when the log is copied into it.
   */
  async giveBack(pages: number): Promise<number | null> {
    const excess = this.#space.excess()
    if (excess > 0)
      return this.write(() => {
        const began = performance.now()
        this.#space.release(Math.min(pages, excess))
        return performance.now() - began
      })
    const { pages: kept, page_bytes } = this.#space.now()
    this.#wal?.cut(kept * page_bytes)
    return null
  }

  /** The value of a pragma, for tests. */
  pragma(name: 'synchronous' | 'journal_mode' | 'foreign_keys'): unknown {
    return this.#db.pragma(name, { simple: true })
  }

  /** Every table, index and trigger as SQL, in a stable order. */
  dumpSchema(): string {
    return schemaOf(this.#db)
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#group.close()
    await this.#structure?.[Symbol.asyncDispose]()
    const ending = this.#wal?.end()
    if (ending) await ending
    this.#wal?.[Symbol.dispose]()
    const path = this.#path
    const hadLog = path !== IN_MEMORY && hasLog(path)
    this.#db.close()
    if (hadLog) settleCopying(path)
    this.#mark?.[Symbol.dispose]()
  }
}
