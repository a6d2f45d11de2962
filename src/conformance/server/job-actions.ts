// Starts, reads, follows, resumes and cancels jobs through the operations that the server claims.

import { CheckSkipped, expect } from './check-outcomes.ts'
import { isMap, type JsonMap, listOf, mapOf } from './json.ts'
import { type SampleGraph, type SampleGraphName, sampleGraphs } from './sample-graphs.ts'
import type { StoredWorkflow, SuiteContext } from './suite-context.ts'
import { type SuiteAnswer, toEvidenceParts } from './target-server.ts'

export const TERMINAL_STATUSES: readonly string[] = ['completed', 'failed', 'cancelled']

export function isTerminal(snapshot: JsonMap): boolean {
  return TERMINAL_STATUSES.includes(String(snapshot.status))
}

/** Stores one of the suite's workflows. */
export function storeSampleWorkflow(t: SuiteContext, name: SampleGraphName): Promise<StoredWorkflow> {
  return t.memoize(`workflow ${name}`, () => t.storeWorkflow(name, sampleGraphs[name]))
}

/** Stores a workflow of its own for a check that changes it. */
export function storeOwnWorkflow(
  t: SuiteContext,
  name: string,
  graph: SampleGraph = sampleGraphs.greeting,
): Promise<StoredWorkflow> {
  return t.storeWorkflow(name, graph)
}

let serial = 0

/** Returns a new key. */
export function createUniqueKey(): string {
  return `conformance-${Date.now().toString(36)}-${++serial}-${Math.random().toString(36).slice(2)}`
}

/** Returns a new submission. */
export function createSubmission({ id, etag }: StoredWorkflow, inputs: JsonMap, more: JsonMap = {}): JsonMap {
  const idempotency_key = createUniqueKey()
  const client_request_id = `attempt-${serial}`
  return {
    client_request_id,
    idempotency_key,
    workflow_id: id,
    workflow_etag: etag,
    interface_version: 1,
    inputs,
    ...more,
  }
}

export interface StartedJob {
  job_id: string
  /** The answer to the submission. Null where the server has no submissions. */
  acknowledged: JsonMap | null
}

/** Starts a job by submission where the server supports it, else by a run in the background. Returns its id. */
export async function startJob(
  t: SuiteContext,
  stored: StoredWorkflow,
  inputs: JsonMap,
  concurrent = true,
): Promise<string> {
  return (await startJobWithReply(t, stored, inputs, concurrent)).job_id
}

/** Starts a job as `startJob` does, and returns the answer as well. */
export async function startJobWithReply(
  t: SuiteContext,
  stored: StoredWorkflow,
  inputs: JsonMap,
  concurrent = true,
): Promise<StartedJob> {
  if (t.hasOperation('submitJob')) {
    const answer = await t.callExpecting(
      'submitJob',
      202,
      {},
      { json: createSubmission(stored, inputs, { options: { concurrent } }) },
    )
    const acknowledged = mapOf(answer.body)
    return { job_id: String(acknowledged.job_id), acknowledged }
  }
  t.requireOperations('runWorkflow')
  const json = { params: inputs, background: true }
  const answer = await t.callExpecting('runWorkflow', 202, { values: { id: stored.id } }, { json })
  return { job_id: String(mapOf(answer.body).job_id), acknowledged: null }
}

/** Reads a job, through the SDK's operation where the server has it. */
export async function readJob(t: SuiteContext, job_id: string): Promise<SuiteAnswer> {
  if (t.hasOperation('getJobSnapshot')) return t.call('getJobSnapshot', { values: { job_id } })
  t.requireOperations('getJob')
  return t.call('getJob', { values: { id: job_id } })
}

export async function readSnapshot(t: SuiteContext, job_id: string): Promise<JsonMap> {
  const answer = await readJob(t, job_id)
  const { request, answer: got } = toEvidenceParts(answer)
  expect(answer.status === 200 && isMap(answer.body), 'a job that exists can be read', request, got)
  return answer.body
}

