// Texts of rows that may have megabytes. The driver makes a text of their bytes far slower than Node does where not all of it is ASCII: 15 MB
// of it hold the thread for 35 ms, and for 4 ms as bytes of which Node makes the text. So does their checksum. Short ones are read as texts, which is quicker for them.
import { AliasNode, ColumnNode, IdentifierNode, RawNode, ReferenceNode, SelectionNode } from 'kysely'
import { COVERED, type Table, TextBytes } from './checksum.ts'

/** In bytes. Far more than the checksum takes for short. */
const LONG = 65_536

/** The column of a table whose texts may be long. All columns of such a table are covered by its checksum. */
const COLUMNS: { readonly [T in Table]?: string } = {
  job: 'result',
  result_part: 'body',
  job_event: 'payload',
}

/** The column of rows of this table that may come as bytes; null where none does. */
export function longTextOf(table: Table | null): string | null {
  return table === null ? null : (COLUMNS[table] ?? null)
}

/** All columns of a table, of which one comes as bytes where it is long; null where none is. */
export function selectedColumns(table: Table): SelectionNode[] | null {
  const long = longTextOf(table)
  if (long === null) return null
  return [...COVERED[table], 'checksum'].map((name) =>
    SelectionNode.create(name === long ? bytesOf(name) : column(name)),
  )
}

function column(name: string): ReferenceNode {
  return ReferenceNode.create(ColumnNode.create(name))
}

function bytesOf(name: string): AliasNode {
  const sql = `iif(octet_length("${name}") > ${LONG}, cast("${name}" as blob), "${name}")`
  return AliasNode.create(RawNode.createWithSql(sql), IdentifierNode.create(name))
}

/** Marks what has come as bytes, so that the row may be verified by them. */
export function markLong(row: Record<string, unknown>, name: string): void {
  const value = row[name]
  if (typeof value === 'object' && value !== null) row[name] = new TextBytes(value as Buffer)
}

/** The same row, or a copy in which what has come as bytes is marked: the row itself is looked at again. */
export function marked(table: Table, row: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const name = longTextOf(table)
  if (name === null || !(row[name] instanceof Uint8Array)) return row
  const copy = { ...row }
  markLong(copy, name)
  return copy
}

/** Makes a text of what was marked. */
export function decodeLong(row: Record<string, unknown>, name: string): void {
  const value = row[name]
  if (value instanceof TextBytes) row[name] = value.bytes.toString()
}
