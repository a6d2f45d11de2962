// Texts of rows that may have megabytes. The driver makes a text of their bytes far slower than Node does where not all of it is ASCII: 15 MB
// of it hold the thread for 35 ms, and for 4 ms as bytes of which Node makes the text. So does their checksum. Short ones are read as texts, which is quicker for them.
import { AliasNode, ColumnNode, IdentifierNode, RawNode, ReferenceNode, SelectionNode } from 'kysely'
import { CHECKSUM_COLUMNS, type TableName, Utf8Text } from './integrity/row-checksum.ts'

/** In bytes. Far more than the checksum takes for short. */
const LONG = 65_536

/** The column of a table whose texts may be long. All columns of such a table are covered by its checksum. */
const COLUMNS: { readonly [T in TableName]?: string } = {
  job: 'result',
  result_part: 'body',
  job_event: 'payload',
}

/** The column of rows of this table that may come as bytes; null where none does. */
export function longTextColumn(table: TableName | null): string | null {
  return table === null ? null : (COLUMNS[table] ?? null)
}

/** All columns of a table, of which one comes as bytes where it is long; null where none is. */
export function columnsWithLongText(table: TableName): SelectionNode[] | null {
  const long = longTextColumn(table)
  if (long === null) return null
  return [...CHECKSUM_COLUMNS[table], 'checksum'].map((name) =>
    SelectionNode.create(name === long ? bytesIfLong(name) : columnReference(name)),
  )
}

function columnReference(name: string): ReferenceNode {
  return ReferenceNode.create(ColumnNode.create(name))
}

function bytesIfLong(name: string): AliasNode {
  const sql = `iif(octet_length("${name}") > ${LONG}, cast("${name}" as blob), "${name}")`
  return AliasNode.create(RawNode.createWithSql(sql), IdentifierNode.create(name))
}

/** Marks what has come as bytes, so that the row may be verified by them. */
export function wrapLongText(row: Record<string, unknown>, name: string): void {
  const value = row[name]
  if (typeof value === 'object' && value !== null) row[name] = new Utf8Text(value as Buffer)
}

/** The same row, or a copy in which what has come as bytes is marked: the row itself is looked at again. */
export function withWrappedLongText(
  table: TableName,
  row: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const name = longTextColumn(table)
  if (name === null || !(row[name] instanceof Uint8Array)) return row
  const copy = { ...row }
  wrapLongText(copy, name)
  return copy
}

/** Makes a text of what was marked. */
export function decodeLongText(row: Record<string, unknown>, name: string): void {
  const value = row[name]
  if (value instanceof Utf8Text) row[name] = value.bytes.toString()
}
