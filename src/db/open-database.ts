// Opens the service's database: its pragmas, a first look at what is in the file, and the present schema.
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
  /** From this size on the write-ahead log is cut when it begins anew. */
  readonly wal_bytes: number
  readonly log: Log | null
}

/** So often the log hears how far a long migration has come, in milliseconds. */
const TELL_EVERY_MS = 5_000

function createProgressLogger(path: string, log: Log | null): Progress {
  let toldAt = performance.now()
  return (table, rows) => {
    if (performance.now() - toldAt < TELL_EVERY_MS) return
    toldAt = performance.now()
    log?.info({ table, rows }, `${path} is being brought up to date`)
  }
}

/**
 * Opens and migrates the database at `path`.
 * @throws StartError in one clear line: not a database, not ours, damaged, lost, from a newer version, not writable
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
    // A file that can be read and not written is refused now, not at the first write.
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
  // One that has tables keeps what it has, and saying it would write, for which a full disk has no room.
  if (db.prepare('select count(*) from sqlite_schema').pluck().get() === 0)
    db.pragma(`auto_vacuum = ${AUTO_VACUUM_SETTING}`)
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
  db.function('name_grams', { deterministic: true }, nameTrigrams)
  registerChecksumFunctions(db)
}

/**
 * Reads the header, the schema and the first page of each table: not all of the file, which `svc check` does.
 * SQLite holds the file's size against the header's by itself.
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

/** A larger database, in bytes, is looked through beside the server: it takes some 3 ms a megabyte. */
const LARGE_BYTES = 32 * 1024 * 1024

export function isLargeDatabase(path: string): boolean {
  return path !== IN_MEMORY && (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > LARGE_BYTES
}

/** Finds damage to the structure of a database that is not large. @throws what SQLite would say of it */
function checkStructure(db: SqliteConnection, path: string): void {
  const [damage] = isLargeDatabase(path) ? [] : findStructureDamages(db)
  if (damage !== undefined)
    throw Object.assign(new Error(`${damage.table}: ${damage.text}`), { code: 'SQLITE_CORRUPT' })
}

/** The few facts about the database itself: without them nothing else can be trusted. @throws DamagedRow */
function verifyMetaRows(db: SqliteConnection): void {
  for (const row of db.prepare('select * from meta').all()) verifyRow('meta', row as Record<string, unknown>)
}

/**
 * Keeps the digest of the schema with the database, and compares it at each start: an index of other words is used for other rows.
 * @throws what SQLite would say of a schema that is another
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

/** 1 where `text` contains `part`, which is folded already. */
function containsText(text: unknown, part: unknown): number {
  return foldText(String(text)).includes(String(part)) ? 1 : 0
}
