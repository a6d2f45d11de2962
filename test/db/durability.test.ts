// What a commit is worth: the setting on every connection, how commits are shared, and how large the write-ahead log gets.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { statement } from '../../src/db/statement.ts'
import { Store, type Tx } from '../../src/db/store.ts'
import { startServer, temporaryFolder, until } from '../helpers/server.ts'
import { jobRow, openStore, putJob } from '../helpers/store.ts'
import { memoryLog, sizeOf, watchConnections } from './kit.ts'

const KIB = 1024
const putting =
  (key: number, bytes = 1) =>
  (tx: Tx) =>
    putJob(tx, jobRow(key, { name: 'x'.repeat(bytes) }))

describe('SVC_DURABILITY', () => {
  for (const [setting, level, warned] of [
    ['', 2, false],
    ['full', 2, false],
    ['normal', 1, true],
  ] as const) {
    test(`${setting || 'without it,'} every connection that a server opens is at ${level}`, async () => {
      using watched = watchConnections()
      const { log, lines } = memoryLog()
      await using server = await startServer({ log, environment: { SVC_DURABILITY: setting } })
      const levels = new Map(watched.opened.map((db) => [db.name, db.pragma('synchronous', { simple: true })]))
      // The lock holds no data: it stays as it is.
      assert.deepEqual([...levels].sort(), [
        [join(server.data_dir, 'lock'), 2],
        [join(server.data_dir, 'svc.db'), level],
      ])
      const risks = lines.filter(({ msg }) => /SVC_DURABILITY is normal: a power cut may take back/.test(msg))
      assert.equal(risks.length, warned ? 1 : 0)
    })
  }
})

describe('commits', () => {
  test('are shared by many callers, and a lone one does not wait', async () => {
    const folder = temporaryFolder()
    const commits: number[] = []
    const path = join(folder, 'svc.db')
    const store = await Store.open(path, { committed: (_ms, units) => commits.push(units) })
    try {
      const waits: number[] = []
      let key = 0
      for (let round = 0; round < 50; round++) {
        const asked = performance.now()
        await store.write((tx) => {
          waits.push(performance.now() - asked)
          putting(++key)(tx)
        })
      }
      assert.equal(commits.length, 50)
      const middle = waits.sort((a, b) => a - b)[25]!
      assert.ok(middle < 2, `half of the lone writes waited longer than ${middle} ms`)
      await Promise.all(
        Array.from({ length: 100 }, async () => {
          for (let round = 0; round < 5; round++) await store.write(putting(++key))
        }),
      )
      const shared = commits.slice(50)
      assert.equal(
        shared.reduce((sum, units) => sum + units, 0),
        500,
      )
      assert.ok(shared.length <= 25, `500 writes of 100 callers took ${shared.length} commits`)
    } finally {
      await store[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

describe('the counter of statements', () => {
  test('counts what units execute, whatever it finds', async () => {
    await using opened = await openStore()
    const { store } = opened
    const byKey = statement<{ key: number }>()((db, p) => db.selectFrom('job').select('id').where('key', '=', p('key')))
    await store.write(putting(1))
    const cost = (run: () => void) => {
      const before = store.statements
      run()
      return store.statements - before
    }
    assert.equal(
      cost(() => store.read((tx) => tx.get(byKey, { key: 1 }))),
      1,
    )
    assert.equal(
      cost(() => store.read((tx) => [tx.get(byKey, { key: 2 }), tx.all(byKey, { key: 1 })])),
      2,
    )
    const before = store.statements
    await store.write(putting(2))
    assert.equal(store.statements - before, 2)
  })
})

describe('the write-ahead log', () => {
  const LIMITS = { bytes: 256 * KIB, look_every_ms: 10 }

  test('grows while a reader holds an old state, and is emptied once it has gone and the server is idle', async () => {
    const folder = temporaryFolder()
    const path = join(folder, 'svc.db')
    const { log, lines } = memoryLog()
    const store = await Store.open(path, { wal: LIMITS, log })
    try {
      await store.write(putting(1))
      const reader = new Database(path, { readonly: true })
      reader.exec('begin')
      assert.equal(reader.prepare('select count(*) from job').pluck().get(), 1)
      for (let key = 2; key <= 60; key++) await store.write(putting(key, 32 * KIB))
      const held = sizeOf(`${path}-wal`)
      assert.ok(held > 4 * LIMITS.bytes, String(held))
      await until('the warning', () =>
        lines.some(({ msg }) => /another program has been reading the database/.test(msg)),
      )
      assert.ok(sizeOf(`${path}-wal`) >= held)
      assert.equal(reader.prepare('select count(*) from job').pluck().get(), 1, 'the reader sees what it saw')
      reader.close()
      await until('an empty log', () => sizeOf(`${path}-wal`) === 0)
      assert.equal(lines.filter(({ level }) => level >= 40).length, 1)
      await store.write(putting(61))
    } finally {
      await store[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true, force: true })
    }
  })

  test('gives its room back when it begins anew, also on a server that is never idle', async () => {
    const folder = temporaryFolder()
    const path = join(folder, 'svc.db')
    const store = await Store.open(path, { wal: { ...LIMITS, look_every_ms: 3_600_000 } })
    try {
      const reader = new Database(path, { readonly: true })
      reader.exec('begin')
      reader.prepare('select count(*) from job').get()
      for (let key = 1; key <= 200; key++) await store.write(putting(key, 128 * KIB))
      const held = sizeOf(`${path}-wal`)
      assert.ok(held > 16 * 1024 * KIB, String(held))
      reader.close()
      for (let key = 201; key <= 203; key++) await store.write(putting(key))
      assert.ok(sizeOf(`${path}-wal`) <= LIMITS.bytes, String(sizeOf(`${path}-wal`)))
    } finally {
      await store[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true, force: true })
    }
  })

  test('is not left behind by a store that was closed', async () => {
    await using opened = await openStore()
    await opened.store.write(putting(1, 64 * KIB))
    assert.ok(sizeOf(`${opened.path}-wal`) > 0)
    await opened.store[Symbol.asyncDispose]()
    assert.equal(sizeOf(`${opened.path}-wal`), 0)
  })

  test('is emptied at the close as far as a reader allows', async () => {
    await using opened = await openStore()
    await opened.store.write(putting(1))
    const reader = new Database(opened.path, { readonly: true })
    reader.exec('begin')
    reader.prepare('select count(*) from job').get()
    await opened.store.write(putting(2))
    await opened.store[Symbol.asyncDispose]()
    assert.ok(sizeOf(`${opened.path}-wal`) > 0)
    reader.close()
    const again = new Database(opened.path, { readonly: true })
    assert.equal(again.prepare('select count(*) from job').pluck().get(), 2)
    again.close()
  })
})
