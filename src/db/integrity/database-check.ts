// Checks a whole database without changing it: its pages, references, schema and invariants. It sees one moment of a database that a server is
// writing.
import { sha256 } from '../../shared/hashes.ts'
import { nameTrigrams } from '../assets/name-trigrams.ts'
import { openReadOnlyConnection, type SqliteConnection } from '../connection.ts'
import { classifyFault, errorCode } from '../health/database-faults.ts'
import { describeRemains, isEmptyFile } from '../loss-detection/missing-database.ts'
import { dumpSchema } from '../open-database.ts'
import { listAppliedMigrations, listKnownMigrations } from '../schema-migration.ts'
import { Store } from '../store.ts'
import type { AssetTable } from '../tables/assets.ts'
import { INVARIANTS } from './invariants.ts'
import { iterateDamagedRows } from './structure-damage.ts'

/** A sentence about a fault, under the name of the check that found it. */
export interface DatabaseFinding {
  readonly check: string
  readonly text: string
}

/** Each check reports at most this many findings, and then the number of the others. */
const MAX_FINDINGS_PER_CHECK = 20

type CheckFunction = (db: SqliteConnection) => Iterable<string>

/** The name of the check of checksums. */
export const ROW_CHECKSUM_CHECK = 'each row is what was written'

/** The number of checks that `checkDatabase` makes. */
export const DATABASE_CHECK_COUNT = INVARIANTS.length + 6

/** All faults of the database at `path`. @throws the error of SQLite if no file can be read */
export async function checkDatabase(path: string): Promise<DatabaseFinding[]> {
  if (isEmptyFile(path)) return [{ check: 'the file', text: describeEmptyFile(path) }]
  let db: SqliteConnection | null = null
  try {
    db = openReadOnlyConnection(path)
    return await runAllChecks(db)
  } catch (error) {
    if (classifyFault(error, path) !== 'damaged') throw error
    return [{ check: 'the file', text: `cannot be read: ${(error as Error).message} (${errorCode(error)})` }]
  } finally {
    db?.close()
  }
}

function describeEmptyFile(path: string): string {
  const remains = describeRemains(path)
  return remains === null
    ? 'is empty: nothing was ever stored in it, or all of it was lost'
    : `is empty, and ${remains}: what it held is lost; put it back, or restore a backup with "svc restore DIR"`
}

async function runAllChecks(db: SqliteConnection): Promise<DatabaseFinding[]> {
  const schema = await readCurrentSchema()
  db.function('sha256', { deterministic: true }, (text) => sha256(String(text)))
  // From here on all checks see the same moment.
  db.exec('begin')
  const findings = runCheck(db, 'the file', findPageDamage)
  const age = runCheck(db, 'the version', findVersionMismatch)
  findings.push(...age, ...runCheck(db, 'references between rows', findBrokenReferences))
  // Databases of older or newer versions have other invariants.
  if (age.length > 0) return findings
  findings.push(...runCheck(db, 'the schema', (db) => findSchemaDifferences(schema, dumpSchema(db))))
  findings.push(...runCheck(db, ROW_CHECKSUM_CHECK, findUnsoundRows))
  findings.push(...runCheck(db, 'every name of an asset is found by its words', findMissingNameWords))
  for (const { name, sql } of INVARIANTS) findings.push(...runCheck(db, name, (db) => findInvariantViolations(db, sql)))
  return findings
}

/** The findings of one check; damage that stops the check is a finding. */
function runCheck(db: SqliteConnection, check: string, look: CheckFunction): DatabaseFinding[] {
  const findings: DatabaseFinding[] = []
  let more = 0
  try {
    for (const text of look(db)) {
      if (findings.length < MAX_FINDINGS_PER_CHECK) findings.push({ check, text })
      else more++
    }
  } catch (error) {
    findings.push({ check, text: `could not be checked: ${(error as Error).message} (${errorCode(error)})` })
  }
  if (more > 0) findings.push({ check, text: `and ${more} more` })
  return findings
}

// Iterates, because SQLite may end with an error after the damaged pages.
function* findPageDamage(db: SqliteConnection): Iterable<string> {
  const lines = db.prepare('pragma integrity_check').pluck().iterate() as Iterable<string>
  for (const line of lines) if (line !== 'ok') yield* line.split('\n')
  yield* findPartialIndexErrors(db)
}

/** SQLite looks up each row in its indexes, but does not count the entries of partial indexes. */
function* findPartialIndexErrors(db: SqliteConnection): Iterable<string> {
  const indexes = db.prepare("select name, tbl_name, sql from sqlite_schema where type = 'index' and sql is not null")
  for (const { name, tbl_name, sql } of indexes.all() as { name: string; tbl_name: string; sql: string }[]) {
    const [, condition] = /\bwhere\b(.*)$/is.exec(sql) ?? []
    if (condition === undefined) continue
    const countOf = (way: string) =>
      db.prepare(`select count(*) from "${tbl_name}" ${way} where ${condition}`).pluck().get()
    if (countOf('not indexed') !== countOf(`indexed by "${name}"`)) yield `wrong # of entries in index ${name}`
  }
}

function* findBrokenReferences(db: SqliteConnection): Iterable<string> {
  const rows = db.prepare('pragma foreign_key_check').iterate() as Iterable<{ table: string; parent: string }>
  for (const { table, parent } of rows) yield `a row of ${table} names one of ${parent} that does not exist`
}

function* findVersionMismatch(db: SqliteConnection): Iterable<string> {
  const known = listKnownMigrations()
  const applied = listAppliedMigrations(db)
  const newer = applied.find((name) => !known.includes(name))
  if (newer !== undefined) yield `was written by a newer version of the service (migration ${newer})`
  else if (applied.length < known.length) {
    yield `was written by an older version of the service: this version migrates it at its next start, and can check it after that`
  }
}

function* findSchemaDifferences(expected: string, found: string): Iterable<string> {
  const parts = (text: string) => new Set(text.split(/;\n/).filter((part) => part !== ''))
  const present = parts(found)
  const wanted = parts(expected)
  for (const part of wanted) if (!present.has(part)) yield `is missing: ${toSingleLine(part)}`
  for (const part of present) if (!wanted.has(part)) yield `is not the service's: ${toSingleLine(part)}`
}

function toSingleLine(text: string): string {
  return text.replace(/\s+/g, ' ')
}

function* findUnsoundRows(db: SqliteConnection): Iterable<string> {
  for (const { message } of iterateDamagedRows(db)) yield message
}

/** Words per query, because SQLite limits the depth of a query. */
const MOST_WORDS = 64

function* findMissingNameWords(db: SqliteConnection): Iterable<string> {
  const found = db.prepare('select 1 from asset_name where asset_name match ? and rowid = ?')
  const rows = db.prepare('select key, id, user_id, workspace_id, name from asset').iterate() as Iterable<AssetTable>
  for (const { key, id, user_id, workspace_id, name } of rows) {
    const words = nameTrigrams(user_id, workspace_id, name).split(' ')
    for (let at = 0; at < words.length && words[0] !== ''; at += MOST_WORDS) {
      if (found.get(words.slice(at, at + MOST_WORDS).join(' AND '), key)) continue
      yield `asset ${id} is not found by all words of its name`
      break
    }
  }
}

function findInvariantViolations(db: SqliteConnection, sql: string): Iterable<string> {
  return db.prepare(sql).pluck().iterate() as Iterable<string>
}

async function readCurrentSchema(): Promise<string> {
  await using store = await Store.open(':memory:')
  return store.dumpSchema()
}
