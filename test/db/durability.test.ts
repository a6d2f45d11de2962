// The durability of commits: the setting on every connection, and how commits are shared. For the write-ahead log see
// wal/checkpoint-scheduler.test.ts.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { statement } from '../../src/db/statement.ts'
import { Store } from '../../src/db/store.ts'
import { startServer, temporaryFolder } from '../helpers/server.ts'
import { openStore } from '../helpers/store.ts'
import { memoryLog, putting, watchConnections } from './kit.ts'

describe('SVC_DURABILITY', () => {
  for (const [setting, level, warned] of [
    ['', 2, false],
    ['full', 2, false],
    ['normal', 1, true],
  ] as const) {
    test(`${setting || 'without it,'} every connection that a server opens is at ${level}`, async (t) => {
      // The folder is empty: the server creates its database itself.
      const data_dir = temporaryFolder()
      t.after(() => rmSync(data_dir, { recursive: true, force: true }))
      using watched = watchConnections()
      const { log, lines } = memoryLog()
      await using _server = await startServer({ log, data_dir, environment: { SVC_DURABILITY: setting } })
      const levels = new Map(watched.opened.map((db) => [db.name, db.pragma('synchronous', { simple: true })]))
      // Locks hold no data: they keep their setting.
      assert.deepEqual([...levels].sort(), [
        [join(data_dir, 'lock'), 2],
        [join(data_dir, 'svc.db'), level],
        [join(data_dir, 'svc.db.lock'), 2],
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
    const store = await Store.open(path, { onCommitted: (_ms, units) => commits.push(units) })
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
  test('counts the statements of units, whatever they return', async () => {
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
