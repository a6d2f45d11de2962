// Keeps the health of the database: its fault, its damaged rows, and when they were logged.
import { ServiceError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { DamagedKeys, type DamagedRowRecord } from '../integrity/damaged-keys.ts'
import { DamagedRowError } from '../integrity/damaged-row.ts'
import { describeDamages, type StructureDamage } from '../integrity/structure-damage.ts'
import { classifyFault, type DatabaseFault, errorCode, FAULT_ADVICE } from './database-faults.ts'

/** Milliseconds between two log lines about the same fault, which every request meets. */
const FAULT_LOG_INTERVAL_MS = 60_000
/** The maximum number of damaged rows that are logged, once each. */
const MAX_LOGGED_ROWS = 1_000
const DAMAGED_ROW_ADVICE = 'see what "svc check" finds, and bring a backup back with "svc restore DIR"'
const RETRY_AFTER_SECONDS = '5'

/**
 * While one row of these tables is damaged, no row counts as missing. A wrong answer would run a submission twice, or remove a needed file for good.
 */
const IRREPLACEABLE: ReadonlySet<string> = new Set(['idempotency_key', 'spilled_value'])

export class DatabaseHealth {
  readonly #path: string
  readonly #log: Log | null
  readonly #now: () => number
  readonly #onDamagedRow: () => void
  readonly #faultLoggedAt = new Map<DatabaseFault, number>()
  /** Damaged rows that are logged already. */
  readonly #loggedRows = new Set<string>()
  readonly #damagedKeys = new DamagedKeys()
  readonly #tablesWithDamagedRows = new Set<string>()
  /** Tables whose structure is damaged: rows that are not found may exist. */
  readonly #damagedTables = new Set<string>()
  #fault: DatabaseFault | null = null
  #isFaultLogged = false

  /** `suspect` is called when a damaged row was read: there may be more damage. */
  constructor(path: string, log: Log | null, now: () => number, suspect: () => void = () => {}) {
    this.#onDamagedRow = suspect
    this.#path = path
    this.#log = log
    this.#now = now
  }

  /** The present fault; null: none. */
  get fault(): DatabaseFault | null {
    return this.#fault
  }

  /** Damage never passes by itself, and further writes would spread it. */
  get isDamaged(): boolean {
    return this.#fault === 'damaged'
  }

  /** Whether a damaged row was found. Other rows can still be read and written. */
  get hasDamagedRows(): boolean {
    return this.#loggedRows.size > 0
  }

  /** Records damage to the structure of tables. It stays, as any damage of the file does. */
  recordStructureDamage(damages: readonly StructureDamage[]): void {
    if (damages.length === 0) return
    for (const { table } of damages) this.#damagedTables.add(table)
    this.recordFault(Object.assign(new Error(describeDamages(damages)), { code: 'SQLITE_CORRUPT' }))
  }

  /** Records damaged rows that a check found. */
  recordDamagedRows(rows: Iterable<DamagedRowRecord>): void {
    for (const row of rows) this.#logDamagedRow(row)
  }

  /**
   * Rejects the claim that a row is missing if a damaged row may be it, with a key or owner that reads wrong now. A sound row of another owner does
   * not count, so a request for it learns nothing. Nor does the damaged row of one owner affect others.
   * @throws DATA_DAMAGED if the row is damaged, or if that is uncertain and a wrong answer could not be undone
   */
  rejectIfKeyDamaged(table: string, key: object): void {
    if (!this.#tablesWithDamagedRows.has(table)) return
    if (IRREPLACEABLE.has(table) || this.#damagedKeys.has(table, key)) throw new ServiceError('DATA_DAMAGED')
  }

  /**
   * Rejects a statement that may miss existing rows.
   * @throws DATA_DAMAGED if it may
   */
  rejectIfIncomplete(sql: string): void {
    if (this.#damagedTables.size === 0) return
    const touched = [...this.#damagedTables].some(
      (table) => table === 'sqlite_schema' || new RegExp(`\\b${table}\\b`).test(sql),
    )
    if (touched) throw new ServiceError('DATA_DAMAGED')
  }

  /** Records a fault and returns the error for the client; returns any other error unchanged. */
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

  /** Ends the fault after a committed write, unless it is damage. */
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

/** The error for a client whose commit failed after it may have reached the disk. */
export function outcomeUnknownError(): ServiceError {
  return new ServiceError('OUTCOME_UNKNOWN')
}

/** The log has the cause already; a client learns no part of it. */
export function storeUnavailableError(): ServiceError {
  return new ServiceError('SERVICE_UNAVAILABLE', { headers: { 'Retry-After': RETRY_AFTER_SECONDS } })
}
