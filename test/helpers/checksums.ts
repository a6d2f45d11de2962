// Checksums for tests that write rows with SQL of their own.

import type { SqliteConnection } from '../../src/db/connection.ts'
import { CHECKSUM_COLUMNS, registerChecksumFunctions, TABLE_NAMES } from '../../src/db/integrity/row-checksum.ts'

/** Does what triggers forbid. */
export function withoutTriggers(db: SqliteConnection, work: () => void): void {
  const triggers = db
    .prepare("select name, sql from sqlite_schema where type = 'trigger' and name like '%_is_immutable'")
    .all() as { name: string; sql: string }[]
  for (const { name } of triggers) db.exec(`drop trigger ${name}`)
  work()
  for (const { sql } of triggers) db.exec(sql)
}

/** Has the next start take the schema as it is: it refuses one that was changed behind its back. */
export function acceptSchema(db: Pick<SqliteConnection, 'exec'>): void {
  db.exec("delete from meta where name like 'schema after %'")
}

/** Makes the checksum of each row what its other columns say, whatever they are. */
export function refreshChecksums(db: SqliteConnection): void {
  registerChecksumFunctions(db)
  withoutTriggers(db, () => {
    for (const table of TABLE_NAMES) {
      const columns = CHECKSUM_COLUMNS[table].map((name) => `"${name}"`).join(', ')
      db.exec(`update "${table}" set checksum = row_checksum('${table}', ${columns})`)
    }
  })
}
