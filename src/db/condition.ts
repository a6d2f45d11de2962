// The condition of the database: which fault it has, since when it is refused, and how often the log hears of it.
import { ServiceError } from '../errors.ts'
import type { Log } from '../log.ts'
import { DamagedKeys, type FoundRow } from './damaged-keys.ts'
import { DamagedRow } from './damaged-row.ts'
import { ADVICE, codeOf, type Fault, faultOf } from './faults.ts'
import { type StructureDamage, textOf } from './structure.ts'

/** Every request meets the same fault; the log hears of it this often. */
const SAY_AGAIN_MS = 60_000
/** Of so many damaged rows the log hears, once of each. */
const MOST_ROWS = 1_000
const SEE_TO_ROW = 'see what "svc check" finds, and bring a backup back with "svc restore DIR"'
const RETRY_AFTER_SECONDS = '5'

/**
 * Tables of which no row is taken for missing while one of them is damaged, whatever else is known of that one: it would run a submission twice, or remove
 * a file that is needed, which nothing brings back.
 */
const IRREPLACEABLE: ReadonlySet<string> = new Set(['idempotency_key', 'spilled_value'])

export class Condition {
  readonly #path: string
  readonly #log: Log | null
  readonly #now: () => number
  readonly #suspect: () => void
  readonly #said = new Map<Fault, number>()
  /** Damaged rows that the log knows of. */
  readonly #rows = new Set<string>()
  readonly #keys = new DamagedKeys()
  /** Tables that have damaged rows. */
  readonly #tablesOfRows = new Set<string>()
  /** Tables whose structure is damaged: what is not found in them may be there. */
  readonly #tables = new Set<string>()
  #fault: Fault | null = null
  #told = false

  /** `suspect` hears when a first damaged row was found: there may be more damage. */
  constructor(path: string, log: Log | null, now: () => number, suspect: () => void = () => {}) {
    this.#suspect = suspect
    this.#path = path
    this.#log = log
    this.#now = now
  }

  /** What is wrong; null while nothing is. */
  get fault(): Fault | null {
    return this.#fault
  }

  /** Damage never passes by itself, and writing on would spread it. */
  get damaged(): boolean {
    return this.#fault === 'damaged'
  }

  /** Whether a row was found that is not what was written. The others are read and written on. */
  get hasDamagedRows(): boolean {
    return this.#rows.size > 0
  }

  /** Takes note of damage to the structure of tables. It stays, as any damage of the file does. */
  meetStructure(damages: readonly StructureDamage[]): void {
    if (damages.length === 0) return
    for (const { table } of damages) this.#tables.add(table)
    this.meet(Object.assign(new Error(textOf(damages)), { code: 'SQLITE_CORRUPT' }))
  }

  /** Takes note of damaged rows that were found otherwise than by reading them for somebody. */
  meetRows(rows: Iterable<FoundRow>): void {
    for (const row of rows) this.#note(row)
  }

  /**
   * Whether a row that was not found by its key is a damaged one whose key, or owner, reads as another one now. A sound row of another owner is none: who
   * asks for it learns nothing. So neither does the damaged row of one owner take what is missing from all others.
   * @throws DATA_DAMAGED where it is, or where that is not certain and a wrong answer could not be made good
   */
  mayBeDamaged(table: string, key: object): void {
    if (!this.#tablesOfRows.has(table)) return
    if (IRREPLACEABLE.has(table) || this.#keys.has(table, key)) throw new ServiceError('DATA_DAMAGED')
  }

  /**
   * Whether a statement may miss rows that are there.
   * @throws DATA_DAMAGED where it may
   */
  mayMiss(sql: string): void {
    if (this.#tables.size === 0) return
    const touched = [...this.#tables].some(
      (table) => table === 'sqlite_schema' || new RegExp(`\\b${table}\\b`).test(sql),
    )
    if (touched) throw new ServiceError('DATA_DAMAGED')
  }

  /** Takes note of a fault and gives what the client is told in its place; any other error comes back as it is. */
  meet(error: unknown): unknown {
    if (error instanceof DamagedRow) return this.#meetRow(error)
    const fault = faultOf(error, this.#path)
    if (fault === null) return error
    if (!this.damaged) this.#fault = fault
    this.#say(fault, error)
    return unavailable()
  }

  #meetRow(error: DamagedRow): ServiceError {
    this.#note(error)
    this.#suspect()
    return new ServiceError('DATA_DAMAGED')
  }

  #note(found: FoundRow): void {
    const { table, row } = found
    this.#tablesOfRows.add(table)
    this.#keys.add(found)
    const name = `${table} ${row}`
    if (!this.#rows.has(name) && this.#rows.size < MOST_ROWS) {
      this.#rows.add(name)
      this.#log?.error({ table, row }, `${this.#path} has a damaged row, which is not served: ${SEE_TO_ROW}`)
    }
  }

  /** A write was committed: what was wrong is over, unless it was damage. */
  passed(): void {
    if (this.#fault === null || this.damaged) return
    this.#fault = null
    if (!this.#told) return
    this.#told = false
    this.#log?.info(`${this.#path} can be written again`)
  }

  #say(fault: Fault, error: unknown): void {
    const last = this.#said.get(fault)
    if (last !== undefined && this.#now() - last < SAY_AGAIN_MS) return
    this.#said.set(fault, this.#now())
    this.#told = true
    const reason = error instanceof Error ? error.message : String(error)
    this.#log?.error({ code: codeOf(error), reason }, ADVICE[fault](this.#path))
  }
}

/** What a client is told whose commit failed after it may have reached the disk. */
export function outcomeUnknown(): ServiceError {
  return new ServiceError('OUTCOME_UNKNOWN')
}

/** The cause is in the log already, once; a client gets no part of it. */
export function unavailable(): ServiceError {
  return new ServiceError('SERVICE_UNAVAILABLE', { headers: { 'Retry-After': RETRY_AFTER_SECONDS } })
}
