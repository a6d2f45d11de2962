// The permits of a pool: the permit of a task that gets no worker, and how long a task waits for one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import { type PooledTask, type PooledWorker, WorkerPool } from '../../src/workers/worker-pool.ts'

/** Runs its tasks in this thread. */
class Inline implements PooledWorker<PooledTask, string> {
  readonly isReusable = true
  readonly #gone = Promise.withResolvers<void>()
  readonly whenExited = this.#gone.promise
  setKeepAlive(): void {}
  preload(): void {}
  /** Until the task's signal aborts, if it has one. */
  run({ signal, wait_limit_ms }: PooledTask): Promise<string> {
    if (wait_limit_ms === undefined) return Promise.resolve('done')
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }
  kill(): void {
    this.#gone.resolve()
  }
}

test('the permit of a task is released if its worker cannot be started', async () => {
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

test('a task waits for its turn no longer than its limit, and not at all once its signal has aborted', async () => {
  await using pool = new WorkerPool<PooledTask, string>({ workers: 1, idle_ms: 60_000 }, () => new Inline())
  const stop = new AbortController()
  const { signal } = new AbortController()
  const running = pool.run({ owner: 'one', signal: stop.signal, wait_limit_ms: 60_000 })
  await assert.rejects(
    pool.run({ owner: 'one', signal, wait_limit_ms: 1 }),
    (error) => error instanceof NodeError && error.type === 'busy',
  )
  await assert.rejects(pool.run({ owner: 'one', signal: AbortSignal.abort(new Error('left')) }), /left/)
  stop.abort(new Error('stopped'))
  await assert.rejects(running, /stopped/)
  assert.equal(await pool.run({ owner: 'one', signal }), 'done')
})
