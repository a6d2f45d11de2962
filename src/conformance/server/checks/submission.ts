// Submissions: at most once under their key, and only what a preflight lets pass.
import { broken, graphs } from '../graphs.ts'
import { cancel, ended, ownWorkflow, readJob, submission, workflow } from '../jobs.ts'
import { type JsonMap, listOf, mapOf, namesOf } from '../json.ts'
import { type Answer, shown } from '../target.ts'
import type { Trial } from '../trial.ts'
import { expect, Skip } from '../verdicts.ts'
import type { ChecksOf } from './check.ts'
import { queuedJob } from './queued-job.ts'

export const submissionChecks: ChecksOf<'submission'> = {
  'server.submission.acknowledged': async (t) => {
    const json = await greeting(t)
    const answer = await submit(t, json)
    const ack = mapOf(answer.body)
    const { request, answer: got } = shown(answer)
    const told = ack.client_request_id === json.client_request_id && ack.duplicate === false
    const queued = ack.status === 'queued' ? Number(ack.queue_position) >= 1 : ack.queue_position === null
    const admitted = ['accepted', 'queued'].includes(String(ack.status)) && queued
    expect(answer.status === 202 && told && admitted, 'the acknowledgement does not fit the submission', request, got)
    const { runnable, level } = mapOf(ack.preflight)
    expect(
      runnable === true && level === 'execution',
      'its preflight is not one that passed at execution',
      request,
      got,
    )
    const there = await readJob(t, String(ack.job_id))
    expect(there.status === 200, 'an acknowledged job is not there', request, shown(there))
    const location = await t.target.send('GET', new URL(String(answer.headers.location), t.target.url).pathname)
    expect(mapOf(location.body).job_id === ack.job_id, 'Location does not lead to the job', request, got)
  },
  'server.submission.duplicate': async (t) => {
    const json = await greeting(t)
    const first = await submit(t, json)
    const jobs = [first, await submit(t, json), await submit(t, { ...json, client_request_id: 'another attempt' })]
    await ended(t, jobOf(first))
    jobs.push(await submit(t, json))
    for (const again of jobs.slice(1)) expectDuplicate(first, again)
    expect(
      mapOf(jobs[2]!.body).client_request_id === 'another attempt',
      'client_request_id is not echoed',
      json,
      jobs[2]!.body,
    )
  },
  'server.submission.normalised': async (t) => {
    const stored = await workflow(t, 'waiting')
    const json = submission(stored, {})
    const first = await submit(t, json)
    const { inputs: _, ...bare } = json
    const defaults = { concurrent: false, require_terminal_result: true }
    for (const same of [
      bare,
      { ...json, workspace_id: null, options: null },
      { ...json, options: defaults },
      { ...bare, options: { concurrent: null } },
    ]) {
      expectDuplicate(first, await submit(t, same))
    }
    await cancel(t, jobOf(first))
  },
  'server.submission.conflict': async (t) => {
    const json = await greeting(t)
    await submit(t, json)
    for (const other of [
      { inputs: { name: 'Bob' } },
      { workflow_id: (await workflow(t, 'waiting')).id },
      { options: { concurrent: true } },
    ]) {
      expectError(await submit(t, { ...json, ...other }), 409, 'IDEMPOTENCY_CONFLICT')
    }
  },
  'server.submission.one-of-two': async (t) => {
    const json = await greeting(t)
    const answers = await Promise.all(Array.from({ length: 4 }, () => submit(t, json)))
    const ids = new Set(answers.map(jobOf))
    const originals = answers.filter(({ body }) => mapOf(body).duplicate === false)
    const right = ids.size === 1 && originals.length === 1 && answers.every(({ status }) => status === 202)
    expect(
      right,
      'equal submissions at once do not make one job',
      json,
      answers.map(({ body }) => body),
    )
  },
  'server.submission.etag': async (t) => {
    const json = { ...(await greeting(t)), workflow_etag: 'conformance' }
    expectError(await submit(t, json), 409, 'WORKFLOW_REVISION_CONFLICT')
  },
  'server.submission.key-first': async (t) => {
    t.needs('submitJob', 'updateWorkflow')
    const stored = await ownWorkflow(t, 'edited')
    const json = submission(stored, { name: 'Ada' })
    const first = await submit(t, json)
    const edited = { name: 'conformance edited', graph: graphs.waiting }
    await t.good('updateWorkflow', 200, { values: { id: stored.id } }, { json: edited })
    expectDuplicate(first, await submit(t, json))
    expectError(await submit(t, submission(stored, { name: 'Ada' })), 409, 'WORKFLOW_REVISION_CONFLICT')
  },
  'server.submission.preflight-failed': preflightFailed,
  'server.submission.not-found': async (t) => {
    const json = { ...(await greeting(t)), workflow_id: 'conformance-unknown' }
    expectError(await submit(t, json), 404, 'WORKFLOW_NOT_FOUND')
  },
  'server.submission.same-over-socket': async (t) => {
    t.needsCommands('submit_job')
    const json = await greeting(t)
    const first = await submit(t, json)
    const socket = await t.socket()
    const reply = await socket.ask('submit_job', json)
    const { job_id, duplicate } = mapOf(reply.result)
    expect(job_id === jobOf(first) && duplicate === true, 'the socket does not know the key', json, reply)
    const other = await socket.ask('submit_job', { ...json, inputs: { name: 'Bob' } })
    expect(other.error?.code === 'IDEMPOTENCY_CONFLICT', 'the socket takes the key for another request', json, other)
  },
  'server.submission.queued': async (t) => {
    const { snapshots, status } = await queuedJob(t)
    if (status === 'suspended') throw new Skip('a suspended job does not hold up the next one of its workflow')
    expect(status === 'queued', `the second job is ${String(status)}`, { concurrent: false }, snapshots)
  },
}

