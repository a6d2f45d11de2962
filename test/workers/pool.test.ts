// A pool whose workers cannot be started: the task fails, and its place is free for the next one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type PooledTask, type PooledWorker, WorkerPool } from '../../src/workers/pool.ts'

/** Does its tasks in this thread. */
class Inline implements PooledWorker<PooledTask, string> {
  readonly fit = true
  readonly #gone = Promise.withResolvers<void>()
  readonly gone = this.#gone.promise
  hold(): void {}
  warm(): void {}
  async run(): Promise<string> {
    return 'done'
  }
  kill(): void {
    this.#gone.resolve()
  }
}

test('the place of a task is free again where its worker cannot be started', async () => {
  let broken = true
  const start = () => {
    if (broken) throw new Error('no thread')
    return new Inline()
  }
  await using pool = new WorkerPool<PooledTask, string>({ workers: 1, idle_ms: 60_000 }, start)
  const task = { owner: 'one', signal: new AbortController().signal }
  await assert.rejects(pool.run(task), /no thread/)
  broken = false
  assert.equal(await pool.run(task), 'done')
})
