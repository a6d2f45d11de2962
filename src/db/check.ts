// Looks through a whole database without changing it: its pages, its references, its schema, and what is true of the rows.
// It sees one moment of a database that a server is writing.
import { sha256 } from '../hashes.ts'
import { type Connection, connectForReading } from './connection.ts'
import { isEmpty, remainsOf } from './emptied.ts'
import { codeOf, faultOf } from './faults.ts'
import { INVARIANTS } from './invariants.ts'
import { knownMigrations, migrationsOf } from './migrate.ts'
import { nameGrams } from './name-grams.ts'
import { schemaOf } from './open.ts'
import type { AssetTable } from './schema.ts'
import { Store } from './store.ts'
import { damagedRows } from './structure.ts'

/** A sentence about something that is wrong, under the name of the check that found it. */
export interface Finding {
  readonly check: string
  readonly text: string
}

/** A check tells of so many findings, and then how many there are in all. */
const MOST_FINDINGS = 20

type Check = (db: Connection) => Iterable<string>

/** The name of the check of checksums. */
export const ROWS = 'each row is what was written'

/** How many checks `checkDatabase` makes. */
export const CHECKS = INVARIANTS.length + 6

/** Everything that is wrong with the database at `path`. @throws what SQLite says where there is no file that may be read */
export async function checkDatabase(path: string): Promise<Finding[]> {
  if (isEmpty(path)) return [{ check: 'the file', text: emptied(path) }]
  let db: Connection | null = null
  try {
    db = connectForReading(path)
    return await findingsIn(db)
  } catch (error) {
    if (faultOf(error, path) !== 'damaged') throw error
    return [{ check: 'the file', text: `cannot be read: ${(error as Error).message} (${codeOf(error)})` }]
  } finally {
    db?.close()
  }
}

function emptied(path: string): string {
  const remains = remainsOf(path)
  return remains === null
    ? 'is empty: nothing was ever stored in it, or all of it was lost'
    : `is empty, and ${remains}: what it held is lost; put it back, or restore a backup with "svc restore DIR"`
}

async function findingsIn(db: Connection): Promise<Finding[]> {
  const schema = await presentSchema()
  db.function('sha256', { deterministic: true }, (text) => sha256(String(text)))
  // From here on all checks look at the same moment.
  db.exec('begin')
  const findings = run(db, 'the file', pages)
  const age = run(db, 'the version', version)
  findings.push(...age, ...run(db, 'references between rows', references))
  // What an older or newer version wrote has rules of its own.
  if (age.length > 0) return findings
  findings.push(...run(db, 'the schema', (db) => differences(schema, schemaOf(db))))
  findings.push(...run(db, ROWS, unsoundRows))
  findings.push(...run(db, 'every name of an asset is found by its words', missingWords))
  for (const { name, sql } of INVARIANTS) findings.push(...run(db, name, (db) => broken(db, sql)))
  return findings
}

/** The findings of one check; damage that it runs into is one. */
function run(db: Connection, check: string, look: Check): Finding[] {
  const findings: Finding[] = []
  let more = 0
  try {
    for (const text of look(db)) {
      if (findings.length < MOST_FINDINGS) findings.push({ check, text })
      else more++
    }
  } catch (error) {
    findings.push({ check, text: `could not be checked: ${(error as Error).message} (${codeOf(error)})` })
  }
  if (more > 0) findings.push({ check, text: `and ${more} more` })
  return findings
}

// One by one: after the damaged pages, it may end with an error of its own.
function* pages(db: Connection): Iterable<string> {
  const lines = db.prepare('pragma integrity_check').pluck().iterate() as Iterable<string>
  for (const line of lines) if (line !== 'ok') yield* line.split('\n')
  yield* partialIndexes(db)
}

/** SQLite looks for each row in its indexes; of an index that has some rows alone it does not count the entries. */
function* partialIndexes(db: Connection): Iterable<string> {
  const indexes = db.prepare("select name, tbl_name, sql from sqlite_schema where type = 'index' and sql is not null")
  for (const { name, tbl_name, sql } of indexes.all() as { name: string; tbl_name: string; sql: string }[]) {
    const [, condition] = /\bwhere\b(.*)$/is.exec(sql) ?? []
    if (condition === undefined) continue
    const countOf = (way: string) =>
      db.prepare(`select count(*) from "${tbl_name}" ${way} where ${condition}`).pluck().get()
    if (countOf('not indexed') !== countOf(`indexed by "${name}"`)) yield `wrong # of entries in index ${name}`
  }
}

function* references(db: Connection): Iterable<string> {
  const rows = db.prepare('pragma foreign_key_check').iterate() as Iterable<{ table: string; parent: string }>
  for (const { table, parent } of rows) yield `a row of ${table} names one of ${parent} that does not exist`
}

function* version(db: Connection): Iterable<string> {
  const known = knownMigrations()
  const applied = migrationsOf(db)
  const newer = applied.find((name) => !known.includes(name))
  if (newer !== undefined) yield `was written by a newer version of the service (migration ${newer})`
  else if (applied.length < known.length) {
    yield `was written by an older version of the service: it is brought up to date when this one starts, and can be checked then`
  }
}

function* differences(expected: string, found: string): Iterable<string> {
  const parts = (text: string) => new Set(text.split(/;\n/).filter((part) => part !== ''))
  const present = parts(found)
  const wanted = parts(expected)
  for (const part of wanted) if (!present.has(part)) yield `is missing: ${oneLine(part)}`
  for (const part of present) if (!wanted.has(part)) yield `is not the service's: ${oneLine(part)}`
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ')
}

function* unsoundRows(db: Connection): Iterable<string> {
  for (const { message } of damagedRows(db)) yield message
}

/** A query takes so many words: SQLite bounds how deep one is. */
const MOST_WORDS = 64

function* missingWords(db: Connection): Iterable<string> {
  const found = db.prepare('select 1 from asset_name where asset_name match ? and rowid = ?')
  const rows = db.prepare('select key, id, user_id, workspace_id, name from asset').iterate() as Iterable<AssetTable>
  for (const { key, id, user_id, workspace_id, name } of rows) {
    const words = nameGrams(user_id, workspace_id, name).split(' ')
    for (let at = 0; at < words.length && words[0] !== ''; at += MOST_WORDS) {
      if (found.get(words.slice(at, at + MOST_WORDS).join(' AND '), key)) continue
      yield `asset ${id} is not found by all words of its name`
      break
    }
  }
}

function broken(db: Connection, sql: string): Iterable<string> {
  return db.prepare(sql).pluck().iterate() as Iterable<string>
}

async function presentSchema(): Promise<string> {
  await using store = await Store.open(':memory:')
  return store.dumpSchema()
}
