// The store: durable settings, shared transactions, units that fail alone, and reads of committed data only.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { probeDatabaseHealth } from '../../src/db/health/health-probe.ts'
import { findLastJobKey } from '../../src/db/jobs/rows.ts'
import { statement } from '../../src/db/statement.ts'
import type { Tx } from '../../src/db/store.ts'
import { jobRow, openStore, putJob } from '../helpers/store.ts'
import { keysOf, putting } from './kit.ts'

describe('store', () => {
  test('it writes ahead, syncs at every commit and holds foreign keys', async () => {
    await using opened = await openStore()
    assert.equal(opened.store.pragma('journal_mode'), 'wal')
    assert.equal(opened.store.pragma('synchronous'), 2)
    assert.equal(opened.store.pragma('foreign_keys'), 1)
    assert.equal(probeDatabaseHealth(opened.store), 'healthy')
  })

  test('the settings hold after it is opened again', async () => {
    await using opened = await openStore()
    const store = await opened.reopen()
    assert.equal(store.pragma('journal_mode'), 'wal')
    assert.equal(store.pragma('synchronous'), 2)
    assert.equal(store.pragma('foreign_keys'), 1)
  })

  test('units of one turn share one transaction, which is seen by none before its commit', async () => {
    await using opened = await openStore()
    const { store } = opened
    const seen: number[][] = []
    const first = store.write((tx) => {
      seen.push(keysOf(tx))
      putting(1)(tx)
    })
    const second = store.write((tx) => {
      seen.push(keysOf(tx))
      putting(2)(tx)
    })
    assert.deepEqual(store.read(keysOf), [], 'nothing is written in the turn that asks')
    await Promise.all([first, second])
    assert.deepEqual(seen, [[], [1]], 'the second unit sees the first, in the same transaction')
    assert.deepEqual(store.read(keysOf), [1, 2])
  })

  test('a unit asked for after the commit has begun belongs to the next one', async () => {
    await using opened = await openStore()
    const { store } = opened
    let inner: Promise<void> | null = null
    await store.write((tx) => {
      putting(1)(tx)
      inner = store.write(putting(2))
    })
    assert.deepEqual(store.read(keysOf), [1])
    await inner
    assert.deepEqual(store.read(keysOf), [1, 2])
  })

  test('callbacks run after the commit, in the order of the calls, and see everything', async () => {
    await using opened = await openStore()
    const { store } = opened
    const calls: string[] = []
    for (const key of [1, 2, 3]) {
      store.writeThen(putting(key), (error) => calls.push(`${key} ${error} ${store.read(keysOf).join()}`))
    }
    store.flush()
    assert.deepEqual(calls, ['1 null 1,2,3', '2 null 1,2,3', '3 null 1,2,3'])
  })

  test('a unit that fails is undone alone, and its neighbours are committed', async () => {
    await using opened = await openStore()
    const { store } = opened
    const fault = new Error('not this one')
    const results = await Promise.allSettled([
      store.write(putting(1)),
      store.write((tx) => {
        putting(2)(tx)
        throw fault
      }),
      store.write((tx) => {
        putting(3)(tx)
        return keysOf(tx)
      }),
    ])
    assert.deepEqual(
      results.map((result) => result.status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    assert.equal((results[1] as PromiseRejectedResult).reason, fault)
    assert.deepEqual((results[2] as PromiseFulfilledResult<number[]>).value, [1, 3])
    assert.deepEqual(store.read(keysOf), [1, 3])
  })

  test('a unit that breaks a constraint is undone alone', async () => {
    await using opened = await openStore()
    const { store } = opened
    const results = await Promise.allSettled([
      store.write(putting(1)),
      store.write(putting(1)),
      store.write(putting(2)),
    ])
    assert.deepEqual(
      results.map((result) => result.status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    assert.deepEqual(store.read(keysOf), [1, 2])
  })

  test('even a unit that throws nothing has failed', async () => {
    await using opened = await openStore()
    await assert.rejects(
      opened.store.write(() => {
        throw undefined
      }),
      /threw nothing/,
    )
  })

  test('an asynchronous unit is refused and undone', async () => {
    await using opened = await openStore()
    const { store } = opened
    const unit = async (tx: Tx) => putting(1)(tx)
    await assert.rejects(store.write(unit), /must not be asynchronous/)
    assert.deepEqual(store.read(keysOf), [])
  })

  test('closing commits what waits; after that every write fails and every read throws', async () => {
    await using opened = await openStore()
    const closed = opened.store
    const waiting = closed.write(putting(1))
    const reopened = await opened.reopen()
    await waiting
    assert.deepEqual(reopened.read(keysOf), [1])
    const refused = [2, 3].map((key) => assert.rejects(closed.write(putting(key)), { code: 'SERVICE_UNAVAILABLE' }))
    await Promise.all(refused)
    assert.throws(() => closed.read(keysOf), { code: 'SERVICE_UNAVAILABLE' })
    assert.equal(probeDatabaseHealth(closed), 'unhealthy')
    await closed[Symbol.asyncDispose]()
    assert.deepEqual(reopened.read(keysOf), [1])
  })

  test('what is committed is there when the file is opened again', async () => {
    await using opened = await openStore()
    await opened.store.write(putting(7))
    const store = await opened.reopen()
    assert.deepEqual(store.read(keysOf), [7])
    assert.equal(store.read(findLastJobKey), 7)
  })
})

describe('statement', () => {
  test('parameters go to their places by name, also when one is used twice', async () => {
    const twice = statement<{ a: number; b: number }>('keys')((db, p) =>
      db
        .selectFrom('job')
        .select('key')
        .where('key', '=', p('b'))
        .where('attempt', '=', p('a'))
        .where('key', '>=', p('b')),
    )
    assert.deepEqual(twice.bind({ a: 1, b: 2 }), [2, 1, 2])
    await using opened = await openStore()
    await opened.store.write(putting(2))
    assert.deepEqual(
      opened.store.read((tx) => tx.all(twice, { a: 1, b: 2 })),
      [{ key: 2 }],
    )
    assert.equal(
      opened.store.read((tx) => tx.get(twice, { a: 2, b: 2 })),
      undefined,
    )
  })

  test('constants of the query stay where they are', () => {
    const fixed = statement<{ key: number }>()((db, p) =>
      db.selectFrom('job').select('key').where('status', '=', 'queued').where('key', '=', p('key')),
    )
    assert.deepEqual(fixed.bind({ key: 5 }), ['queued', 5])
  })

  test('values are bound and never become SQL', async () => {
    await using opened = await openStore()
    const { store } = opened
    const id = "x'); drop table job; --"
    await store.write((tx) => putJob(tx, jobRow(1, { id })))
    const byId = statement<{ id: string }>('keys')((db, p) =>
      db.selectFrom('job').select('id').where('id', '=', p('id')),
    )
    assert.deepEqual(
      store.read((tx) => tx.get(byId, { id })),
      { id },
    )
  })
})
