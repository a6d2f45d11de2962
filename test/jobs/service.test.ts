// The job service: the effects of a submission, the snapshots of each stage, and the ownership of ids.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { JobTable, StoredStatus } from '../../src/db/tables/jobs.ts'
import { readJobSnapshot } from '../../src/jobs/queries.ts'
import { buildJobSnapshot } from '../../src/jobs/snapshot.ts'
import { toPublicStatus } from '../../src/jobs/state-machine.ts'
import { runToCompletion } from '../../src/shared/time-slices.ts'
import { graph, mapType, node, sink, source } from '../engine/kit.ts'
import { until } from '../helpers/server.ts'
import { jobRow } from '../helpers/store.ts'
import { coded, deaf, gated, history, OWNER, plain, startGated, submission, submit, valid, words } from './kit.ts'

const failing = mapType('test.Fails', () => {
  throw new Error('a secret detail')
})

describe('submit', () => {
  test('writes the history of a job that completes, event by event', async () => {
    await using server = await startGated()
    const job = submit(server, { workflow_id: 'greeting', params: { name: 'Ada' } })
    await job.settled()
    assert.deepEqual((await history(server, job.row)).map(words), [
      'status accepted',
      'status running',
      'node name running',
      'node name completed',
      'node template running',
      'node template completed',
      'node greeting running',
      'output greeting "Hello, Ada!"',
      'node greeting completed',
      'end completed',
    ])
  })

  test('writes the history of a job that is queued first', async () => {
    await using server = await startGated({ config: { max_concurrent_jobs: 1 } })
    const first = submit(server, { graph: gated })
    const second = submit(server, { graph: plain })
    await second.accepted()
    assert.deepEqual(await (await server.context.runs.jobs.get(OWNER, second.row.id)).row.status, 'queued')
    await until('the first to run', () => server.gate.waiting[0])
    server.gate.waiting[0]!.open()
    await Promise.all([first.settled(), second.settled()])
    assert.deepEqual((await history(server, second.row)).map(words), [
      'status accepted',
      'status queued 1',
      'status running',
      'node in running',
      'node in completed',
      'node out running',
      'output out "x"',
      'node out completed',
      'end completed',
    ])
  })

  test('fails the job of a node that throws, with the node’s id and without the cause', async () => {
    await using server = await startGated({ types: [failing] })
    const of = graph(
      [source('in', 'x'), node('bad', 'test.Fails'), sink('out')],
      ['in.output->bad.value', 'bad.output->out.value'],
    )
    const job = submit(server, { graph: of })
    await job.settled()
    const events = await history(server, job.row)
    assert.deepEqual(events.map(words).slice(2), [
      'node in running',
      'node in completed',
      'node bad running',
      'node bad failed',
      'end failed',
    ])
    const { row } = await server.context.runs.jobs.get(OWNER, job.row.id)
    const error = JSON.parse(row.error!) as { node_id: string; retryable: boolean }
    assert.deepEqual([error.node_id, error.retryable], ['bad', false])
    assert.ok(!JSON.stringify(events).includes('secret'))
  })

  test('makes a row, a snapshot and a last event that agree', async () => {
    await using server = await startGated()
    const job = submit(server, { workflow_id: 'greeting', params: { name: 'Ada' }, name: 'a name' })
    await job.settled()
    const handle = await server.context.runs.jobs.get(OWNER, job.row.id)
    const snapshot = await readJobSnapshot(server.context.runs, handle)
    valid('JobSnapshot', snapshot)
    const last = (await history(server, job.row)).at(-1)!
    assert.deepEqual(last.type === 'job_terminal' && last.snapshot, snapshot)
    assert.equal(snapshot.last_sequence, 10)
    assert.equal(handle.row.name, 'a name')
    assert.equal(handle.active, null)
    assert.deepEqual(snapshot.result?.outputs, { greeting: 'Hello, Ada!' })
    assert.deepEqual(snapshot.result?.provenance.inputs, { name: 'Ada' })
  })

  test('shows no part of a job before it is stored', async () => {
    await using server = await startGated()
    // On a busy machine the engine may need a second turn for the graph.
    let job = submit(server, { graph: plain })
    for (let tries = 20; !job.terminal && tries > 0; tries--) {
      await history(server, job.row)
      job = submit(server, { graph: plain })
    }
    assert.equal(job.terminal, true, 'it has run')
    assert.deepEqual(runToCompletion(server.context.runs.jobs.listActive(OWNER)), [])
    assert.equal(job.feed.committed, 0)
    const { row } = await server.context.runs.jobs.get(OWNER, job.row.id)
    assert.equal(row.status, 'completed')
  })

  test('WORKFLOW_NOT_FOUND, INVALID_WORKFLOW_GRAPH, INVALID_PARAMETERS and INVALID_REQUEST leave no job behind', async () => {
    await using server = await startGated()
    const { jobs } = server.context.runs
    const refused = (more: Parameters<typeof submission>[0]) => () => jobs.submit(OWNER, submission(more))
    assert.throws(refused({ workflow_id: 'nowhere' }), coded('WORKFLOW_NOT_FOUND'))
    assert.throws(refused({}), coded('INVALID_REQUEST'))
    assert.throws(refused({ graph: graph([node('a', 'no.Such')], []) }), coded('INVALID_WORKFLOW_GRAPH'))
    assert.throws(
      refused({ workflow_id: 'greeting', params: { nam: 'x', other: 1 } }),
      (error) => coded('INVALID_PARAMETERS')(error) && (error as { problems: unknown[] }).problems.length === 3,
    )
    assert.deepEqual(runToCompletion(jobs.listActive(OWNER)), [])
    assert.equal(submit(server, { graph: plain }).row.key, 1, 'none of them took a place')
  })

  test('QUEUE_FULL leaves no job behind, and its id is free', async () => {
    await using server = await startGated({ config: { max_concurrent_jobs: 1, max_queued_jobs: 1 } })
    const { jobs } = server.context.runs
    const first = submit(server, { graph: gated })
    const second = submit(server, { graph: plain })
    assert.throws(() => jobs.submit(OWNER, submission({ graph: plain, job_id: 'mine' })), coded('QUEUE_FULL'))
    await Promise.all([first.accepted(), second.accepted()])
    assert.deepEqual(
      runToCompletion(jobs.listActive(OWNER)).map((row) => row.id),
      [first.row.id, second.row.id],
    )
    await until('the first to run', () => server.gate.waiting[0])
    server.gate.waiting[0]!.open()
    await second.settled()
    await submit(server, { graph: plain, job_id: 'mine' }).settled()
  })

  test('runs an inline graph instead of the workflow, whose id is only a label then', async () => {
    await using server = await startGated()
    const job = submit(server, { graph: plain, workflow_id: 'greeting' })
    await job.settled()
    assert.equal(job.row.workflow_id, 'greeting')
    assert.equal(job.row.workflow_etag, null)
    assert.deepEqual(JSON.parse(job.row.result!).outputs, { out: 'x' })
  })
})

