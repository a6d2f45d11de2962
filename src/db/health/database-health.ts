// The condition of the database: which fault it has, since when it is refused, and how often the log hears of it.
import { ServiceError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { DamagedKeys, type DamagedRowRecord } from '../integrity/damaged-keys.ts'
import { DamagedRowError } from '../integrity/damaged-row.ts'
import { describeDamages, type StructureDamage } from '../integrity/structure-damage.ts'
import { classifyFault, type DatabaseFault, errorCode, FAULT_ADVICE } from './database-faults.ts'

/** Every request meets the same fault; the log hears of it this often. */
const FAULT_LOG_INTERVAL_MS = 60_000
/** Of so many damaged rows the log hears, once of each. */
const MAX_LOGGED_ROWS = 1_000
const DAMAGED_ROW_ADVICE = 'see what "svc check" finds, and bring a backup back with "svc restore DIR"'
const RETRY_AFTER_SECONDS = '5'

/**
 * Tables of which no row is taken for missing while one of them is damaged, whatever else is known of that one: it would run a submission twice, or remove
 * a file that is needed, which nothing brings back.
 */
const IRREPLACEABLE: ReadonlySet<string> = new Set(['idempotency_key', 'spilled_value'])

export class DatabaseHealth {
  readonly #path: string
  readonly #log: Log | null
  readonly #now: () => number
  readonly #onDamagedRow: () => void
  readonly #faultLoggedAt = new Map<DatabaseFault, number>()
  /** Damaged rows that the log knows of. */
  readonly #loggedRows = new Set<string>()
  readonly #damagedKeys = new DamagedKeys()
  /** Tables that have damaged rows. */
  readonly #tablesWithDamagedRows = new Set<string>()
  /** Tables whose structure is damaged: what is not found in them may be there. */
  readonly #damagedTables = new Set<string>()
  #fault: DatabaseFault | null = null
  #isFaultLogged = false

  /** `suspect` hears when a first damaged row was found: there may be more damage. */
  constructor(path: string, log: Log | null, now: () => number, suspect: () => void = () => {}) {
    this.#onDamagedRow = suspect
    this.#path = path
    this.#log = log
    this.#now = now
  }

  /** What is wrong; null while nothing is. */
  get fault(): DatabaseFault | null {
    return this.#fault
  }

  /** Damage never passes by itself, and writing on would spread it. */
  get isDamaged(): boolean {
    return this.#fault === 'damaged'
  }

  /** Whether a row was found that is not what was written. The others are read and written on. */
  get hasDamagedRows(): boolean {
    return this.#loggedRows.size > 0
  }

  /** Takes note of damage to the structure of tables. It stays, as any damage of the file does. */
  recordStructureDamage(damages: readonly StructureDamage[]): void {
    if (damages.length === 0) return
    for (const { table } of damages) this.#damagedTables.add(table)
    this.recordFault(Object.assign(new Error(describeDamages(damages)), { code: 'SQLITE_CORRUPT' }))
  }

  /** Takes note of damaged rows that were found otherwise than by reading them for somebody. */
  recordDamagedRows(rows: Iterable<DamagedRowRecord>): void {
    for (const row of rows) this.#logDamagedRow(row)
  }

  /**
   * Whether a row that was not found by its key is a damaged one whose key, or owner, reads as another one now. A sound row of another owner is none: who
   * asks for it learns nothing. So neither does the damaged row of one owner take what is missing from all others.
   * @throws DATA_DAMAGED where it is, or where that is not certain and a wrong answer could not be made good
   */
  rejectIfKeyDamaged(table: string, key: object): void {
    if (!this.#tablesWithDamagedRows.has(table)) return
    if (IRREPLACEABLE.has(table) || this.#damagedKeys.has(table, key)) throw new ServiceError('DATA_DAMAGED')
  }

  /**
   * Whether a statement may miss rows that are there.
   * @throws DATA_DAMAGED where it may
   */
  rejectIfIncomplete(sql: string): void {
    if (this.#damagedTables.size === 0) return
    const touched = [...this.#damagedTables].some(
      (table) => table === 'sqlite_schema' || new RegExp(`\\b${table}\\b`).test(sql),
    )
    if (touched) throw new ServiceError('DATA_DAMAGED')
  }

  /** Takes note of a fault and gives what the client is told in its place; any other error comes back as it is. */
  recordFault(error: unknown): unknown {
    if (error instanceof DamagedRowError) return this.#recordDamagedRow(error)
    const fault = classifyFault(error, this.#path)
    if (fault === null) return error
    if (!this.isDamaged) this.#fault = fault
    this.#logFault(fault, error)
    return storeUnavailableError()
  }

  #recordDamagedRow(error: DamagedRowError): ServiceError {
    this.#logDamagedRow(error)
    this.#onDamagedRow()
    return new ServiceError('DATA_DAMAGED')
  }

  #logDamagedRow(found: DamagedRowRecord): void {
    const { table, row } = found
    this.#tablesWithDamagedRows.add(table)
    this.#damagedKeys.add(found)
    const name = `${table} ${row}`
    if (!this.#loggedRows.has(name) && this.#loggedRows.size < MAX_LOGGED_ROWS) {
      this.#loggedRows.add(name)
      this.#log?.error({ table, row }, `${this.#path} has a damaged row, which is not served: ${DAMAGED_ROW_ADVICE}`)
    }
  }

  /** A write was committed: what was wrong is over, unless it was damage. */
  recordWrite(): void {
    if (this.#fault === null || this.isDamaged) return
    this.#fault = null
    if (!this.#isFaultLogged) return
    this.#isFaultLogged = false
    this.#log?.info(`${this.#path} can be written again`)
  }

  #logFault(fault: DatabaseFault, error: unknown): void {
    const last = this.#faultLoggedAt.get(fault)
    if (last !== undefined && this.#now() - last < FAULT_LOG_INTERVAL_MS) return
    this.#faultLoggedAt.set(fault, this.#now())
    this.#isFaultLogged = true
    const reason = error instanceof Error ? error.message : String(error)
    this.#log?.error({ code: errorCode(error), reason }, FAULT_ADVICE[fault](this.#path))
  }
}

/** What a client is told whose commit failed after it may have reached the disk. */
export function outcomeUnknownError(): ServiceError {
  return new ServiceError('OUTCOME_UNKNOWN')
}

/** The cause is in the log already, once; a client gets no part of it. */
export function storeUnavailableError(): ServiceError {
  return new ServiceError('SERVICE_UNAVAILABLE', { headers: { 'Retry-After': RETRY_AFTER_SECONDS } })
}