/** Polls until the job satisfies the condition. Returns every snapshot, the last one included. */
export async function pollJobUntil(
  t: SuiteContext,
  job_id: string,
  wanted: (snapshot: JsonMap) => boolean,
): Promise<JsonMap[]> {
  const snapshots: JsonMap[] = []
  const deadline = performance.now() + t.target.timeout_ms
  for (;;) {
    const snapshot = await readSnapshot(t, job_id)
    snapshots.push(snapshot)
    if (wanted(snapshot)) return snapshots
    const found = `the job stays ${String(snapshot.status)} for ${t.target.timeout_ms} ms`
    expect(performance.now() < deadline && !isTerminal(snapshot), found, { job_id }, snapshot)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

export async function waitForJobEnd(t: SuiteContext, job_id: string): Promise<JsonMap> {
  return (await pollJobUntil(t, job_id, isTerminal)).at(-1)!
}

/** Returns all persisted events of a job after a sequence. @throws CheckSkipped where no operation returns them */
export async function readHistory(t: SuiteContext, job_id: string, after = 0): Promise<JsonMap[]> {
  if (t.hasOperation('followJobEvents')) {
    const place = { values: { id: job_id }, query: `after_sequence=${after}` }
    const answer = await t.callExpecting('followJobEvents', 200, place, { headers: { Accept: 'application/json' } })
    return listOf(answer.body).map(mapOf)
  }
  return (await readSubscription(t, job_id, after)).events
}

/** Subscribes on a new socket, and reads until the job's end. */
export async function readSubscription(
  t: SuiteContext,
  job_id: string,
  after: number | null,
  mode: 'binary' | 'text' = 'binary',
) {
  if (!t.hasCommand('subscribe_job'))
    throw new CheckSkipped('the server claims neither followJobEvents nor subscribe_job')
  const socket = await t.openSocket()
  if (mode === 'text') await socket.request('set_mode', { mode: 'text' })
  const from = socket.frames.length
  const data = after === null ? { job_id } : { job_id, after_sequence: after }
  const reply = await socket.request('subscribe_job', data, mode)
  const result = mapOf(reply.result)
  const snapshot = mapOf(result.snapshot)
  const isNew = (snapshot.last_sequence as number) > (after ?? 0) || !isTerminal(snapshot)
  const isLast = (frame: JsonMap) => frame.type === 'job_event' && mapOf(frame.event).type === 'job_terminal'
  if (reply.error === undefined && isNew) await socket.waitForFrame('job_terminal', isLast, from)
  await socket.waitUntilAnswered()
  const frames = socket.frames.slice(from).map(({ body }) => body)
  const events = frames.filter(({ type }) => type === 'job_event').map(({ event }) => mapOf(event))
  socket[Symbol.dispose]()
  return { reply, frames, events }
}

/** Sends the value that a suspended job waits for. */
export async function resumeJob(t: SuiteContext, job_id: string, value: unknown): Promise<void> {
  if (t.hasOperation('resumeJob')) {
    await t.callExpecting('resumeJob', 200, { values: { id: job_id } }, { json: { value } })
    return
  }
  t.requireCommands('resume_job')
  const socket = await t.openSocket()
  const reply = await socket.request('resume_job', { job_id, value })
  expect(reply.error === undefined, 'a suspended job takes its value', { command: 'resume_job', value }, reply)
}

/** Requests the cancellation, and returns the snapshot of the answer. */
export async function cancelJob(t: SuiteContext, job_id: string): Promise<JsonMap> {
  if (t.hasOperation('requestJobCancellation')) {
    const answer = await t.callExpecting('requestJobCancellation', 200, { values: { job_id } })
    return mapOf(mapOf(answer.body).snapshot)
  }
  t.requireOperations('cancelJob')
  return mapOf((await t.callExpecting('cancelJob', 200, { values: { id: job_id } })).body)
}