describe('the workflow of a run', () => {
  test('is the last version, and no run starts once it was deleted', async () => {
    await using server = await startGated()
    const { workflows, jobs } = server.context.runs
    const saying = (value: string) => graph([source('in', value), sink('out')], ['in.output->out.value']) as never
    const { record } = await workflows.create(OWNER, { name: 'says', graph: saying('a') })
    const outputs = async () => {
      const job = submit(server, { workflow_id: record.id })
      await job.settled()
      return [JSON.parse(job.row.result!).outputs, job.row.workflow_revision]
    }
    assert.deepEqual(await outputs(), [{ out: 'a' }, 1])
    await workflows.update(OWNER, record.id, { name: 'says', graph: saying('b') }, null)
    assert.deepEqual(await outputs(), [{ out: 'b' }, 2])
    const stranger = { user_id: '2', workspace_id: null }
    const request = submission({ workflow_id: record.id })
    assert.throws(() => jobs.submit(stranger, request), coded('WORKFLOW_NOT_FOUND'))
    await workflows.delete(OWNER, record.id, null)
    assert.throws(() => jobs.submit(OWNER, request), coded('WORKFLOW_NOT_FOUND'))
  })

  test('stays the accepted graph of a job, even after the workflow was deleted', async () => {
    await using server = await startGated({ config: { max_concurrent_jobs: 1 } })
    const { workflows } = server.context.runs
    const { record } = await workflows.create(OWNER, { name: 'plain', graph: plain as never })
    const first = submit(server, { graph: gated })
    const second = submit(server, { workflow_id: record.id })
    await second.accepted()
    await workflows.delete(OWNER, record.id, null)
    ;(await until('the firing', () => server.gate.waiting[0])).open()
    await Promise.all([first.settled(), second.settled()])
    assert.equal(second.row.status, 'completed')
    assert.equal(server.context.runs.jobs.planOf(second.row).nodes.length, 2)
  })
})