async function greeting(t: Trial): Promise<JsonMap> {
  t.needs('submitJob')
  return submission(await workflow(t, 'greeting'), { name: 'Ada' })
}

function submit(t: Trial, json: JsonMap): Promise<Answer> {
  t.needs('submitJob')
  return t.call('submitJob', {}, { json })
}

function jobOf({ body }: Answer): string {
  return String(mapOf(body).job_id)
}

function expectDuplicate(first: Answer, again: Answer): void {
  const { request, answer } = shown(again)
  const right = again.status === 202 && jobOf(again) === jobOf(first) && mapOf(again.body).duplicate === true
  expect(right, `it is no duplicate of ${jobOf(first)}`, request, answer)
}

function expectError(answer: Answer, status: number, code: string): void {
  const { request, answer: got } = shown(answer)
  expect(answer.status === status && mapOf(answer.body).code === code, `it is no ${status} ${code}`, request, got)
}

async function preflightFailed(t: Trial): Promise<void> {
  t.needs('submitJob')
  const stored = await ownWorkflow(t, 'strict')
  for (const inputs of [{}, { name: 5 }, { name: 'Ada', odd: 1 }]) {
    const answer = await submit(t, submission(stored, inputs))
    expectError(answer, 422, 'PREFLIGHT_FAILED')
    const { problems } = mapOf(mapOf(answer.body).error)
    expect(listOf(problems).length > 0, 'the issues are not listed', { inputs }, answer.body)
  }
  if (t.serves('listJobs')) {
    const query = `workflow_id=${encodeURIComponent(stored.id)}`
    const jobs = listOf((await t.good('listJobs', 200, { query })).body)
    expect(jobs.length === 0, 'a refused submission has made a job', {}, namesOf(jobs, 'job_id'))
  }
  const torn = await ownWorkflow(t, 'torn', broken.unknown_handle)
  expectError(await submit(t, submission(torn, { name: 'Ada' })), 422, 'INVALID_WORKFLOW_GRAPH')
}
