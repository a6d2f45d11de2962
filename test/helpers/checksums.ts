// Checksums for tests that write rows by their own SQL.

import type { SqliteConnection } from '../../src/db/connection.ts'
import { CHECKSUM_COLUMNS, registerChecksumFunctions, TABLE_NAMES } from '../../src/db/integrity/row-checksum.ts'

/** Runs a change that triggers forbid. */
export function withoutTriggers(db: SqliteConnection, work: () => void): void {
  const triggers = db
    .prepare("select name, sql from sqlite_schema where type = 'trigger' and name like '%_is_immutable'")
    .all() as { name: string; sql: string }[]
  for (const { name } of triggers) db.exec(`drop trigger ${name}`)
  work()
  for (const { sql } of triggers) db.exec(sql)
}

/** Makes the next start accept the schema. The start refuses a schema that another program changed. */
export function acceptSchema(db: Pick<SqliteConnection, 'exec'>): void {
  db.exec("delete from meta where name like 'schema after %'")
}

/** Recomputes the checksum of each row from its other columns. */
export function refreshChecksums(db: SqliteConnection): void {
  registerChecksumFunctions(db)
  withoutTriggers(db, () => {
    for (const table of TABLE_NAMES) {
      const columns = CHECKSUM_COLUMNS[table].map((name) => `"${name}"`).join(', ')
      db.exec(`update "${table}" set checksum = row_checksum('${table}', ${columns})`)
    }
  })
}
