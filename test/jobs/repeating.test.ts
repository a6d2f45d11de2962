// Repeated submissions and retries: idempotency keys, and retries that reuse finished firings.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { describe, test } from 'node:test'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import { parseStoredOptions } from '../../src/jobs/submission/stored-options.ts'
import { graph, mapType, node, sink, source } from '../engine/kit.ts'
import { temporaryFolder, until } from '../helpers/server.ts'
import { coded, ended, gated, history, OWNER, outputs, plain, startGated, submission, submit, words } from './kit.ts'

describe('an idempotency key', () => {
  const keyed = (more: object = {}) => submission({ graph: plain, idempotency_key: 'k', ...more })

  test('gives the same job for the same request, before and after both are stored, and after a restart', async () => {
    const data_dir = temporaryFolder()
    try {
      let id: string
      {
        await using server = await startGated({ data_dir })
        const { jobs } = server.context.runs
        const [first, second] = [jobs.submit(OWNER, keyed()), jobs.submit(OWNER, keyed())]
        id = first.row.id
        assert.deepEqual([first.duplicate, second.duplicate, second.row.id], [false, true, id])
        await first.active!.settled()
        const third = jobs.submit(OWNER, keyed({ params: {} }))
        assert.deepEqual([third.duplicate, third.row.id, third.active], [true, id, null])
      }
      await using server = await startGated({ data_dir })
      assert.equal(server.context.runs.jobs.submit(OWNER, keyed()).row.id, id)
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })

  test('refuses another request, and belongs to its owner', async () => {
    await using server = await startGated()
    const { jobs } = server.context.runs
    const first = jobs.submit(OWNER, keyed())
    for (const other of [{ name: 'other' }, { timeout_seconds: 5 }, { graph: gated }]) {
      assert.throws(() => jobs.submit(OWNER, keyed(other)), coded('IDEMPOTENCY_CONFLICT'))
    }
    await first.active!.settled()
    assert.throws(() => jobs.submit(OWNER, keyed({ concurrent: false })), coded('IDEMPOTENCY_CONFLICT'))
    for (const scope of [
      { user_id: '2', workspace_id: null },
      { user_id: '1', workspace_id: 'w' },
    ]) {
      assert.equal(jobs.submit(scope, keyed({ name: 'other' })).duplicate, false)
    }
  })

  test('is checked before the workflow, its graph and the queue', async () => {
    await using server = await startGated({ config: { max_concurrent_jobs: 1, max_queued_jobs: 0 } })
    const { jobs } = server.context.runs
    const first = jobs.submit(OWNER, submission({ graph: gated, idempotency_key: 'k' }))
    assert.throws(() => jobs.submit(OWNER, submission({ graph: gated })), coded('QUEUE_FULL'))
    assert.equal(jobs.submit(OWNER, submission({ graph: gated, idempotency_key: 'k' })).row.id, first.row.id)
    const entry = await until('the firing', () => server.gate.waiting[0])
    entry.open()
  })

  test('of a refused submission can be used again', async () => {
    await using server = await startGated()
    const { jobs } = server.context.runs
    const refused = submission({ workflow_id: 'nowhere', idempotency_key: 'k' })
    assert.throws(() => jobs.submit(OWNER, refused), coded('WORKFLOW_NOT_FOUND'))
    assert.equal(jobs.submit(OWNER, keyed()).duplicate, false)
  })

  test('is forgotten after its retention', async () => {
    let now = Date.now()
    const { systemPlatform } = await import('../../src/platform.ts')
    const platform = { ...systemPlatform(), now: () => now, timestamp: () => new Date(now).toISOString() }
    await using server = await startGated({ platform })
    const { jobs } = server.context.runs
    const first = jobs.submit(OWNER, keyed())
    await first.active!.settled()
    now += 86_400_000 - 1
    assert.equal(jobs.submit(OWNER, keyed()).duplicate, true)
    now += 2
    const second = jobs.submit(OWNER, keyed({ name: 'other' }))
    assert.notEqual(second.row.id, first.row.id)
    await second.active!.settled()
    assert.equal(jobs.submit(OWNER, keyed({ name: 'other' })).row.id, second.row.id)
  })
})

describe('a retry', () => {
  /** `slow` ends later; `frail` fails as often as the test wants. */
  function counting() {
    const ran = { slow: 0, frail: 0 }
    let failures = 1
    const later = (node_type: string, answer: (value: unknown) => Promise<unknown>): NodeType => ({
      ...mapType(node_type, () => null),
      run: async ({ value }) => ({ output: await answer(value) }),
    })
    const slow = later('test.Slow', async (value) => {
      ran.slow++
      await new Promise((resolve) => setImmediate(resolve))
      return `${String(value)}!`
    })
    const frail = later('test.Frail', async (value) => {
      ran.frail++
      if (failures-- > 0) throw new Error('not yet')
      return value
    })
    return { ran, types: [slow, frail] }
  }
  const of = graph(
    [source('in', 'x'), node('slow', 'test.Slow'), node('frail', 'test.Frail'), sink('out')],
    ['in.output->slow.value', 'slow.output->frail.value', 'frail.output->out.value'],
  )

  test('runs failed firings again, and no finished firings', async () => {
    const { ran, types } = counting()
    await using server = await startGated({ types })
    const { jobs } = server.context.runs
    const job = submit(server, { graph: of, name: 'n', timeout_seconds: 60 })
    await job.settled()
    assert.equal(job.row.status, 'failed')
    const { row } = await jobs.retry(OWNER, job.row.id)
    assert.notEqual(row.id, job.row.id)
    const done = await ended(server, row.id)
    assert.equal(done.status, 'completed')
    assert.deepEqual(ran, { slow: 1, frail: 2 })
    assert.deepEqual([done.name, parseStoredOptions(done)], [job.row.name, parseStoredOptions(job.row)])
    assert.equal((await history(server, done)).map(words).at(-2), 'node out completed')
    assert.equal((await jobs.get(OWNER, job.row.id)).row.status, 'failed')
  })

  test('of a job that has not ended, or has completed, is refused', async () => {
    await using server = await startGated()
    const { jobs } = server.context.runs
    const job = submit(server, { graph: gated })
    const entry = await until('the firing', () => server.gate.waiting[0])
    await assert.rejects(jobs.retry(OWNER, job.row.id), coded('JOB_NOT_TERMINAL'))
    entry.open()
    await job.settled()
    await assert.rejects(jobs.retry(OWNER, job.row.id), coded('CONFLICT'))
    await assert.rejects(jobs.retry(OWNER, 'nowhere'), coded('JOB_NOT_FOUND'))
    await assert.rejects(jobs.retry({ user_id: '2', workspace_id: null }, job.row.id), coded('JOB_NOT_FOUND'))
  })

  test('of a queued job that was cancelled runs it from its beginning', async () => {
    await using server = await startGated({ config: { max_concurrent_jobs: 1 } })
    const { jobs } = server.context.runs
    submit(server, { graph: gated })
    const second = submit(server, { graph: plain, params: { in: 'given' } })
    await jobs.cancel(OWNER, second.row.id)
    const { row } = await jobs.retry(OWNER, second.row.id)
    const entry = await until('the firing', () => server.gate.waiting[0])
    entry.open()
    const done = await ended(server, row.id)
    assert.deepEqual(outputs(done), { out: 'given' })
  })
})
