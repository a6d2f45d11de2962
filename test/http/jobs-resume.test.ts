// Jobs that continue over HTTP: with the value that they wait for, or by a retry.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { JobSnapshot } from '../../generated/types.ts'
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import { ANY_TYPE } from '../../src/engine/node-api/values/type-metadata.ts'
import { graph, node, sink, source, testType } from '../engine/kit.ts'
import { call, refused } from '../helpers/http.ts'
import { type TestServer, until } from '../helpers/server.ts'
import { gated, plain, startGated, submit } from '../jobs/kit.ts'

const SCHEMA = { type: 'object', required: ['ok'], properties: { ok: { type: 'boolean' } } }

const waiting = graph(
  [node('wait', 'control.WaitFor', { name: 'answer', schema: SCHEMA }), sink('out')],
  ['wait.value->out.value'],
)

const approvals = graph(
  [source('in', 'x'), node('a', 'human.Approval'), node('b', 'human.Approval'), sink('x'), sink('y')],
  ['in.output->a.value', 'in.output->b.value', 'a.approved->x.value', 'b.approved->y.value'],
)

async function read(server: TestServer, id: string): Promise<JobSnapshot> {
  return (await call<JobSnapshot>(server, 'GET', `/api/jobs/${id}`)).body
}

/** Starts a job that suspends. Returns the URL that resumes it. */
async function suspended(server: TestServer, of: ReturnType<typeof graph>): Promise<{ id: string; path: string }> {
  const { id } = submit(server, { graph: of }).row
  await until('the job to wait', async () => (await read(server, id)).status === 'suspended')
  return { id, path: `/api/jobs/${id}/resume` }
}

describe('resumeJob', () => {
  test('resumeJob: the job shows its wait, takes the value and completes', async () => {
    await using server = await startGated()
    const { id, path } = await suspended(server, waiting)
    const before = await read(server, id)
    assert.deepEqual(before.waiting, [
      { node_id: 'wait', kind: 'value', name: 'answer', message: null, schema: SCHEMA },
    ])
    const { status, body } = await call<JobSnapshot>(server, 'POST', path, { body: { value: { ok: true } } })
    assert.equal(status, 200)
    assert.notEqual(body.status, 'suspended')
    assert.ok(body.last_sequence > before.last_sequence)
    const ended = await until('its end', async () => {
      const snapshot = await read(server, id)
      return snapshot.status === 'completed' && snapshot
    })
    assert.deepEqual(ended.result?.outputs, { out: { ok: true } })
    await refused(server, 'POST', path, { body: { value: { ok: true } } }, [409, 'job_not_suspended'])
  })

  test('resumeJob: an invalid value is refused with every problem below /body/value, and the job keeps waiting', async () => {
    await using server = await startGated()
    const { id, path } = await suspended(server, waiting)
    const refusedAt = (body: object) => refused(server, 'POST', path, { body }, [422, 'invalid_parameters'])
    assert.deepEqual(await refusedAt({ value: { ok: 'yes' } }), ['/body/value/ok'])
    assert.deepEqual(await refusedAt({ value: 1 }), ['/body/value'])
    assert.deepEqual(await refusedAt({ value: { ok: true }, name: 'other' }), ['/body/name'])
    assert.deepEqual(await refusedAt({ value: { ok: true }, node_id: 'other' }), ['/body/node_id'])
    assert.equal((await read(server, id)).status, 'suspended')
  })

  test('resumeJob: if several nodes wait, the named node gets the value', async () => {
    await using server = await startGated()
    const { id, path } = await suspended(server, approvals)
    const problems = await refused(server, 'POST', path, { body: { value: true } }, [422, 'invalid_parameters'])
    assert.deepEqual(problems, ['/body/node_id'])
    await call(server, 'POST', path, { body: { value: true, node_id: 'b', name: null } })
    await until('the other to wait alone', async () => {
      const { status, waiting: left } = await read(server, id)
      return status === 'suspended' && left.map(({ node_id }) => node_id).join() === 'a'
    })
    await call(server, 'POST', path, { body: { value: true } })
    await until('its end', async () => (await read(server, id)).status === 'completed')
  })

  test('JOB_NOT_SUSPENDED: a running job, and an unknown job', async () => {
    await using server = await startGated()
    const job = submit(server, { graph: gated })
    await job.accepted()
    const body = { value: null }
    await refused(server, 'POST', `/api/jobs/${job.row.id}/resume`, { body }, [409, 'job_not_suspended'])
    await refused(server, 'POST', '/api/jobs/missing/resume', { body }, [404, 'job_not_found'])
    const none = await refused(server, 'POST', '/api/jobs/missing/resume', { body: {} }, [400, 'invalid_request'])
    assert.deepEqual(none, ['/body/value'])
  })
})

/** Fails until it is repaired. */
function fragile() {
  const state = { mended: false, began: 0 }
  const type = testType('test.Fragile', {
    properties: [{ name: 'value', type: ANY_TYPE, required: true }],
    outputs: [{ name: 'output', type: ANY_TYPE }],
    run({ value }) {
      state.began++
      if (!state.mended) throw new NodeError('It is broken.', 'broken')
      return { output: value }
    },
  })
  return { state, type }
}

describe('retryJob', () => {
  test('retryJob: creates a new job with its own URL, and leaves the old one unchanged', async () => {
    const { state, type } = fragile()
    await using server = await startGated({ types: [type] })
    const of = graph(
      [source('in', 'x'), node('weak', 'test.Fragile'), sink('out')],
      ['in.output->weak.value', 'weak.output->out.value'],
    )
    const job = submit(server, { graph: of })
    await job.settled()
    const before = await read(server, job.row.id)
    assert.equal(before.status, 'failed')
    state.mended = true
    const { status, headers, body } = await call<JobSnapshot>(server, 'POST', `/api/jobs/${job.row.id}/retry`)
    assert.equal(status, 202)
    assert.equal(headers.location, `/api/jobs/${body.job_id}`)
    assert.notEqual(body.job_id, job.row.id)
    await until('its end', async () => (await read(server, body.job_id)).status === 'completed')
    assert.deepEqual(await read(server, job.row.id), before)
    assert.equal(state.began, 2)
  })

  test('retryJob: refuses a completed, an active and an unknown job', async () => {
    await using server = await startGated()
    const [done, running] = [submit(server, { graph: plain }), submit(server, { graph: gated })]
    await Promise.all([done.settled(), running.accepted()])
    const retry = (id: string, told: [number, string]) => refused(server, 'POST', `/api/jobs/${id}/retry`, {}, told)
    await retry(done.row.id, [409, 'conflict'])
    await retry(running.row.id, [409, 'job_not_terminal'])
    await retry('missing', [404, 'job_not_found'])
  })
})
