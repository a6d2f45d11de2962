// Checks of submissions: at most one job for a key, and no job without a passed preflight.

import { CheckSkipped, expect } from '../check-outcomes.ts'
import {
  cancelJob,
  createSubmission,
  readJob,
  storeOwnWorkflow,
  storeSampleWorkflow,
  waitForJobEnd,
} from '../job-actions.ts'
import { type JsonMap, listOf, mapOf, pluckTexts } from '../json.ts'
import { brokenGraphs, sampleGraphs } from '../sample-graphs.ts'
import type { SuiteContext } from '../suite-context.ts'
import { type SuiteAnswer, toEvidenceParts } from '../target-server.ts'
import type { AreaChecks } from './check-types.ts'
import { createQueuedJob } from './queued-job.ts'

export const submissionChecks: AreaChecks<'submission'> = {
  'server.submission.acknowledged': async (t) => {
    const json = await createGreetingSubmission(t)
    const answer = await submitJob(t, json)
    const ack = mapOf(answer.body)
    const { request, answer: got } = toEvidenceParts(answer)
    const told = ack.client_request_id === json.client_request_id && ack.duplicate === false
    const queued = ack.status === 'queued' ? Number(ack.queue_position) >= 1 : ack.queue_position === null
    const admitted = ['accepted', 'queued'].includes(String(ack.status)) && queued
    expect(answer.status === 202 && told && admitted, 'the acknowledgement contradicts the submission', request, got)
    const { runnable, level } = mapOf(ack.preflight)
    expect(
      runnable === true && level === 'execution',
      'its preflight did not pass at the level execution',
      request,
      got,
    )
    const there = await readJob(t, String(ack.job_id))
    expect(there.status === 200, 'an acknowledged job is missing', request, toEvidenceParts(there))
    const location = await t.target.send('GET', new URL(String(answer.headers.location), t.target.url).pathname)
    expect(mapOf(location.body).job_id === ack.job_id, 'Location does not name the job', request, got)
  },
  'server.submission.duplicate': async (t) => {
    const json = await createGreetingSubmission(t)
    const first = await submitJob(t, json)
    const jobs = [
      first,
      await submitJob(t, json),
      await submitJob(t, { ...json, client_request_id: 'another attempt' }),
    ]
    await waitForJobEnd(t, readJobId(first))
    jobs.push(await submitJob(t, json))
    for (const again of jobs.slice(1)) expectDuplicate(first, again)
    expect(
      mapOf(jobs[2]!.body).client_request_id === 'another attempt',
      'client_request_id is not echoed',
      json,
      jobs[2]!.body,
    )
  },
  'server.submission.normalised': async (t) => {
    const stored = await storeSampleWorkflow(t, 'waiting')
    const json = createSubmission(stored, {})
    const first = await submitJob(t, json)
    const { inputs: _, ...bare } = json
    const defaults = { concurrent: false, require_terminal_result: true }
    for (const same of [
      bare,
      { ...json, workspace_id: null, options: null },
      { ...json, options: defaults },
      { ...bare, options: { concurrent: null } },
    ]) {
      expectDuplicate(first, await submitJob(t, same))
    }
    await cancelJob(t, readJobId(first))
  },
  'server.submission.conflict': async (t) => {
    const json = await createGreetingSubmission(t)
    await submitJob(t, json)
    for (const other of [
      { inputs: { name: 'Bob' } },
      { workflow_id: (await storeSampleWorkflow(t, 'waiting')).id },
      { options: { concurrent: true } },
    ]) {
      expectError(await submitJob(t, { ...json, ...other }), 409, 'IDEMPOTENCY_CONFLICT')
    }
  },
  'server.submission.one-of-two': async (t) => {
    const json = await createGreetingSubmission(t)
    const answers = await Promise.all(Array.from({ length: 4 }, () => submitJob(t, json)))
    const ids = new Set(answers.map(readJobId))
    const originals = answers.filter(({ body }) => mapOf(body).duplicate === false)
    const right = ids.size === 1 && originals.length === 1 && answers.every(({ status }) => status === 202)
    expect(
      right,
      'equal concurrent submissions do not create exactly one job',
      json,
      answers.map(({ body }) => body),
    )
  },
  'server.submission.etag': async (t) => {
    const json = { ...(await createGreetingSubmission(t)), workflow_etag: 'conformance' }
    expectError(await submitJob(t, json), 409, 'WORKFLOW_REVISION_CONFLICT')
  },
  'server.submission.key-first': async (t) => {
    t.requireOperations('submitJob', 'updateWorkflow')
    const stored = await storeOwnWorkflow(t, 'edited')
    const json = createSubmission(stored, { name: 'Ada' })
    const first = await submitJob(t, json)
    const edited = { name: 'conformance edited', graph: sampleGraphs.waiting }
    await t.callExpecting('updateWorkflow', 200, { values: { id: stored.id } }, { json: edited })
    expectDuplicate(first, await submitJob(t, json))
    expectError(await submitJob(t, createSubmission(stored, { name: 'Ada' })), 409, 'WORKFLOW_REVISION_CONFLICT')
  },
  'server.submission.preflight-failed': checkPreflightFailed,
  'server.submission.not-found': async (t) => {
    const json = { ...(await createGreetingSubmission(t)), workflow_id: 'conformance-unknown' }
    expectError(await submitJob(t, json), 404, 'WORKFLOW_NOT_FOUND')
  },
  'server.submission.same-over-socket': async (t) => {
    t.requireCommands('submit_job')
    const json = await createGreetingSubmission(t)
    const first = await submitJob(t, json)
    const socket = await t.openSocket()
    const reply = await socket.request('submit_job', json)
    const { job_id, duplicate } = mapOf(reply.result)
    expect(job_id === readJobId(first) && duplicate === true, 'the socket does not know the key', json, reply)
    const other = await socket.request('submit_job', { ...json, inputs: { name: 'Bob' } })
    expect(other.error?.code === 'IDEMPOTENCY_CONFLICT', 'the socket accepts the key for another request', json, other)
  },
  'server.submission.queued': async (t) => {
    const { snapshots, status } = await createQueuedJob(t)
    if (status === 'suspended') throw new CheckSkipped('a suspended job does not delay the next job of its workflow')
    expect(status === 'queued', `the second job is ${String(status)}`, { concurrent: false }, snapshots)
  },
}

