// Opens the service's database: sets its pragmas, checks the file, and migrates it to the present schema.
import { existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Log } from '../log.ts'
import { sha256 } from '../shared/hashes.ts'
import { StartError } from '../start-error.ts'
import { nameTrigrams } from './assets/name-trigrams.ts'
import { type Durability, openConnection, type SqliteConnection } from './connection.ts'
import { AUTO_VACUUM_SETTING } from './files/database-size.ts'
import { toStartError } from './health/database-faults.ts'
import { registerChecksumFunctions, verifyRow } from './integrity/row-checksum.ts'
import { findStructureDamages } from './integrity/structure-damage.ts'
import { admitStart } from './loss-detection/start-admission.ts'
import type { Progress } from './migrations/0016-checksums.ts'
import { listKnownMigrations, migrate } from './schema-migration.ts'
import { foldText } from './text-folding.ts'
import { clearFinishedCheckpoint } from './wal/checkpoint.ts'
import { hasWal } from './wal/wal-file.ts'

export const IN_MEMORY = ':memory:'

export interface OpenDatabaseOptions {
  readonly durability: Durability
  /** From this size on, the write-ahead log is truncated when it restarts. */
  readonly wal_bytes: number
  readonly log: Log | null
}

/** The interval of log lines about the progress of a long migration, in milliseconds. */
const TELL_EVERY_MS = 5_000

function createProgressLogger(path: string, log: Log | null): Progress {
  let loggedAt = performance.now()
  return (table, rows) => {
    if (performance.now() - loggedAt < TELL_EVERY_MS) return
    loggedAt = performance.now()
    log?.info({ table, rows }, `${path} is being migrated to the current schema`)
  }
}

/**
 * Opens and migrates the database at `path`.
 * @throws StartError in one clear line: not a database, of another program, damaged, lost, from a newer version, not writable
 */
export async function openDatabase(path: string, options: OpenDatabaseOptions): Promise<SqliteConnection> {
  const { durability, wal_bytes, log } = options
  if (path !== IN_MEMORY && !existsSync(dirname(path)))
    throw new StartError(`${path} cannot be opened: its folder does not exist`)
  const admission = path === IN_MEMORY ? null : admitStart(path, log)
  const hadLog = path !== IN_MEMORY && hasWal(path)
  let db: SqliteConnection | null = null
  try {
    db = openConnection(path, { durability })
    checkFirstPages(db, path)
    admission?.compareCommits(db)
    configureConnection(db, wal_bytes)
    checkStructure(db, path)
    await migrate(db, { progress: createProgressLogger(path, log) })
    verifyMetaRows(db)
    verifySchemaDigest(db)
    // A file that is readable but not writable is refused now rather than at the first write.
    db.exec('BEGIN IMMEDIATE; ROLLBACK')
    admission?.databaseOpened()
    return db
  } catch (error) {
    db?.close()
    if (db !== null && hadLog) clearFinishedCheckpoint(path)
    throw toStartError(error, path)
  }
}

function configureConnection(db: SqliteConnection, wal_bytes: number): void {
  // A database with tables keeps its mode. Setting it would write, for which a full disk has no room.
  if (db.prepare('select count(*) from sqlite_schema').pluck().get() === 0)
    db.pragma(`auto_vacuum = ${AUTO_VACUUM_SETTING}`)
  db.pragma('journal_mode = WAL')
  db.pragma('foreign_keys = ON')
  db.pragma('cache_size = -16384')
  // Commits do not wait for checkpoints: `CheckpointScheduler` makes them.
  db.pragma('wal_autocheckpoint = 0')
  // When the log restarts, it gives back the size that a long reader caused.
  db.pragma(`journal_size_limit = ${wal_bytes}`)
  // SQLite's own LIKE ignores the case of ASCII letters only.
  db.function('contains_text', { deterministic: true }, containsText)
  // Triggers call it at every write of an asset's name.
  db.function('name_grams', { deterministic: true }, nameTrigrams)
  registerChecksumFunctions(db)
}

/**
 * Reads the header, the schema and the first page of each table; `svc check` reads the whole file. SQLite itself compares the file's size with the
 * header.
 */
function checkFirstPages(db: SqliteConnection, path: string): void {
  const tables = db
    .prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite%'")
    .pluck()
    .all() as string[]
  if (tables.length > 0 && !tables.includes('kysely_migration'))
    throw new StartError(`${path} belongs to another program; choose another with SVC_DATABASE_URL`)
  for (const table of tables) db.prepare(`select * from "${table.replaceAll('"', '""')}" not indexed limit 1`).get()
}

/** In bytes. The structure of a larger database is checked while the server runs: a check takes some 3 ms a megabyte. */
const LARGE_BYTES = 32 * 1024 * 1024

export function isLargeDatabase(path: string): boolean {
  return path !== IN_MEMORY && (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > LARGE_BYTES
}

/** Finds damage to the structure of a database that is not large. @throws an error as of SQLite */
function checkStructure(db: SqliteConnection, path: string): void {
  const [damage] = isLargeDatabase(path) ? [] : findStructureDamages(db)
  if (damage !== undefined)
    throw Object.assign(new Error(`${damage.table}: ${damage.text}`), { code: 'SQLITE_CORRUPT' })
}

/** The few facts about the database itself: without them no other row can be trusted. @throws DamagedRowError */
function verifyMetaRows(db: SqliteConnection): void {
  for (const row of db.prepare('select * from meta').all()) verifyRow('meta', row as Record<string, unknown>)
}

/**
 * Stores the digest of the schema in the database and compares it at each start: SQLite would use a changed index definition for wrong rows.
 * @throws an error as of SQLite if the schema differs
 */
function verifySchemaDigest(db: SqliteConnection): void {
  const name = `schema after ${listKnownMigrations().at(-1)}`
  const digest = sha256(dumpSchema(db))
  const kept = db.prepare('select value from meta where name = ?').pluck().get(name)
  if (kept === digest) return
  if (kept !== undefined)
    throw Object.assign(new Error('the schema is not what was written'), { code: 'SQLITE_CORRUPT' })
  db.prepare("delete from meta where name like 'schema after %'").run()
  db.prepare("insert into meta (name, value, checksum) values (?, ?, row_checksum('meta', ?, ?))").run(
    name,
    digest,
    name,
    digest,
  )
}

/** Every table, index and trigger as SQL, in a stable order. */
export function dumpSchema(db: SqliteConnection): string {
  const rows = db
    .prepare("select sql from sqlite_master where sql is not null and name not like 'kysely%' order by type, name")
    .all() as { sql: string }[]
  return `${rows.map((row) => `${row.sql};`).join('\n')}\n`
}

/** 1 if `text` contains `part`, which is folded already. */
function containsText(text: unknown, part: unknown): number {
  return foldText(String(text)).includes(String(part)) ? 1 : 0
}
