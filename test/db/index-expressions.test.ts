// The expressions of queries are those of the indexes in the present schema: SQLite can use each index with the words of the queries.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { DummyDriver, Kysely, type RawBuilder, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import * as expressions from '../../src/db/index-expressions.ts'

const SOURCES = new URL('../../src/db/', import.meta.url)

const compiler = new Kysely({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
})

/** The texts of the module. */
const texts = Object.values(expressions)
  .filter((one) => typeof one !== 'string')
  .map((one: RawBuilder<unknown>) => one.compile(compiler).sql)

/** An index with expressions or a condition. */
interface Index {
  readonly sql: string
  readonly name: string
  readonly table: string
  readonly columns: readonly string[]
  /** Null for all rows. */
  readonly condition: string | null
}

/** Splits at the commas outside of parentheses. */
function splitTerms(list: string): string[] {
  const terms = ['']
  let depth = 0
  for (const character of list) {
    if (character === '(') depth += 1
    if (character === ')') depth -= 1
    if (character === ',' && depth === 0) terms.push('')
    else terms.push(terms.pop()! + character)
  }
  return terms.map((term) => term.trim())
}

function readIndex(sql: string): Index[] {
  const [, name, table, rest] = /^CREATE (?:UNIQUE )?INDEX (\w+) on (\w+) \((.*)$/s.exec(sql) ?? []
  if (name === undefined || table === undefined || rest === undefined) return []
  const [columns = '', condition = null] = rest.split(/\)\s+where /)
  return [{ sql, name, table, columns: splitTerms(condition === null ? columns.slice(0, -1) : columns), condition }]
}

const schema = readFileSync(new URL('schema.sql', import.meta.url), 'utf8').split(/;\n/)
const tables = schema.filter((sql) => /^CREATE TABLE (?!sqlite_)/.test(sql))
const indexes = schema.flatMap(readIndex)
/** SQLite finds these conditions by itself: no row with null fits a comparison. */
const isPlain = (text: string) => /^\w+( is not null)?$/.test(text)

describe('the expressions of indexes', () => {
  test('are all in one module, and each of them is used', () => {
    const used = indexes
      .flatMap(({ columns, condition }) => [...columns, condition ?? 'none'])
      .filter((one) => !isPlain(one))
    assert.ok(used.length > 15)
    assert.deepEqual(new Set(used), new Set(texts))
  })

  test('are not repeated by queries', () => {
    // Migrations are history, and checks of the whole database need no index.
    const files = globSync('**/*.ts', {
      cwd: SOURCES.pathname,
      exclude: ['migrations/**', 'integrity/invariants.ts', 'index-expressions.ts'],
    })
    assert.ok(files.length > 50)
    for (const file of files)
      for (const text of texts)
        assert.ok(!readFileSync(new URL(file, SOURCES), 'utf8').includes(text), `${file}: ${text}`)
  })

  for (const { name, table, columns, condition } of indexes)
    test(`SQLite uses ${name} with these words`, () => {
      using db = Object.assign(new Database(':memory:'), { [Symbol.dispose]: () => db.close() })
      for (const sql of [...tables, ...indexes.map((one) => one.sql)]) db.exec(sql)
      const where = [...columns.map((column) => `${column} = 'x'`), ...(condition === null ? [] : [condition])]
      const rows = db
        .prepare(`explain query plan select 1 from ${table} indexed by ${name} where ${where.join(' and ')}`)
        .all() as { detail: string }[]
      const { detail } = rows[0]!
      assert.ok(detail.includes(`INDEX ${name}`), detail)
      assert.equal(detail.split('<expr>=?').length - 1, columns.filter((one) => !isPlain(one)).length)
    })
})