async function createGreetingSubmission(t: SuiteContext): Promise<JsonMap> {
  t.requireOperations('submitJob')
  return createSubmission(await storeSampleWorkflow(t, 'greeting'), { name: 'Ada' })
}

function submitJob(t: SuiteContext, json: JsonMap): Promise<SuiteAnswer> {
  t.requireOperations('submitJob')
  return t.call('submitJob', {}, { json })
}

function readJobId({ body }: SuiteAnswer): string {
  return String(mapOf(body).job_id)
}

function expectDuplicate(first: SuiteAnswer, again: SuiteAnswer): void {
  const { request, answer } = toEvidenceParts(again)
  const right = again.status === 202 && readJobId(again) === readJobId(first) && mapOf(again.body).duplicate === true
  expect(right, `the answer is not a duplicate of ${readJobId(first)}`, request, answer)
}

function expectError(answer: SuiteAnswer, status: number, code: string): void {
  const { request, answer: got } = toEvidenceParts(answer)
  expect(
    answer.status === status && mapOf(answer.body).code === code,
    `the answer is not ${status} ${code}`,
    request,
    got,
  )
}

async function checkPreflightFailed(t: SuiteContext): Promise<void> {
  t.requireOperations('submitJob')
  const stored = await storeOwnWorkflow(t, 'strict')
  for (const inputs of [{}, { name: 5 }, { name: 'Ada', odd: 1 }]) {
    const answer = await submitJob(t, createSubmission(stored, inputs))
    expectError(answer, 422, 'PREFLIGHT_FAILED')
    const { problems } = mapOf(mapOf(answer.body).error)
    expect(listOf(problems).length > 0, 'the issues are not listed', { inputs }, answer.body)
  }
  if (t.hasOperation('listJobs')) {
    const query = `workflow_id=${encodeURIComponent(stored.id)}`
    const jobs = listOf((await t.callExpecting('listJobs', 200, { query })).body)
    expect(jobs.length === 0, 'a refused submission created a job', {}, pluckTexts(jobs, 'job_id'))
  }
  const torn = await storeOwnWorkflow(t, 'torn', brokenGraphs.unknown_handle)
  expectError(await submitJob(t, createSubmission(torn, { name: 'Ada' })), 422, 'INVALID_WORKFLOW_GRAPH')
}
