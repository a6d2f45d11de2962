// The error of a damaged row. Such a row is never served; the log and `svc check` name it.

/** The columns that name a row of each table and may be logged: no names of secrets, and no digests of tokens. */
const NAMING_COLUMNS = [
  'key',
  'job_key',
  'thread_key',
  'sequence',
  'page',
  'id',
  'sha256',
  'content_key',
  'name',
  'day',
]

export class DamagedRowError extends Error {
  readonly table: string
  /** The naming columns of the row, as they were read. */
  readonly row: string
  /** All values that were read, by column. */
  readonly values: Readonly<Record<string, unknown>>

  constructor(table: string, row: Readonly<Record<string, unknown>>) {
    const row_name = describeRow(row)
    super(`a row of ${table} is not what was written: ${row_name}`)
    this.name = 'DamagedRow'
    this.table = table
    this.row = row_name
    this.values = row
  }
}

/** The columns that name a row, each with its value: `key 17, id job_1`. */
function describeRow(row: Readonly<Record<string, unknown>>): string {
  const parts = NAMING_COLUMNS.filter((name) => row[name] !== undefined && row[name] !== null)
  return parts.map((name) => `${name} ${String(row[name]).slice(0, 80)}`).join(', ') || 'without a name'
}