describe('a job id of the client’s choice', () => {
  test('the same id with the same request is the same job, while it lives and afterwards', async () => {
    await using server = await startGated()
    const { jobs } = server.context.runs
    const request = submission({ graph: gated, job_id: 'mine', params: { in: 'y' } })
    const first = jobs.submit(OWNER, request)
    const again = jobs.submit(OWNER, { ...request, params_at: '/data/params', hasFollower: true })
    assert.equal(again.duplicate, true)
    assert.equal(again.active, first.active)
    await until('the firing', () => server.gate.waiting[0])
    server.gate.waiting[0]!.open()
    await first.active!.settled()
    const later = jobs.submit(OWNER, request)
    assert.deepEqual([later.duplicate, later.active, later.row.key], [true, null, first.row.key])
    assert.equal(server.gate.started, 1)
  })

  for (const [what, more] of Object.entries({
    params: { params: { in: 'z' } },
    'a graph': { graph: plain },
    'a name': { name: 'other' },
    'a time limit': { timeout_seconds: 5 },
    exclusiveness: { concurrent: false },
  })) {
    test(`the same id with another request is a CONFLICT: ${what}`, async () => {
      await using server = await startGated()
      const { jobs } = server.context.runs
      const first = submit(server, { graph: gated, job_id: 'mine' })
      await first.accepted()
      const other = submission({ graph: gated, job_id: 'mine', ...more })
      assert.throws(() => jobs.submit(OWNER, other), coded('CONFLICT'))
      assert.equal(first.status, 'running')
    })
  }

  test('the same id of another user or workspace is another job', async () => {
    await using server = await startGated()
    const owners = [OWNER, { user_id: '1', workspace_id: 'w' }, { user_id: '2', workspace_id: null }]
    const jobs = owners.map((owner) => submit(server, { graph: plain, job_id: 'mine' }, owner))
    await Promise.all(jobs.map((job) => job.settled()))
    for (const [at, owner] of owners.entries()) {
      assert.equal((await server.context.runs.jobs.get(owner, 'mine')).row.key, jobs[at]!.row.key)
    }
    await assert.rejects(
      server.context.runs.jobs.get({ user_id: '3', workspace_id: null }, 'mine'),
      coded('JOB_NOT_FOUND'),
    )
  })

  test('JOB_NOT_FOUND is the same for an unknown job and for another owner’s', async () => {
    await using server = await startGated()
    const job = submit(server, { graph: gated })
    const stranger = { user_id: '2', workspace_id: null }
    await job.accepted()
    for (const id of [job.row.id, 'nothing']) {
      await assert.rejects(server.context.runs.jobs.get(stranger, id), coded('JOB_NOT_FOUND'))
      await assert.rejects(server.context.runs.jobs.cancel(stranger, id), coded('JOB_NOT_FOUND'))
      assert.equal(server.context.runs.jobs.living(stranger, id), null)
    }
    assert.deepEqual(runToCompletion(server.context.runs.jobs.listActive(stranger)), [])
    assert.equal(job.status, 'running')
  })
})

