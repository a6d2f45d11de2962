// Jobs that end early: cancelled in every state, timed out, or drained.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { describe, test } from 'node:test'
import type { JobError, JobEvent } from '../../generated/types.ts'
import { readJobSnapshot } from '../../src/jobs/queries.ts'
import { runToCompletion } from '../../src/shared/time-slices.ts'
import { mapType } from '../engine/kit.ts'
import { call } from '../helpers/http.ts'
import { withMoreTime } from '../helpers/patience.ts'
import { temporaryFolder, until } from '../helpers/server.ts'
import {
  coded,
  deaf,
  type GatedServer,
  gated,
  history,
  OWNER,
  plain,
  startGated,
  submission,
  submit,
  valid,
  words,
} from './kit.ts'

const errorOf = (row: { error: string | null }) => JSON.parse(row.error ?? 'null') as JobError | null

async function firing(server: GatedServer, gate: 'gate' | 'deaf' = 'gate') {
  return until('a firing to wait', () => server[gate].waiting[0])
}

describe('cancel', () => {
  test('a queued job ends at once and never starts', async () => {
    await using server = await startGated({ config: { max_concurrent_jobs: 1 } })
    const first = submit(server, { graph: gated })
    const second = submit(server, { graph: gated })
    const { row, active } = await server.context.runs.jobs.cancel(OWNER, second.row.id)
    assert.deepEqual([row.status, row.started_at, active], ['cancelled', null, null])
    assert.deepEqual((await history(server, row)).map(words), ['status accepted', 'status queued 1', 'end cancelled'])
    ;(await firing(server)).open()
    await first.settled()
    assert.equal(server.gate.started, 1)
  })

  test('a queued job can be cancelled in the turn of its submission', async () => {
    await using server = await startGated({ config: { max_concurrent_jobs: 1 } })
    submit(server, { graph: gated })
    const second = submit(server, { graph: gated })
    await server.context.runs.jobs.cancel(OWNER, second.row.id)
    assert.deepEqual((await history(server, second.row)).map(words).at(-1), 'end cancelled')
  })

  test('a running job is cancel_requested first, and ends when its firings have settled', async () => {
    await using server = await startGated()
    const job = submit(server, { graph: deaf })
    const entry = await firing(server, 'deaf')
    const { row } = await server.context.runs.jobs.cancel(OWNER, job.row.id)
    assert.equal(row.status, 'cancel_requested')
    assert.equal(entry.signal.aborted, true)
    entry.open()
    await job.settled()
    assert.deepEqual((await history(server, row)).map(words), [
      'status accepted',
      'status running',
      'node in running',
      'node in completed',
      'node gate running',
      'status cancel_requested',
      'end cancelled',
    ])
    assert.equal((await server.context.runs.jobs.get(OWNER, row.id)).row.error, null)
    const headers = { Accept: 'application/json' }
    const { body } = await call<JobEvent[]>(server, 'GET', `/api/jobs/${row.id}/events`, { headers })
    assert.ok(body.some((event) => event.type === 'job_status' && event.status === 'cancel_requested'))
  })

  test('a second cancellation has no effect', async () => {
    await using server = await startGated()
    const job = submit(server, { graph: deaf })
    const entry = await firing(server, 'deaf')
    const { jobs } = server.context.runs
    const both = await Promise.all([jobs.cancel(OWNER, job.row.id), jobs.cancel(OWNER, job.row.id)])
    assert.deepEqual(
      both.map(({ row }) => row.status),
      ['cancel_requested', 'cancel_requested'],
    )
    await jobs.cancel(OWNER, job.row.id)
    entry.open()
    await job.settled()
    const events = (await history(server, job.row)).map(words)
    assert.equal(events.filter((event) => event === 'status cancel_requested').length, 1)
    assert.equal(events.at(-1), 'end cancelled')
  })

  for (const status of ['completed', 'failed', 'cancelled'] as const) {
    test(`a ${status} job stays as it is when it is cancelled`, async () => {
      const failing = mapType('test.Fails', () => {
        throw new Error('no')
      })
      await using server = await startGated({ types: [failing] })
      const { jobs } = server.context.runs
      const job = submit(server, { graph: gated })
      const entry = await firing(server)
      if (status === 'completed') entry.open()
      if (status === 'failed') entry.fail(new Error('no'))
      if (status === 'cancelled') await jobs.cancel(OWNER, job.row.id)
      await job.settled()
      const before = await readJobSnapshot(server.context.runs, await jobs.get(OWNER, job.row.id))
      const after = await readJobSnapshot(server.context.runs, await jobs.cancel(OWNER, job.row.id))
      assert.equal(before.status, status)
      assert.deepEqual(after, before)
      valid('JobSnapshot', after)
    })
  }

  test('a job whose end is not committed yet keeps its end', async () => {
    await using server = await startGated()
    const job = submit(server, { graph: plain })
    assert.equal(job.feed.committed, 0)
    const { row } = await server.context.runs.jobs.cancel(OWNER, job.row.id)
    assert.equal(row.status, 'completed')
  })

  test('a firing that ends in the same turn wins or loses, but the job ends once', async () => {
    await using server = await startGated()
    for (const openFirst of [true, false]) {
      const job = submit(server, { graph: deaf })
      const entry = await firing(server, 'deaf')
      if (openFirst) entry.open()
      const cancelled = server.context.runs.jobs.cancel(OWNER, job.row.id)
      if (!openFirst) entry.open()
      await cancelled
      await job.settled()
      const events = (await history(server, job.row)).map(words)
      assert.equal(events.filter((event) => event.startsWith('end ')).length, 1)
      const { row } = await server.context.runs.jobs.get(OWNER, job.row.id)
      assert.equal(events.at(-1), `end ${row.status}`)
    }
  })

  test('a cancelled job gives its slot to a waiting job', async () => {
    await using server = await startGated({ config: { max_concurrent_jobs: 1 } })
    const first = submit(server, { graph: gated })
    const second = submit(server, { graph: plain })
    await firing(server)
    await server.context.runs.jobs.cancel(OWNER, first.row.id)
    await second.settled()
    assert.equal(second.row.status, 'completed')
  })
})

