// data.Query: results of SQL over tables, and the isolation of its statements.
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { NodeError } from '../../../src/engine/node-api/node-error.ts'
import { noServices } from '../../../src/engine/node-api/services/no-services.ts'
import { createMediaPool } from '../../../src/media/worker-pool.ts'
import { builtinRegistry } from '../../../src/nodes/registry.ts'
import { graph, node, outputs, sink } from '../../engine/kit.ts'
import { failsAs } from '../fails-as.ts'
import { mediaNodes } from '../with-media.ts'

const nodes = mediaNodes()
after(() => nodes[Symbol.asyncDispose]())

const orders = [
  { id: 1, city: 'Rome', price: 2.5, paid: true },
  { id: 2, city: 'Bern', price: 4, paid: false },
  { id: 3, city: 'Rome', price: null, paid: true },
]

const query = (sql: string, more: Record<string, unknown> = {}) => nodes.fire('data.Query', { sql, orders, ...more })
const cells = async (sql: string, more: Record<string, unknown> = {}) =>
  ((await query(sql, more)).rows as object[]).map((row) => Object.values(row))

const ENDLESS = 'WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)'

describe('data.Query', () => {
  test('groups, joins and orders', async () => {
    const sql = 'SELECT city, count(*) AS orders, sum(price) AS total FROM orders GROUP BY city ORDER BY city'
    assert.deepEqual(await query(sql), {
      rows: [
        { city: 'Bern', orders: 1, total: 4 },
        { city: 'Rome', orders: 2, total: 2.5 },
      ],
      columns: ['city', 'orders', 'total'],
    })
    const tables = { 'old towns': [{ name: 'Rome', '5" wide': 'yes' }] }
    const joined = 'SELECT id, "5"" wide" FROM orders JOIN "old towns" ON name = city ORDER BY id DESC'
    assert.deepEqual(await cells(joined, { tables }), [
      [3, 'yes'],
      [1, 'yes'],
    ])
    assert.deepEqual(await cells('VALUES (1, 2), (3, 4);'), [
      [1, 2],
      [3, 4],
    ])
    assert.deepEqual(await cells('/* a */ -- b\n WITH x AS (SELECT 7 AS n) SELECT n FROM x -- end'), [[7]])
  })

  test('keeps the types of values', async () => {
    const t = [{ i: 7, big: 2 ** 40, f: 0.5, s: '007', b: true, none: null, list: [1, { a: 'x' }] }]
    assert.deepEqual(await query('SELECT * FROM t', { t }), {
      rows: [{ i: 7, big: 2 ** 40, f: 0.5, s: '007', b: 1, none: null, list: '[1,{"a":"x"}]' }],
      columns: ['i', 'big', 'f', 's', 'b', 'none', 'list'],
    })
    const types = 'SELECT typeof(i), typeof(big), typeof(f), typeof(s), typeof(b), typeof(none), typeof(list) FROM t'
    assert.deepEqual(await cells(types, { t }), [['integer', 'integer', 'real', 'text', 'integer', 'null', 'text']])
    assert.deepEqual(await cells("SELECT list ->> '$[1].a' FROM t", { t }), [['x']])
    assert.deepEqual(await cells("SELECT 9007199254740993, 9007199254740991, 1e999, x'0102'"), [
      ['9007199254740993', 9007199254740991, null, Uint8Array.of(1, 2)],
    ])
  })

  test('gives columns different names, and accepts any name', async () => {
    assert.deepEqual((await query('SELECT 1 AS a, 2 AS a_2, 3 AS a, 4 AS a')).columns, ['a', 'a_2', 'a_3', 'a_4'])
    const { rows } = await query('SELECT 5 AS __proto__')
    assert.deepEqual(Object.entries((rows as object[])[0]!), [['__proto__', 5]])
  })

  test('accepts parameters by position and by name', async () => {
    const sql = 'SELECT id FROM orders WHERE city = ? AND paid = ?'
    assert.deepEqual(await cells(sql, { params: ['Rome', true] }), [[1], [3]])
    assert.deepEqual(await cells('SELECT ?2, ?1, ?2', { params: ['a', 'b'] }), [['b', 'a', 'b']])
    assert.deepEqual(await cells("SELECT ?, '?1'", { params: ['a'] }), [['a', '?1']])
    await assert.rejects(query('SELECT ?3', { params: ['a', 'b'] }), failsAs('bad_input', /Missing named parameter/))
    assert.deepEqual(await cells('SELECT id FROM orders WHERE price > :least', { params: { least: 3 } }), [[2]])
    assert.deepEqual(await cells('SELECT ?', { params: ["'; DROP TABLE orders"] }), [["'; DROP TABLE orders"]])
    await assert.rejects(query(sql, { params: ['Rome'] }), failsAs('bad_input', /Too few parameter values/))
    await assert.rejects(query('SELECT :a', { params: {} }), failsAs('bad_input', /Missing named parameter/))
    await assert.rejects(query('SELECT 1', { params: 7 }), failsAs('bad_input', /neither a list nor an object/))
  })

  test('accepts tables without rows', async () => {
    assert.deepEqual(await cells('SELECT count(*) FROM none', { none: [] }), [[0]])
    const inherited = { constructor: [{ a: 1 }] }
    assert.deepEqual(await cells('SELECT * FROM constructor', { tables: inherited }), [[1]])
    const columns = { none: ['a', 'b'] }
    assert.deepEqual(await query('SELECT b, a FROM none', { none: [], columns }), { rows: [], columns: ['b', 'a'] })
  })

  test('takes its tables from the edges of a graph', async () => {
    const media = createMediaPool({ processes: 1 })
    await using _ = media
    const made = await outputs(
      graph(
        [
          node('csv', 'text.ParseCsv', { text: 'a,b\n1,x\n2,y\n', convert: true }),
          { ...node('q', 'data.Query', { sql: 'SELECT b FROM t WHERE a = 2' }), dynamic_properties: { t: [] } },
          sink('rows'),
        ],
        ['csv.rows->q.t', 'q.rows->rows.value'],
      ),
      builtinRegistry,
      { services: { ...noServices, media } },
    )
    assert.deepEqual(made, { rows: [[{ b: 'y' }]] })
  })

  test('says what is wrong with tables and statements', async () => {
    for (const [sql, message] of [
      ['SELECT price FROM nowhere', /no such table: nowhere/],
      ['SELECT nope FROM orders', /no such column: nope/],
      ['SELEC 1', /does not begin with SELECT/],
      ['SELECT 1 FROM', /incomplete input/],
      ['', /does not begin with SELECT/],
      ['-- SELECT 1', /does not begin with SELECT/],
      ['SELECT 1\0', /NUL/],
    ] as const)
      await assert.rejects(query(sql), failsAs('bad_input', message), sql)
    await assert.rejects(query('SELECT 1', { t: [{ a: 1, A: 2 }] }), failsAs('bad_input', /duplicate column name/))
    await assert.rejects(query('SELECT 1', { T: [], t: [] }), failsAs('bad_input', /already exists/))
    await assert.rejects(query('SELECT 1', { sqlite_master: [] }), failsAs('bad_input', /reserved/))
    await assert.rejects(query('SELECT 1', { tables: { orders } }), failsAs('bad_input', /two tables orders/))
    await assert.rejects(query('SELECT 1', { t: 7 }), failsAs('bad_input', /not a list of rows/))
    await assert.rejects(query(`SELECT ${' '.repeat(100_000)}1`), failsAs('too_large', /100,000 characters/))
  })

  test('writes nothing, and runs one statement', async () => {
    for (const [sql, message] of [
      ['DELETE FROM orders', /only|does not begin/],
      ['WITH x AS (SELECT 1) DELETE FROM orders RETURNING id', /only SELECT, WITH and VALUES/],
      ['WITH x AS (SELECT 1) INSERT INTO orders SELECT 1, 2, 3, 4', /only SELECT, WITH and VALUES/],
      ['SELECT 1; SELECT 2', /more than one statement/],
      ['SELECT 1; DROP TABLE orders', /more than one statement/],
      ['EXPLAIN SELECT 1', /does not begin/],
      ['BEGIN', /does not begin/],
      ['CREATE TABLE t (a)', /does not begin/],
    ] as const)
      await assert.rejects(query(sql), failsAs('bad_input', message), sql)
  })

  test('reaches no file, no other database, no extension', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-query-'))
    try {
      const secret = join(folder, 'secret.txt')
      const made = join(folder, 'made.db')
      writeFileSync(secret, 'secret')
      for (const sql of [
        `ATTACH DATABASE '${made}' AS other`,
        `/* SELECT */ ATTACH '${made}' AS other`,
        `VACUUM INTO '${made}'`,
        `PRAGMA database_list`,
        `PRAGMA temp_store_directory = '${folder}'`,
        `SELECT * FROM pragma_database_list`,
        `SELECT * FROM "pragma_database_list"`,
        `SELECT * FROM main.[Pragma_module_list]`,
        `SELECT * FROM 'pragma_database_list'`,
        `SELECT * FROM main.'PRAGMA_table_info'('orders')`,
        `SELECT 1 IN 'pragma_compile_options'`,
        `WITH x AS (SELECT * FROM pragma_module_list) SELECT * FROM x`,
        `SELECT (SELECT max(name) FROM pragma_function_list)`,
        `SELECT * FROM '' JOIN pragma_table_info('orders')`,
        `SELECT load_extension('${secret}')`,
        `SELECT Load_Extension('${secret}', 'init')`,
        `SELECT readfile('${secret}')`,
        `SELECT writefile('${made}', 'x')`,
        `SELECT edit('x', 'touch ${made}')`,
        `SELECT fts3_tokenizer('simple')`,
        `SELECT fts3_tokenizer('simple', x'00')`,
        `CREATE VIRTUAL TABLE t USING csv(filename = '${secret}')`,
        `CREATE VIRTUAL TABLE t USING fts5(a)`,
        `SELECT * FROM csv('${secret}')`,
        `SELECT * FROM fsdir('${folder}')`,
        `SELECT * FROM zipfile('${secret}')`,
        `SELECT * FROM sqlite_dbpage`,
        `SELECT * FROM 'file:${secret}'`,
      ])
        await assert.rejects(query(sql), failsAs('bad_input', /./), sql)
      assert.equal(existsSync(made), false)
    } finally {
      rmSync(folder, { recursive: true })
    }
    assert.deepEqual(await cells("SELECT 'pragma_x', 1 -- pragma_y"), [['pragma_x', 1]])
    assert.deepEqual(await cells('SELECT pragma_a FROM pragma_t', { pragma_t: [{ pragma_a: 7 }] }), [[7]])
    await assert.rejects(query(`${'/*'.repeat(40_000)} SELECT`), failsAs('bad_input', /does not begin/))
  })

  test('has no clock, no random numbers, and no time zone of the machine', async () => {
    for (const sql of [
      'SELECT CURRENT_TIMESTAMP',
      'SELECT current_date',
      'SELECT current_time',
      'SELECT random()',
      'SELECT randomblob(4)',
      'SELECT id FROM orders ORDER BY random()',
      'SELECT date()',
      "SELECT time('NOW')",
      "SELECT datetime('now', '+1 day')",
      "SELECT julianday('now')",
      "SELECT unixepoch('subsec')",
      "SELECT strftime('%Y')",
      "SELECT strftime('%Y', 'now')",
      "SELECT timediff('2020-01-01', 'now')",
      "SELECT datetime('2020-01-01', 'localtime')",
      "SELECT datetime('2020-01-01', ' UTC ')",
    ])
      await assert.rejects(query(sql), failsAs('bad_input', /not available|present time|machine's time zone/), sql)
    const sql =
      "SELECT date('2024-02-28', '+2 days'), strftime('%Y-%W', '2024-12-31'), unixepoch(?), typeof(unixepoch(?)), time(12.5)"
    const params = ['2001-09-09T01:46:40Z', '2001-09-09']
    assert.deepEqual(await cells(sql, { params }), [['2024-03-01', '2024-53', 1e9, 'integer', '00:00:00']])
  })

  test('stops statements that give endless rows, cells or text', async () => {
    await assert.rejects(query(`${ENDLESS} SELECT n FROM r`), failsAs('too_large', /Add a LIMIT/))
    await assert.rejects(query('SELECT id FROM orders', { max_rows: 2 }), failsAs('too_large', /more rows/))
    assert.deepEqual(await cells('SELECT id FROM orders', { max_rows: 3 }), [[1], [2], [3]])
    const text = `${ENDLESS} SELECT printf('%1000000d', n) FROM r`
    await assert.rejects(query(text), failsAs('too_large', /text/))
    await assert.rejects(query('SELECT hex(zeroblob(900000000))'), failsAs('too_large', /too big/))
    const wide = Object.fromEntries(Array.from({ length: 2_001 }, (_, at) => [`c${at}`, at]))
    await assert.rejects(query('SELECT 1', { wide: [wide] }), failsAs('too_large', /2,000 columns/))
    assert.deepEqual(await cells('SELECT max(id) FROM orders'), [[3]])
  })

  test('is stopped if it takes too long or too much memory, and works afterwards', async () => {
    await using media = createMediaPool({ processes: 1, time_limit_ms: 1_500, memory_bytes: 400_000_000 })
    const run = (sql: string) => {
      const params = { sql, tables: [], columns: {}, params: [], most_rows: 10 }
      return media.run({ task: 'data.query', files: [], params, owner: 'ada', signal: new AbortController().signal })
    }
    await assert.rejects(run(`${ENDLESS} SELECT count(*) FROM r`), failsAs('media_timeout', /1\.5 seconds/))
    const growing = `${ENDLESS} SELECT group_concat(printf('%100000d', n)) FROM r`
    const types = ['media_memory', 'media_timeout', 'too_large']
    await assert.rejects(run(growing), (error) => error instanceof NodeError && types.includes(error.type))
    assert.deepEqual(await cells('SELECT count(*) FROM orders'), [[3]])
  })
})
