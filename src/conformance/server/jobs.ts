// Jobs through whichever doors the server claims: how one is started, read, followed, resumed and cancelled.
import { type Graph, type GraphName, graphs } from './graphs.ts'
import { isMap, type JsonMap, listOf, mapOf } from './json.ts'
import { type Answer, shown } from './target.ts'
import type { StoredWorkflow, Trial } from './trial.ts'
import { expect, Skip } from './verdicts.ts'

export const TERMINAL: readonly string[] = ['completed', 'failed', 'cancelled']

export function isTerminal(snapshot: JsonMap): boolean {
  return TERMINAL.includes(String(snapshot.status))
}

/** One of the suite's workflows. */
export function workflow(t: Trial, name: GraphName): Promise<StoredWorkflow> {
  return t.once(`workflow ${name}`, () => t.store(name, graphs[name]))
}

/** One of its own for who changes it. */
export function ownWorkflow(t: Trial, name: string, graph: Graph = graphs.greeting): Promise<StoredWorkflow> {
  return t.store(name, graph)
}

let serial = 0

/** A key that nobody has used before. */
export function unused(): string {
  return `conformance-${Date.now().toString(36)}-${++serial}-${Math.random().toString(36).slice(2)}`
}

/** A submission that nobody has made before. */
export function submission({ id, etag }: StoredWorkflow, inputs: JsonMap, more: JsonMap = {}): JsonMap {
  const idempotency_key = unused()
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

export interface Begun {
  job_id: string
  /** What a submission was answered; null where the server takes none. */
  acknowledged: JsonMap | null
}

/** Starts a job by submission where the server has it, else by a run in the background; gives its id. */
export async function start(t: Trial, stored: StoredWorkflow, inputs: JsonMap, concurrent = true): Promise<string> {
  return (await begin(t, stored, inputs, concurrent)).job_id
}

/** As `start`, with what was answered. */
export async function begin(t: Trial, stored: StoredWorkflow, inputs: JsonMap, concurrent = true): Promise<Begun> {
  if (t.serves('submitJob')) {
    const answer = await t.good('submitJob', 202, {}, { json: submission(stored, inputs, { options: { concurrent } }) })
    const acknowledged = mapOf(answer.body)
    return { job_id: String(acknowledged.job_id), acknowledged }
  }
  t.needs('runWorkflow')
  const json = { params: inputs, background: true }
  const answer = await t.good('runWorkflow', 202, { values: { id: stored.id } }, { json })
  return { job_id: String(mapOf(answer.body).job_id), acknowledged: null }
}

/** The answer to a read of a job, through the SDK's door where there is one. */
export async function readJob(t: Trial, job_id: string): Promise<Answer> {
  if (t.serves('getJobSnapshot')) return t.call('getJobSnapshot', { values: { job_id } })
  t.needs('getJob')
  return t.call('getJob', { values: { id: job_id } })
}

export async function snapshotOf(t: Trial, job_id: string): Promise<JsonMap> {
  const answer = await readJob(t, job_id)
  const { request, answer: got } = shown(answer)
  expect(answer.status === 200 && isMap(answer.body), 'a job that exists can be read', request, got)
  return answer.body
}

/** Polls until the job is as wanted; gives every snapshot on the way, that one last. */
export async function watch(t: Trial, job_id: string, wanted: (snapshot: JsonMap) => boolean): Promise<JsonMap[]> {
  const snapshots: JsonMap[] = []
  const deadline = performance.now() + t.target.timeout_ms
  for (;;) {
    const snapshot = await snapshotOf(t, job_id)
    snapshots.push(snapshot)
    if (wanted(snapshot)) return snapshots
    const found = `the job stays ${String(snapshot.status)} for ${t.target.timeout_ms} ms`
    expect(performance.now() < deadline && !isTerminal(snapshot), found, { job_id }, snapshot)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

export async function ended(t: Trial, job_id: string): Promise<JsonMap> {
  return (await watch(t, job_id, isTerminal)).at(-1)!
}

/** Everything that is persisted about a job after a sequence. @throws Skip where no door tells */
export async function history(t: Trial, job_id: string, after = 0): Promise<JsonMap[]> {
  if (t.serves('followJobEvents')) {
    const place = { values: { id: job_id }, query: `after_sequence=${after}` }
    const answer = await t.good('followJobEvents', 200, place, { headers: { Accept: 'application/json' } })
    return listOf(answer.body).map(mapOf)
  }
  return (await subscribed(t, job_id, after)).events
}

/** Subscribes on a socket of its own, and reads until the job's end. */
export async function subscribed(t: Trial, job_id: string, after: number | null, mode: 'binary' | 'text' = 'binary') {
  if (!t.takes('subscribe_job')) throw new Skip('the server claims neither followJobEvents nor subscribe_job')
  const socket = await t.socket()
  if (mode === 'text') await socket.ask('set_mode', { mode: 'text' })
  const from = socket.frames.length
  const data = after === null ? { job_id } : { job_id, after_sequence: after }
  const reply = await socket.ask('subscribe_job', data, mode)
  const result = mapOf(reply.result)
  const snapshot = mapOf(result.snapshot)
  const isNew = (snapshot.last_sequence as number) > (after ?? 0) || !isTerminal(snapshot)
  const isLast = (frame: JsonMap) => frame.type === 'job_event' && mapOf(frame.event).type === 'job_terminal'
  if (reply.error === undefined && isNew) await socket.next('job_terminal', isLast, from)
  await socket.settled()
  const frames = socket.frames.slice(from).map(({ body }) => body)
  const events = frames.filter(({ type }) => type === 'job_event').map(({ event }) => mapOf(event))
  socket[Symbol.dispose]()
  return { reply, frames, events }
}

/** Gives a suspended job the value that it waits for. */
export async function resume(t: Trial, job_id: string, value: unknown): Promise<void> {
  if (t.serves('resumeJob')) {
    await t.good('resumeJob', 200, { values: { id: job_id } }, { json: { value } })
    return
  }
  t.needsCommands('resume_job')
  const socket = await t.socket()
  const reply = await socket.ask('resume_job', { job_id, value })
  expect(reply.error === undefined, 'a suspended job takes its value', { command: 'resume_job', value }, reply)
}

/** Asks for cancellation; gives the snapshot of the answer. */
export async function cancel(t: Trial, job_id: string): Promise<JsonMap> {
  if (t.serves('requestJobCancellation')) {
    const answer = await t.good('requestJobCancellation', 200, { values: { job_id } })
    return mapOf(mapOf(answer.body).snapshot)
  }
  t.needs('cancelJob')
  return mapOf((await t.good('cancelJob', 200, { values: { id: job_id } })).body)
}
