// Commits that are held back for a moment: who waits, for how long, and who does not.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as round } from 'node:timers/promises'
import { Condition } from '../../src/db/condition.ts'
import { connect } from '../../src/db/connection.ts'
import { GroupCommit } from '../../src/db/group-commit.ts'
import { STRICT, Statements } from '../../src/db/tx.ts'
import { until } from '../helpers/server.ts'

/** A group of commits in memory, and the names of the units that were told of theirs. */
function grouped(): Disposable & { group: GroupCommit; told: string[]; add(name: string): void } {
  const db = connect(':memory:')
  const now = () => performance.now()
  const group = new GroupCommit(db, new Statements(db, STRICT), {
    condition: new Condition(':memory:', null, now),
    now,
    committed: () => {},
    broken: (error) => assert.fail(String(error)),
  })
  const told: string[] = []
  const add = (name: string) =>
    group.add(
      () => name,
      (error, value) => told.push(error === null ? value! : String(error)),
    )
  return { group, told, add, [Symbol.dispose]: () => void db.close() }
}

const NEVER_MS = 3_600_000

async function rounds(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await round()
}

describe('commits that are held', () => {
  test('wait until they are released, and go on at once', async () => {
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

  test('wait no longer than was said', async () => {
    using opened = grouped()
    opened.group.hold(1)
    opened.add('a')
    await until('the commit', () => opened.told.length === 1)
  })

  test('are released before their round has come: they share it as ever', async () => {
    using opened = grouped()
    const { group, told, add } = opened
    group.hold(NEVER_MS)
    add('a')
    group.release()
    assert.deepEqual(told, [])
    await rounds(10)
    assert.deepEqual(told, ['a'])
  })

  test('do not wait when somebody asks for them, or when it is closed', async () => {
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
    assert.deepEqual(told.slice(2), ['Error: the store is closed'])
  })
})
