// The structure of a database: whether each row is where an order or an index leads to. Where it is damaged, rows are missed that are
// there, which no checksum of a row can tell. What is wrong inside a row is left to its checksum.
import { COVERED, isSound, TABLES, type Table } from './checksum.ts'
import type { Connection } from './connection.ts'
import { DamagedRowRoom, type FoundRow } from './damaged-keys.ts'
import { DamagedRow } from './damaged-row.ts'
import { codeOf, isDamagedFile } from './faults.ts'

/** What is wrong with the structure of a table or of its indexes. */
export interface StructureDamage {
  readonly table: string
  readonly text: string
}

/** The first of them in one line, and how many tables there are. */
export function textOf(damages: readonly StructureDamage[]): string {
  const { table, text } = damages[0]!
  return `${table}: ${text}${damages.length > 1 ? `, and ${damages.length - 1} more tables` : ''}`
}

/** What was found in a database: damage to the structure of tables, and rows that are not what was written. */
export interface FoundDamages {
  readonly structure: readonly StructureDamage[]
  readonly rows: readonly FoundRow[]
}

/** Looks through the structure and through all rows. */
export function contentDamages(db: Connection): FoundDamages {
  return { structure: structureDamages(db), rows: rowDamages(db) }
}

/** The first of the rows that are not what was written. */
export function rowDamages(db: Connection): FoundDamages['rows'] {
  const rows: FoundRow[] = []
  const room = new DamagedRowRoom()
  try {
    for (const { table, row, values } of damagedRows(db))
      if (rows.push({ table, row, values: room.take(values) }) >= MOST_ROWS) break
  } catch (error) {
    if (!isDamagedFile(error)) throw error
  }
  return rows
}

/** Of so many damaged rows is told. */
const MOST_ROWS = 1_000

/** Every row that is not what was written. A table that cannot be read to its end is told of by its structure. */
export function* damagedRows(db: Connection): Iterable<DamagedRow> {
  for (const table of TABLES) {
    const rows = db.prepare(`select * from "${table}" not indexed`).iterate() as Iterable<Record<string, unknown>>
    for (const row of rows) if (!isSound(table, row)) yield new DamagedRow(table, row)
  }
}

/** Looks through all tables and their indexes; `db` knows no function for it. The first damage of each table is given. */
export function structureDamages(db: Connection): StructureDamage[] {
  const names = db.prepare("select name from sqlite_schema where type = 'table'").pluck().all() as string[]
  const damages: StructureDamage[] = []
  for (const table of ['sqlite_schema', ...names]) {
    const text = damageOf(db, table)
    if (text !== null) damages.push({ table, text })
  }
  return damages
}

/** What SQLite writes above findings about pages. */
const HEADING = /^\*\*\* in database \w+ \*\*\*$/

function damageOf(db: Connection, table: string): string | null {
  try {
    const lines = db.pragma(`integrity_check("${table.replaceAll('"', '""')}")`) as { integrity_check: string }[]
    const texts = lines.flatMap(({ integrity_check }) => integrity_check.split('\n'))
    return texts.find((text) => text !== 'ok' && !HEADING.test(text) && !isOfRow(db, table, text)) ?? null
  } catch (error) {
    return `${(error as Error).message} (${codeOf(error)})`
  }
}

/** Whether a finding is about the content of a row, which may be a damaged one that its checksum tells of. */
function isOfRow(db: Connection, table: string, text: string): boolean {
  if (/^(NULL value in|NUMERIC value in|TEXT value in|non-\w+ value in|CHECK constraint failed)/.test(text)) return true
  const missing = /^row (\d+) missing from index/.exec(text)
  if (missing === null || !(table in COVERED)) return false
  const scan = db.prepare(`select * from "${table}" not indexed limit 1 offset ?`)
  const row = scan.get(Number(missing[1]) - 1) as Record<string, unknown> | undefined
  return row !== undefined && !isSound(table as Table, row)
}