describe('snapshots', () => {
  const AT = '2026-01-01T00:00:01.000Z'
  const result = JSON.stringify({
    version: 1,
    job_id: 'job_1',
    completed_at: AT,
    outputs: {},
    assets: [],
    cost: null,
    provenance: { workflow_id: 'wf', workflow_revision: null, inputs: {}, providers: [], models: [], seed: null },
  })
  const error = JSON.stringify({ message: 'It failed.', type: 'node_error', node_id: null, retryable: false })
  // The suspended job of this test has no stored waits.
  const ROWS: Record<Exclude<StoredStatus, 'paused'>, Partial<JobTable>> = {
    scheduled: {},
    pending: {},
    queued: {},
    running: { started_at: AT },
    recovering: { started_at: AT },
    cancel_requested: { started_at: AT },
    completed: { started_at: AT, finished_at: AT, result },
    failed: { started_at: AT, finished_at: AT, error },
    error: { started_at: AT, finished_at: AT, error },
    timed_out: { started_at: AT, finished_at: AT, error },
    cancelled: { finished_at: AT },
  }

  for (const [status, more] of Object.entries(ROWS)) {
    test(`of a job that is ${status} match their schema`, () => {
      const row = jobRow(1, { status: status as StoredStatus, last_sequence: 3, ...more })
      const snapshot = { ...buildJobSnapshot(row, () => 2), result: row.result && (JSON.parse(row.result) as object) }
      valid('JobSnapshot', snapshot)
      assert.equal(snapshot.status, toPublicStatus(row.status))
      assert.equal(snapshot.queue_position, status === 'queued' ? 2 : null)
    })
  }

  test('of real jobs match their schema: queued, running, cancel_requested, cancelled', async () => {
    await using server = await startGated({ config: { max_concurrent_jobs: 1 } })
    const { jobs } = server.context.runs
    const shown = async (id: string) => {
      const snapshot = await readJobSnapshot(server.context.runs, await jobs.get(OWNER, id))
      valid('JobSnapshot', snapshot)
      return [snapshot.status, snapshot.queue_position]
    }
    const first = submit(server, { graph: deaf })
    const [second, third] = [submit(server, { graph: plain }), submit(server, { graph: plain })]
    assert.deepEqual(await shown(first.row.id), ['running', null])
    assert.deepEqual(await shown(second.row.id), ['queued', 1])
    assert.deepEqual(await shown(third.row.id), ['queued', 2])
    await jobs.cancel(OWNER, second.row.id)
    assert.deepEqual(await shown(second.row.id), ['cancelled', null])
    assert.deepEqual(await shown(third.row.id), ['queued', 1])
    await until('the firing', () => server.deaf.waiting[0])
    await jobs.cancel(OWNER, first.row.id)
    assert.deepEqual(await shown(first.row.id), ['cancel_requested', null])
    server.deaf.waiting[0]!.fail(new Error('aborted'))
    await first.settled()
    assert.deepEqual(await shown(first.row.id), ['cancelled', null])
  })
})

describe('sub-workflows', () => {
  test('a workflow that calls itself without end fails at the depth limit', async () => {
    await using server = await startGated()
    const { workflows } = server.context.runs
    const calling = (id: string) => graph([node('call', 'workflow.Call', { workflow_id: id })], []) as never
    const { record } = await workflows.create(OWNER, { name: 'loop', graph: calling('nowhere') })
    await workflows.update(OWNER, record.id, { name: 'loop', graph: calling(record.id) }, null)
    const job = submit(server, { workflow_id: record.id })
    await job.settled()
    const { message, node_id } = JSON.parse(job.row.error!) as { message: string; node_id: string }
    assert.equal(node_id, 'call')
    assert.match(message, /16 deep/)
  })

  test('a workflow of another owner is not found', async () => {
    await using server = await startGated()
    const { record } = await server.context.runs.workflows.create(
      { user_id: '2', workspace_id: null },
      { name: 'private', graph: plain as never },
    )
    const job = submit(server, { graph: graph([node('call', 'workflow.Call', { workflow_id: record.id })], []) })
    await job.settled()
    assert.equal(job.row.status, 'failed')
    assert.match(job.row.error!, /cannot be called/)
  })
})
