// Opens the service's database: its pragmas, a first look at what is in the file, and the present schema.
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { StartError } from '../start-error.ts'
import { type Connection, connect, type Durability } from './connection.ts'
import { isEmpty, remainsOf } from './emptied.ts'
import { startErrorOf } from './faults.ts'
import { folded } from './folding.ts'
import { migrate } from './migrate.ts'
import { nameGrams } from './name-grams.ts'

export const IN_MEMORY = ':memory:'

/**
 * Opens and migrates the database at `path`.
 * @throws StartError in one clear line: not a database, not ours, damaged, lost, from a newer version, not writable
 */
export async function openDatabase(path: string, durability: Durability, wal_bytes: number): Promise<Connection> {
  if (path !== IN_MEMORY && !existsSync(dirname(path)))
    throw new StartError(`${path} cannot be opened: its folder does not exist`)
  const remains = remainsOf(path)
  if (remains !== null)
    throw new StartError(
      `${path} is ${isEmpty(path) ? 'empty' : 'missing'}, and ${remains}; put it back, or restore a backup with "svc restore DIR"`,
    )
  let db: Connection | null = null
  try {
    db = connect(path, { durability })
    look(db, path)
    setUp(db, wal_bytes)
    await migrate(db)
    // A file that can be read and not written is refused now, not at the first write.
    db.exec('BEGIN IMMEDIATE; ROLLBACK')
    return db
  } catch (error) {
    db?.close()
    throw startErrorOf(error, path)
  }
}

function setUp(db: Connection, wal_bytes: number): void {
  db.pragma('journal_mode = WAL')
  db.pragma('foreign_keys = ON')
  db.pragma('cache_size = -16384')
  // No commit has to wait until the write-ahead log is in the file: wal.ts sees to it.
  db.pragma('wal_autocheckpoint = 0')
  // What a reader made it grow to is given back when it begins anew.
  db.pragma(`journal_size_limit = ${wal_bytes}`)
  // SQLite's own LIKE knows the case of ASCII letters alone.
  db.function('contains_text', { deterministic: true }, containsText)
  // Triggers ask it: whoever writes names of assets needs it.
  db.function('name_grams', { deterministic: true }, nameGrams)
}

/**
 * Reads the header, the schema and the first page of each table: not all of the file, which `svc check` does.
 * SQLite holds the file's size against the header's by itself.
 */
function look(db: Connection, path: string): void {
  const tables = db
    .prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite%'")
    .pluck()
    .all() as string[]
  if (tables.length > 0 && !tables.includes('kysely_migration'))
    throw new StartError(`${path} belongs to another program; choose another with SVC_DATABASE_URL`)
  for (const table of tables) db.prepare(`select * from "${table.replaceAll('"', '""')}" not indexed limit 1`).get()
}

/** Every table, index and trigger as SQL, in a stable order. */
export function schemaOf(db: Connection): string {
  const rows = db
    .prepare("select sql from sqlite_master where sql is not null and name not like 'kysely%' order by type, name")
    .all() as { sql: string }[]
  return `${rows.map((row) => `${row.sql};`).join('\n')}\n`
}

/** 1 where `text` contains `part`, which is folded already. */
function containsText(text: unknown, part: unknown): number {
  return folded(String(text)).includes(String(part)) ? 1 : 0
}
