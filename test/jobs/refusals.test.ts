// A refused submission means that no job is stored. Where the server cannot know that, or the job continues, the error names the job.
import assert from 'node:assert/strict'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { LOCAL_PRINCIPAL } from '../../src/access/principal.ts'
import { journalFolderPath } from '../../src/db/files/data-folder.ts'
import { findLastJobKey } from '../../src/db/jobs/rows.ts'
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import type { ServiceError } from '../../src/errors.ts'
import { submitJob } from '../../src/lifecycle/submissions.ts'
import { runToCompletion } from '../../src/shared/time-slices.ts'
import { graph, mapType, node, output, sink, source, testType, value } from '../engine/kit.ts'
import { type Answer, call, type ErrorBody } from '../helpers/http.ts'
import { until } from '../helpers/server.ts'
import { startPreview, submissionOf, workflow } from '../lifecycle/jobs-kit.ts'
import { coded, ended, type GatedServer, gated, OWNER, outputs, plain, Saboteur, startGated, submit } from './kit.ts'

const run = (server: GatedServer, id: string, body: object = {}) =>
  call<ErrorBody>(server, 'POST', `/api/workflows/${id}/run`, { body })

/** Checks that a 503 names a stored job, and returns its id. */
async function named(server: GatedServer, { status, body, headers }: Answer<ErrorBody>): Promise<string> {
  assert.deepEqual([status, body.error.type], [503, 'outcome_unknown'])
  const [, id] =
    /^\/api\/jobs\/(\S+)$/.exec(String(headers.location)) ?? assert.fail(`no Location: ${headers.location}`)
  assert.ok(server.context.runs.jobs.isStored(OWNER, id!))
  return id!
}

describe('a stored job whose client waits for its end', () => {
  test('is named in the error where the server stops', async () => {
    await using server = await startGated()
    const { id } = await workflow(server, gated)
    const answer = run(server, id)
    const { id: job_id } = await until(
      'its first commit',
      () => runToCompletion(server.context.runs.jobs.listActive(OWNER))[0],
    )
    const stopped = server.context.runs.jobs.drain(0)
    assert.equal(await named(server, await answer), job_id)
    await stopped
  })

  test('is named in the error where it waits for time while the server stops', async () => {
    await using server = await startGated()
    const delayed = graph(
      [source('in', 'x'), node('wait', 'control.Delay', { seconds: 3_600 }), sink('out')],
      ['in.output->wait.value', 'wait.output->out.value'],
    )
    const { id } = await workflow(server, delayed)
    const answer = run(server, id)
    await until(
      'the job to rest',
      () => runToCompletion(server.context.runs.jobs.listActive(OWNER))[0]?.status === 'paused',
    )
    const stopped = server.context.runs.jobs.drain(0)
    await named(server, await answer)
    await stopped
  })

  test('is named in the error where its history cannot be written any further, and continues', async () => {
    await using server = await startGated()
    using saboteur = new Saboteur(server)
    const { id } = await workflow(server, gated)
    const answer = run(server, id)
    const gate = await until('the firing', () => server.gate.waiting[0])
    await until('its first commit', () => runToCompletion(server.context.runs.jobs.listActive(OWNER))[0])
    saboteur.break()
    gate.open()
    const job_id = await named(server, await answer)
    saboteur.mend()
    ;(await until('the firing once more', () => server.gate.waiting[0])).open()
    assert.equal((await ended(server, job_id)).status, 'completed')
  })
})