describe('time limits', () => {
  test('a job that takes too long has failed as timed_out', async () => {
    await using server = await startGated()
    const job = submit(server, { graph: gated, timeout_seconds: 0.02 })
    await job.settled()
    assert.equal(job.row.status, 'timed_out')
    assert.deepEqual((await history(server, job.row)).map(words).slice(-2), ['node gate running', 'end failed'])
    assert.deepEqual(errorOf(job.row), {
      message: 'The job did not end within 0.02 seconds.',
      type: 'timed_out',
      node_id: null,
      retryable: true,
    })
    valid(
      'JobSnapshot',
      await readJobSnapshot(server.context.runs, await server.context.runs.jobs.get(OWNER, job.row.id)),
    )
  })

  test('the server’s own time limit holds where the request has none', async () => {
    await using server = await startGated({ config: { job_timeout_seconds: 0.02 } })
    const job = submit(server, { graph: gated })
    await job.settled()
    assert.equal(job.row.status, 'timed_out')
  })

  test('a job that was cancelled before its time limit ends as cancelled', async () => {
    await withMoreTime(1_000, async (ms) => {
      await using server = await startGated()
      const job = submit(server, { graph: deaf, timeout_seconds: ms / 1_000 })
      const entry = await firing(server, 'deaf')
      await server.context.runs.jobs.cancel(OWNER, job.row.id)
      // The job is cancelled before its limit, and the limit passes before the work ends.
      const from = performance.now()
      await until('the limit to pass', () => performance.now() - from > ms + 100)
      entry.open()
      await job.settled()
      assert.equal(job.row.status, 'cancelled')
    })
  })

  test('a time limit of years sets a timer that does not fire at once', async () => {
    await using server = await startGated()
    const job = submit(server, { graph: gated, timeout_seconds: 31_536_000 })
    ;(await firing(server)).open()
    await job.settled()
    assert.equal(job.row.status, 'completed')
  })
})

describe('drain', () => {
  test('new jobs are SERVICE_UNAVAILABLE, running jobs get time to end, and queued jobs wait for the next process', async () => {
    await using server = await startGated({ config: { max_concurrent_jobs: 1 } })
    const { jobs } = server.context.runs
    const request = submission({ graph: gated, job_id: 'mine' })
    const first = jobs.submit(OWNER, request)
    const second = submit(server, { graph: plain })
    const drained = jobs.drain(5_000)
    assert.equal(jobs.draining, true)
    assert.throws(() => jobs.submit(OWNER, submission({ graph: plain })), coded('SERVICE_UNAVAILABLE'))
    assert.equal(jobs.submit(OWNER, request).duplicate, true, 'a repeated submission is no new work')
    ;(await firing(server)).open()
    await drained
    assert.equal(first.active!.row.status, 'completed')
    assert.deepEqual(
      runToCompletion(jobs.listActive(OWNER)).map(({ id, status }) => [id, status]),
      [[second.row.id, 'queued']],
    )
  })

  test('after the limit of the drain, running and queued jobs continue in the next process', async () => {
    const data_dir = temporaryFolder()
    try {
      const ids: string[] = []
      {
        await using server = await startGated({ config: { max_concurrent_jobs: 1 }, data_dir })
        const running = submit(server, { graph: gated })
        const waiting = [submit(server, { graph: gated }), submit(server, { graph: plain })]
        await firing(server)
        const told = assert.rejects(running.settled(), coded('OUTCOME_UNKNOWN'))
        await server.context.runs.jobs.drain(1)
        await told
        ids.push(...[running, ...waiting].map(({ row }) => row.id))
        assert.equal(server.gate.started, 1, 'none of those that waited was started')
      }
      await using server = await startGated({ config: { max_concurrent_jobs: 1 }, data_dir })
      for (const id of ids.slice(0, 2)) {
        const entry = await firing(server)
        await until('its run', async () => (await server.context.runs.jobs.get(OWNER, id)).row.status === 'running')
        entry.open()
        await until('its end', () => server.context.runs.jobs.living(OWNER, id) === null)
      }
      for (const id of ids) {
        const { row } = await server.context.runs.jobs.get(OWNER, id)
        const told = (await history(server, row)).map(words)
        assert.equal(told.at(-1), 'end completed')
        assert.equal(told.filter((word) => word === 'output out "x"').length, 1)
      }
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })

  test('a job with a requested cancellation ends as cancelled', async () => {
    await using server = await startGated()
    const { jobs } = server.context.runs
    const job = submit(server, { graph: deaf })
    const entry = await firing(server, 'deaf')
    await jobs.cancel(OWNER, job.row.id)
    const drained = jobs.drain(1)
    await until('the interruption', () => entry.signal.aborted)
    entry.open()
    await drained
    assert.equal((await jobs.get(OWNER, job.row.id)).row.status, 'cancelled')
  })

  test('a server without jobs drains at once', async () => {
    await using server = await startGated()
    await server.context.runs.jobs.drain(60_000)
    assert.equal(server.context.runs.jobs.draining, true)
  })
})
