// Tests the work of several owners, one piece at a time: the order of turns, and work that fails.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { FairExecutor } from '../../src/payloads/fair-executor.ts'

test('work of several owners runs in turns', async () => {
  const queue = new FairExecutor()
  const done: string[] = []
  const work = (name: string) => async () => {
    await setImmediate()
    done.push(name)
  }
  const all = ['a1', 'a2', 'a3', 'b1'].map((name) => queue.run(name[0]!, work(name)))
  await Promise.all(all)
  assert.deepEqual(done, ['a1', 'a2', 'b1', 'a3'])
})

test('work after failed work still runs, whether that fails at once or later', async () => {
  const queue = new FairExecutor()
  const failures = [
    () => {
      throw new Error('at once')
    },
    () => Promise.reject(new Error('later')),
  ]
  for (const fail of failures) {
    const failed = queue.run('a', fail)
    const behind = queue.run('a', async () => 'done')
    await assert.rejects(failed, /at once|later/)
    assert.equal(await behind, 'done')
  }
})