describe('a submission that is refused', () => {
  test('is not stored where the server stops before its requested commit', async () => {
    await using server = await startGated()
    const last = server.context.store.read(findLastJobKey)
    const job = submit(server, { graph: plain })
    job.detach()
    const refused = await job.accepted().catch((error: ServiceError) => error)
    assert.ok(coded('SERVICE_UNAVAILABLE')(refused))
    assert.deepEqual((refused as ServiceError).headers, {})
    await server.context.store.write(() => null)
    assert.equal(server.context.store.read(findLastJobKey), last)
  })

  test('is not stored where its commit fails', async () => {
    await using server = await startGated()
    using saboteur = new Saboteur(server)
    const { id } = await workflow(server, plain)
    const last = server.context.store.read(findLastJobKey)
    saboteur.break()
    for (const background of [true, false]) {
      const { status, body, headers } = await run(server, id, { background })
      assert.deepEqual([status, body.error.type, headers.location], [503, 'service_unavailable', undefined])
    }
    saboteur.mend()
    assert.equal(server.context.store.read(findLastJobKey), last)
  })

  test('names its job where the request times out while the job is being stored', async () => {
    await using server = await startPreview()
    const held = graph(
      [node('in', 'input.Any', { name: 'in' }), node('gate', 'test.Gate'), sink('out')],
      ['in.output->gate.value', 'gate.output->out.value'],
    )
    const of = await workflow(server, held)
    const request = submissionOf(of, { inputs: { in: 'x'.repeat(20 << 20) } })
    const late = new AbortController()
    const answer = submitJob(server.context.runs, LOCAL_PRINCIPAL, request, { at: '/body', signal: late.signal })
    const refused = answer.catch((error: ServiceError) => error)
    // The large value is written to disk before the first commit.
    await until('its files', () => readdirSync(journalFolderPath(server.data_dir)).length > 0)
    late.abort()
    const error = (await refused) as ServiceError
    assert.ok(coded('SERVICE_UNAVAILABLE')(error))
    assert.deepEqual(error.headers, { Location: `/api/sdk/v1/jobs/${error.job_id}` })
    await until('the job', () => server.context.runs.jobs.isStored(OWNER, error.job_id!))
    const again = await submitJob(server.context.runs, LOCAL_PRINCIPAL, request, {
      at: '/body',
      signal: new AbortController().signal,
    })
    assert.deepEqual([again.job_id, again.duplicate], [error.job_id, true])
  })
})

describe('a retry', () => {
  const large = testType('test.Large', {
    properties: [value],
    outputs: [output],
    run: async () => ({ output: 'x'.repeat(1 << 20) }),
  })
  const failing = mapType('test.Fails', () => {
    throw new NodeError('It fails.')
  })
  const of = graph(
    [source('in', 'x'), node('large', 'test.Large'), node('bad', 'test.Fails'), sink('out')],
    ['in.output->large.value', 'large.output->bad.value', 'bad.output->out.value'],
  )

  test('of a job whose value file is missing is 409 with the reason, and no job is made', async () => {
    await using server = await startGated({ types: [large, failing] })
    const job = submit(server, { graph: of })
    await job.settled()
    assert.equal(job.row.status, 'failed')
    const folder = journalFolderPath(server.data_dir)
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true })
    const last = server.context.store.read(findLastJobKey)
    const { status, body } = await call<ErrorBody>(server, 'POST', `/api/jobs/${job.row.id}/retry`)
    assert.deepEqual([status, body.error.type], [409, 'conflict'])
    assert.match(body.error.message, /missing or cannot be read: run it anew/)
    assert.doesNotMatch(JSON.stringify(body), /ENOENT|journal/)
    assert.equal(server.context.store.read(findLastJobKey), last)
  })

  test('of a job whose parameters are missing is 409 as well', async () => {
    await using server = await startGated({ types: [failing] })
    const given = graph(
      [node('in', 'input.Any', { name: 'in' }), node('bad', 'test.Fails'), sink('out')],
      ['in.output->bad.value', 'bad.output->out.value'],
    )
    const job = submit(server, { graph: given, params: { in: 'x'.repeat(1 << 20) } })
    await job.settled()
    const folder = journalFolderPath(server.data_dir)
    assert.ok(readdirSync(folder).length > 0)
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true })
    const { status, body } = await call<ErrorBody>(server, 'POST', `/api/jobs/${job.row.id}/retry`)
    assert.deepEqual([status, body.error.type], [409, 'conflict'])
  })
})

test('a job that failed for a missing resource of the server is retryable', async () => {
  let lacks = true
  const lacking = mapType('test.Lacks', (given) => {
    if (lacks) throw new NodeError('There is no room now.', 'unavailable')
    return given
  })
  await using server = await startGated({ types: [lacking] })
  const of = graph(
    [source('in', 'x'), node('lacks', 'test.Lacks'), sink('out')],
    ['in.output->lacks.value', 'lacks.output->out.value'],
  )
  const job = submit(server, { graph: of })
  await job.settled()
  const { type, retryable } = JSON.parse(job.row.error!) as { type: string; retryable: boolean }
  assert.deepEqual([type, retryable], ['unavailable', true])
  lacks = false
  const { row } = await server.context.runs.jobs.retry(OWNER, job.row.id)
  assert.deepEqual(outputs(await ended(server, row.id)), { out: 'x' })
})
