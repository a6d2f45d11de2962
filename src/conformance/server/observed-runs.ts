// Whole runs, each made once and observed over all transports at the same time. The checks of states and events use these observations.

import {
  cancelJob,
  isTerminal,
  pollJobUntil,
  readHistory,
  readSubscription,
  resumeJob,
  type StartedJob,
  startJobWithReply,
  storeSampleWorkflow,
  waitForJobEnd,
} from './job-actions.ts'
import { type JsonMap, listOf, mapOf } from './json.ts'
import { type SampleGraph, type SampleGraphName, sampleGraphs } from './sample-graphs.ts'
import type { ServerSentEvent } from './server-sent-events.ts'
import type { SuiteContext } from './suite-context.ts'

export interface ObservedRun {
  name: string
  job_id: string
  workflow_id: string
  etag: string
  inputs: JsonMap
  graph: SampleGraph
  /** The answer to the submission. Null where the run was started without one. */
  acknowledged: JsonMap | null
  /** All snapshots in the order in which they were read. */
  snapshots: JsonMap[]
  final: JsonMap
  /** The persisted events after the end. */
  events: JsonMap[]
  /** The events of each follower by its transport. Late followers have only the rest. */
  followed: FollowedEvents[]
}

export interface FollowedEvents {
  transport: string
  after: number
  /** The last sequence that was known to be persisted when it began. */
  known: number
  events: JsonMap[]
  /** The received frames, where the transport is a socket. */
  frames: JsonMap[]
  /** The answer to `subscribe_job`. */
  reply: JsonMap | null
}

/** A run that waits for a value, gets it and completes. It has followers from its start and from its middle. */
export function observeCompletedRun(t: SuiteContext): Promise<ObservedRun> {
  return t.memoize('completed run', async () => {
    const stored = await storeSampleWorkflow(t, 'waiting')
    const inputs = { name: 'Ada' }
    const begun = await startJobWithReply(t, stored, inputs)
    const { job_id } = begun
    const early = ignoreEarlyRejection(followByEachTransport(t, job_id, 0, 0))
    const before = await pollJobUntil(t, job_id, ({ status }) => status === 'suspended')
    const known = Number(before.at(-1)!.last_sequence)
    const late = ignoreEarlyRejection(followByEachTransport(t, job_id, Math.max(1, known - 1), known))
    await resumeJob(t, job_id, 'forty-two')
    const after = await pollJobUntil(t, job_id, isTerminal)
    const followed = (await Promise.all([early, late])).flat()
    return {
      ...(await createObservedRun(t, 'waiting', 'waiting', begun, stored, inputs, [...before, ...after])),
      followed,
    }
  })
}

/** A run with a failing node. */
export function observeFailedRun(t: SuiteContext): Promise<ObservedRun> {
  return t.memoize('failed run', async () => {
    const stored = await storeSampleWorkflow(t, 'failing')
    const inputs = { a: 1 }
    const begun = await startJobWithReply(t, stored, inputs)
    const snapshots = await pollJobUntil(t, begun.job_id, isTerminal)
    return createObservedRun(t, 'failing', 'failing', begun, stored, inputs, snapshots)
  })
}

/** A run that is cancelled while it waits. */
export function observeCancelledRun(t: SuiteContext): Promise<ObservedRun & { answers: JsonMap[] }> {
  return t.memoize('cancelled run', async () => {
    const stored = await storeSampleWorkflow(t, 'waiting')
    const begun = await startJobWithReply(t, stored, {})
    const { job_id } = begun
    const snapshots = await pollJobUntil(t, job_id, ({ status }) => status === 'suspended')
    const answers = [await cancelJob(t, job_id), await cancelJob(t, job_id)]
    snapshots.push(...answers, await waitForJobEnd(t, job_id))
    answers.push(await cancelJob(t, job_id))
    return { ...(await createObservedRun(t, 'cancelled', 'waiting', begun, stored, {}, snapshots)), answers }
  })
}

async function createObservedRun(
  t: SuiteContext,
  name: string,
  graph: SampleGraphName,
  { job_id, acknowledged }: StartedJob,
  { id, etag }: { id: string; etag: string },
  inputs: JsonMap,
  snapshots: JsonMap[],
): Promise<ObservedRun> {
  const events = await readHistory(t, job_id)
  const made = { name, job_id, workflow_id: id, etag, inputs, graph: sampleGraphs[graph], acknowledged }
  return { ...made, snapshots, final: snapshots.at(-1)!, events, followed: [] }
}

export async function observeAllRuns(t: SuiteContext): Promise<ObservedRun[]> {
  return [await observeCompletedRun(t), await observeFailedRun(t), await observeCancelledRun(t)]
}

/** Handles the rejection of a promise that may fail before it is awaited. */
function ignoreEarlyRejection<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}

/** Starts one follower for each transport, until the job's end. */
async function followByEachTransport(
  t: SuiteContext,
  job_id: string,
  after: number,
  known: number,
): Promise<FollowedEvents[]> {
  const all: Promise<FollowResult>[] = []
  if (t.hasOperation('followJobEvents')) all.push(followByServerSentEvents(t, job_id, after))
  if (t.hasCommand('subscribe_job'))
    all.push(followBySubscription(t, job_id, after, 'binary'), followBySubscription(t, job_id, after, 'text'))
  return (await Promise.all(all)).map((heard) => ({ ...heard, after, known }))
}

type FollowResult = Omit<FollowedEvents, 'after' | 'known'>

async function followByServerSentEvents(t: SuiteContext, job_id: string, after: number): Promise<FollowResult> {
  const { events } = await readEventStream(t, job_id, after === 0 ? {} : { 'Last-Event-ID': String(after) })
  return { transport: 'server-sent events', events: events.map(parseStreamedEvent), frames: [], reply: null }
}

async function followBySubscription(
  t: SuiteContext,
  job_id: string,
  after: number,
  mode: 'binary' | 'text',
): Promise<FollowResult> {
  const { events, frames, reply } = await readSubscription(t, job_id, after === 0 ? null : after, mode)
  const told = frames.filter(({ type }) => type === 'job_event')
  return { transport: `subscribe_job, ${mode}`, events, frames: told, reply: mapOf(reply.result) }
}

export function readEventStream(t: SuiteContext, job_id: string, headers: Readonly<Record<string, string>> = {}) {
  return t.target.readEvents(`/api/jobs/${encodeURIComponent(job_id)}/events`, headers)
}

export function parseStreamedEvent({ data }: ServerSentEvent): JsonMap {
  try {
    return mapOf(JSON.parse(data))
  } catch {
    return {}
  }
}

export function listSequences(events: readonly JsonMap[]): unknown[] {
  return listOf(events).map((event) => mapOf(event).sequence)
}
