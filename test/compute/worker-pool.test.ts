// Compute threads: users share them, they end with the firing they run, and a thread's failure is only that firing's failure.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { createComputePool } from '../../src/compute/worker-pool.ts'
import { failsAs } from '../nodes/fails-as.ts'
import { compute, SLOW, task } from './kit.ts'

after(() => compute[Symbol.asyncDispose]())

const text = 'three small words'
const words = { output: ['three', 'small', 'words'] }

describe('a firing in a compute thread', () => {
  test('ends at once with its signal, and so does its thread', async () => {
    await using own = createComputePool({ workers: 1 })
    const stop = new AbortController()
    const running = own.run(task('regex.Match', SLOW, { signal: stop.signal }))
    const waiting = own.run(task('regex.Match', SLOW, { signal: stop.signal }))
    const next = own.run(task('text.Words', { text }))
    setImmediate(() => stop.abort(new Error('cancelled')))
    const from = performance.now()
    // The waiting firing may end before the running one, whose inputs are still being sent.
    await Promise.all([running, waiting].map((one) => assert.rejects(one, /^Error: cancelled$/)))
    assert.deepEqual(await next, words)
    assert.ok(performance.now() - from < 5_000)
  })

  test('fails alone when its thread ends', async () => {
    const said: string[] = []
    const script = new URL('./faulty-worker.ts', import.meta.url)
    await using own = createComputePool({ script, workers: 2, reportFailure: (detail) => said.push(detail) })
    const crashing = own.run(task('text.Words', { text: 'end this thread' }))
    const other = own.run(task('text.Words', { text }))
    await assert.rejects(crashing, failsAs('compute_failed', /The thread that ran the node ended/))
    assert.deepEqual(await other, words)
    assert.deepEqual(await own.run(task('text.Words', { text })), words)
    assert.match(said.join(), /compute thread failed: the thread ended/)
  })

  test('fails alone when it exceeds the memory of its thread', async () => {
    await using own = createComputePool({ workers: 2, heap_mb: 48 })
    const many = Array.from({ length: 700_000 }, (_, at) => `w${at}`).join(' ')
    const large = own.run(task('text.WordFrequency', { text: many }))
    await assert.rejects(large, failsAs('compute_memory', /exceeds its memory limit/))
    assert.deepEqual(await own.run(task('text.Words', { text })), words)
  })

  test('is refused once the server stops', async () => {
    const own = createComputePool()
    const running = assert.rejects(own.run(task('regex.Match', SLOW)), failsAs('compute_failed', /ended/))
    await new Promise((resolve) => setImmediate(resolve))
    await own[Symbol.asyncDispose]()
    await running
    await assert.rejects(own.run(task('text.Words', { text })), failsAs('unavailable', /stopping/))
  })

  test('does not wait for all the work of another user', async () => {
    const stop = new AbortController()
    const slow = Array.from({ length: 8 }, () =>
      compute.run(task('regex.Match', SLOW, { owner: 'greedy', signal: stop.signal })),
    )
    const ended: string[] = []
    for (const one of slow) one.then(() => ended.push('slow')).catch(() => {})
    for (let count = 0; count < 3; count++) assert.deepEqual(await compute.run(task('text.Words', { text })), words)
    assert.deepEqual(ended, [])
    stop.abort()
    await Promise.allSettled(slow)
  })

  test('gives values that are too deep or too large, as the main thread would', async () => {
    const nested = (depth: number): unknown[] => (depth === 0 ? [] : [nested(depth - 1)])
    const { output } = (await compute.run(task('list.Chunk', { list: nested(63), size: 1 }))) as { output: unknown }
    assert.ok(Array.isArray(output))
  })
})
