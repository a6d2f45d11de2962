// Text columns that may hold megabytes. The driver decodes non-ASCII text far slower than Node: 15 MB block the thread for 35 ms, and for 4 ms if
// Node decodes them from bytes. The same holds for their checksum. Short texts are read as text, which is faster for them.
import { AliasNode, ColumnNode, IdentifierNode, RawNode, ReferenceNode, SelectionNode } from 'kysely'
import { CHECKSUM_COLUMNS, type TableName, Utf8Text } from './integrity/row-checksum.ts'

/** In bytes. Far more than what the checksum treats as short. */
const LONG = 65_536

/** The column of each table whose texts may be long. The checksum covers all columns of these tables. */
const COLUMNS: { readonly [T in TableName]?: string } = {
  job: 'result',
  result_part: 'body',
  job_event: 'payload',
}

/** The column of this table's rows that may be read as bytes; null: none. */
export function longTextColumn(table: TableName | null): string | null {
  return table === null ? null : (COLUMNS[table] ?? null)
}

/** All columns of a table, with its long column read as bytes where the text is long; null: the table has no such column. */
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

/** Marks a value that was read as bytes, so that the row can be verified with them. */
export function wrapLongText(row: Record<string, unknown>, name: string): void {
  const value = row[name]
  if (typeof value === 'object' && value !== null) row[name] = new Utf8Text(value as Buffer)
}

/** The same row, or a copy in which a value that was read as bytes is marked: the caller reads the row itself again. */
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

/** Decodes the marked bytes into text. */
export function decodeLongText(row: Record<string, unknown>, name: string): void {
  const value = row[name]
  if (value instanceof Utf8Text) row[name] = value.bytes.toString()
}
