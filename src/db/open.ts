// Opens the service's database: its pragmas, a first look at what is in the file, and the present schema.
import { existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { sha256 } from '../hashes.ts'
import type { Log } from '../log.ts'
import { StartError } from '../start-error.ts'
import { admit } from './admission.ts'
import { defineChecksums, verifyRow } from './checksum.ts'
import { type Connection, connect, type Durability } from './connection.ts'
import { settleCopying } from './copying.ts'
import { startErrorOf } from './faults.ts'
import { folded } from './folding.ts'
import { hasLog } from './log-file.ts'
import { knownMigrations, migrate } from './migrate.ts'
import type { Progress } from './migrations/0016-checksums.ts'
import { nameGrams } from './name-grams.ts'
import { SHRINKING } from './space.ts'
import { structureDamages } from './structure.ts'

export const IN_MEMORY = ':memory:'

export interface OpenOptions {
  readonly durability: Durability
  /** From this size on the write-ahead log is cut when it begins anew. */
  readonly wal_bytes: number
  readonly log: Log | null
}

/** So often the log hears how far a long migration has come, in milliseconds. */
const TELL_EVERY_MS = 5_000

function progressOf(path: string, log: Log | null): Progress {
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
export async function openDatabase(path: string, options: OpenOptions): Promise<Connection> {
  const { durability, wal_bytes, log } = options
  if (path !== IN_MEMORY && !existsSync(dirname(path)))
    throw new StartError(`${path} cannot be opened: its folder does not exist`)
  const admission = path === IN_MEMORY ? null : admit(path, log)
  const hadLog = path !== IN_MEMORY && hasLog(path)
  let db: Connection | null = null
  try {
    db = connect(path, { durability })
    look(db, path)
    admission?.compare(db)
    setUp(db, wal_bytes)
    checkStructure(db, path)
    await migrate(db, { progress: progressOf(path, log) })
    checkMeta(db)
    keepSchema(db)
    // A file that can be read and not written is refused now, not at the first write.
    db.exec('BEGIN IMMEDIATE; ROLLBACK')
    admission?.opened()
    return db
  } catch (error) {
    db?.close()
    if (db !== null && hadLog) settleCopying(path)
    throw startErrorOf(error, path)
  }
}

function setUp(db: Connection, wal_bytes: number): void {
  // One that has tables keeps what it has, and saying it would write, for which a full disk has no room.
  if (db.prepare('select count(*) from sqlite_schema').pluck().get() === 0) db.pragma(`auto_vacuum = ${SHRINKING}`)
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
  defineChecksums(db)
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

/** A larger database, in bytes, is looked through beside the server: it takes some 3 ms a megabyte. */
const LARGE_BYTES = 32 * 1024 * 1024

export function isLarge(path: string): boolean {
  return path !== IN_MEMORY && (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > LARGE_BYTES
}

/** Finds damage to the structure of a database that is not large. @throws what SQLite would say of it */
function checkStructure(db: Connection, path: string): void {
  const [damage] = isLarge(path) ? [] : structureDamages(db)
  if (damage !== undefined)
    throw Object.assign(new Error(`${damage.table}: ${damage.text}`), { code: 'SQLITE_CORRUPT' })
}

/** The few facts about the database itself: without them nothing else can be trusted. @throws DamagedRow */
function checkMeta(db: Connection): void {
  for (const row of db.prepare('select * from meta').all()) verifyRow('meta', row as Record<string, unknown>)
}

/**
 * Keeps the digest of the schema with the database, and compares it at each start: an index of other words is used for other rows.
 * @throws what SQLite would say of a schema that is another
 */
function keepSchema(db: Connection): void {
  const name = `schema after ${knownMigrations().at(-1)}`
  const digest = sha256(schemaOf(db))
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
