// Commits that are held for a moment: which units wait, and for how long; and units that take long.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as round } from 'node:timers/promises'
import { openConnection } from '../../src/db/connection.ts'
import { writeMetaValue } from '../../src/db/database-metadata.ts'
import { GroupCommit } from '../../src/db/group-commit.ts'
import { DatabaseHealth, storeUnavailableError } from '../../src/db/health/database-health.ts'
import { STRICT_DAMAGE_LISTENER, TransactionStatements } from '../../src/db/transaction.ts'
import { until } from '../helpers/server.ts'

/** A group commit in memory, and the names of the units whose callbacks were called. */
function grouped(): Disposable & {
  group: GroupCommit
  told: string[]
  /** The number of units in each transaction. */
  sizes: number[]
  /** The unit takes `ms` by the clock of the group. */
  add(name: string, ms?: number): void
  /** The unit writes about so many bytes. */
  addLarge(name: string, bytes: number): void
} {
  const db = openConnection(':memory:')
  db.exec('create table meta (name text primary key, value text, checksum integer)')
  // A clock of its own: on a busy machine three small writes may take as long as a transaction may.
  let taken = 0
  const now = () => taken
  const sizes: number[] = []
  const group = new GroupCommit(db, new TransactionStatements(db, STRICT_DAMAGE_LISTENER), {
    health: new DatabaseHealth(':memory:', null, now),
    now,
    onCommitted: (_, units) => sizes.push(units),
    onCallbackError: (error) => assert.fail(String(error)),
  })
  const told: string[] = []
  const add = (name: string, ms = 0) =>
    group.add(
      () => {
        taken += ms
        if (name === 'broken') throw new Error(name)
        return name
      },
      (error, value) => told.push(error === null ? value! : String(error)),
    )
  const addLarge = (name: string, bytes: number) =>
    group.add(
      (tx) => writeMetaValue(tx, name, 'x'.repeat(bytes)),
      (error) => told.push(error === null ? name : String(error)),
    )
  return { group, told, sizes, add, addLarge, [Symbol.dispose]: () => void db.close() }
}

const NEVER_MS = 3_600_000

async function rounds(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await round()
}

describe('commits that are held', () => {
  test('wait until they are released, and then run at once', async () => {
    using opened = grouped()
    const { group, told, add } = opened
    group.hold(NEVER_MS)
    add('a')
    await rounds(10)
    add('b')
    await rounds(10)
    assert.deepEqual(told, [])
    group.release()
    assert.deepEqual(told, ['a', 'b'])
    add('c')
    await rounds(10)
    assert.deepEqual(told, ['a', 'b', 'c'])
  })

  test('wait no longer than the given time', async () => {
    using opened = grouped()
    opened.group.hold(1)
    opened.add('a')
    await until('the commit', () => opened.told.length === 1)
  })

  test('are shared as usual if they are released before their turn', async () => {
    using opened = grouped()
    const { group, told, add } = opened
    group.hold(NEVER_MS)
    add('a')
    group.release()
    assert.deepEqual(told, [])
    await rounds(10)
    assert.deepEqual(told, ['a'])
  })

  test('do not wait for a flush, or for the close', async () => {
    using opened = grouped()
    const { group, told, add } = opened
    group.hold(NEVER_MS)
    add('a')
    group.flush()
    assert.deepEqual(told, ['a'])
    add('b')
    await rounds(10)
    assert.deepEqual(told, ['a'])
    group.close()
    assert.deepEqual(told, ['a', 'b'])
    add('c')
    await rounds(10)
    assert.deepEqual(told.slice(2), [String(storeUnavailableError())])
  })
})

describe('units that take long', () => {
  test('leave what comes behind them to later turns of the event loop', async () => {
    using opened = grouped()
    const { told, sizes, add } = opened
    for (const [name, ms] of [
      ['a', 0],
      ['b', 1_000],
      ['c', 1_000],
      ['d', 0],
    ] as const)
      add(name, ms)
    const seen = new Set<string>()
    while (told.length < 4) {
      await round()
      seen.add(told.join(''))
    }
    assert.deepEqual([...seen].filter(Boolean), ['ab', 'abc', 'abcd'])
    assert.deepEqual(sizes, [2, 1, 1])
  })

  test('are all committed by a flush', () => {
    using opened = grouped()
    const { group, told, add } = opened
    for (const name of ['a', 'b', 'c']) add(name, 1_000)
    group.flush()
    assert.deepEqual(told, ['a', 'b', 'c'])
  })

  test('let the following units be held if they ask for it', async () => {
    using opened = grouped()
    const { group, told, add } = opened
    group.add(
      () => group.hold(NEVER_MS),
      () => add('a'),
    )
    add('b', 1_000)
    add('c')
    await rounds(10)
    assert.deepEqual(told, ['b'])
    group.release()
    assert.deepEqual(told, ['b', 'c', 'a'])
  })

  test('are written though what comes behind them fails', async () => {
    using opened = grouped()
    const { told, add } = opened
    add('a', 1_000)
    add('broken')
    add('b')
    await rounds(10)
    assert.deepEqual(told, ['a', 'Error: broken', 'b'])
  })
})

describe('units that write much', () => {
  test('leave what comes behind them to later turns of the event loop', async () => {
    using opened = grouped()
    const { told, sizes, add, addLarge } = opened
    for (const name of ['a', 'b', 'c', 'd', 'e']) addLarge(name, 800_000)
    add('f')
    const seen = new Set<string>()
    while (told.length < 6) {
      await round()
      seen.add(told.join(''))
    }
    assert.deepEqual([...seen].filter(Boolean), ['abc', 'abcdef'])
    assert.deepEqual(sizes, [3, 3])
  })

  test('leave the following units to later turns even after a hold', async () => {
    using opened = grouped()
    const { group, told, addLarge } = opened
    group.hold(NEVER_MS)
    for (const name of ['a', 'b']) addLarge(name, 5_000_000)
    await rounds(10)
    group.release()
    assert.deepEqual(told, ['a'])
    await rounds(10)
    assert.deepEqual(told, ['a', 'b'])
  })
})

test('units before one that throws are still committed together, and those behind it as well', async () => {
  using opened = grouped()
  const { told, sizes, add } = opened
  for (const name of ['a', 'b', 'c', 'broken', 'd', 'e']) add(name)
  await rounds(20)
  assert.deepEqual(told, ['a', 'b', 'c', 'Error: broken', 'd', 'e'])
  assert.deepEqual(sizes, [3, 2])
})

test('a unit whose transaction fails gives no value, whatever it gave before that', () => {
  using opened = grouped()
  const { group, add } = opened
  const heard: unknown[] = []
  let runs = 0
  const unit = () => {
    if (++runs > 1) throw new Error('no room')
    return 'a row'
  }
  group.add(unit, (error, value) => heard.push(String(error), value))
  add('broken')
  group.flush()
  assert.deepEqual([runs, heard], [2, ['Error: no room', undefined]])
})
