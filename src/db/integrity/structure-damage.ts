// Checks the structure of a database: whether each row is where an order or an index leads to. With a damaged structure, existing rows are missed,
// which no checksum of a row reveals. Faults inside a row are left to its checksum.

import type { SqliteConnection } from '../connection.ts'
import { errorCode, isDamagedFile } from '../health/database-faults.ts'
import { DamagedRowBudget, type DamagedRowRecord } from './damaged-keys.ts'
import { DamagedRowError } from './damaged-row.ts'
import { CHECKSUM_COLUMNS, isChecksumValid, TABLE_NAMES, type TableName } from './row-checksum.ts'

/** A damage of the structure of a table or of its indexes. */
export interface StructureDamage {
  readonly table: string
  readonly text: string
}

/** The first damage in one line, and the number of further tables. */
export function describeDamages(damages: readonly StructureDamage[]): string {
  const { table, text } = damages[0]!
  return `${table}: ${text}${damages.length > 1 ? `, and ${damages.length - 1} more tables` : ''}`
}

/** The damages of a database: of the structure of tables, and of single rows. */
export interface DatabaseDamages {
  readonly structure: readonly StructureDamage[]
  readonly rows: readonly DamagedRowRecord[]
}

/** Checks the structure and all rows. */
export function findDamages(db: SqliteConnection): DatabaseDamages {
  return { structure: findStructureDamages(db), rows: findRowDamages(db) }
}

/** The first damaged rows. */
export function findRowDamages(db: SqliteConnection): DatabaseDamages['rows'] {
  const rows: DamagedRowRecord[] = []
  const budget = new DamagedRowBudget()
  try {
    for (const { table, row, values } of iterateDamagedRows(db))
      if (rows.push({ table, row, values: budget.keepIfFits(values) }) >= MAX_DAMAGED_ROWS) break
  } catch (error) {
    if (!isDamagedFile(error)) throw error
  }
  return rows
}

/** The maximum number of damaged rows that are reported. */
const MAX_DAMAGED_ROWS = 1_000

/** Every damaged row. A table that cannot be read to its end is a structure damage. */
export function* iterateDamagedRows(db: SqliteConnection): Iterable<DamagedRowError> {
  for (const table of TABLE_NAMES) {
    const rows = db.prepare(`select * from "${table}" not indexed`).iterate() as Iterable<Record<string, unknown>>
    for (const row of rows) if (!isChecksumValid(table, row)) yield new DamagedRowError(table, row)
  }
}

/** Checks all tables and their indexes; `db` must not have the functions of the service. Returns the first damage of each table. */
export function findStructureDamages(db: SqliteConnection): StructureDamage[] {
  const names = db.prepare("select name from sqlite_schema where type = 'table'").pluck().all() as string[]
  const damages: StructureDamage[] = []
  for (const table of ['sqlite_schema', ...names]) {
    const text = findTableDamage(db, table)
    if (text !== null) damages.push({ table, text })
  }
  return damages
}

/** SQLite's heading of findings about pages. */
const HEADING = /^\*\*\* in database \w+ \*\*\*$/

function findTableDamage(db: SqliteConnection, table: string): string | null {
  try {
    const lines = db.pragma(`integrity_check("${table.replaceAll('"', '""')}")`) as { integrity_check: string }[]
    const texts = lines.flatMap(({ integrity_check }) => integrity_check.split('\n'))
    return texts.find((text) => text !== 'ok' && !HEADING.test(text) && !isRowContentFinding(db, table, text)) ?? null
  } catch (error) {
    return `${(error as Error).message} (${errorCode(error)})`
  }
}

/** Whether a finding is about the content of a row, which may be damaged so that its checksum tells. */
function isRowContentFinding(db: SqliteConnection, table: string, text: string): boolean {
  if (/^(NULL value in|NUMERIC value in|TEXT value in|non-\w+ value in|CHECK constraint failed)/.test(text)) return true
  const missing = /^row (\d+) missing from index/.exec(text)
  if (missing === null || !(table in CHECKSUM_COLUMNS)) return false
  const scan = db.prepare(`select * from "${table}" not indexed limit 1 offset ?`)
  const row = scan.get(Number(missing[1]) - 1) as Record<string, unknown> | undefined
  return row !== undefined && !isChecksumValid(table as TableName, row)
}
