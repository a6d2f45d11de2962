// Whole runs, each made once and watched through every door at the same time; the rules of states and events are judged by what was seen.

import { type Graph, type GraphName, graphs } from './graphs.ts'
import { type Begun, begin, cancel, ended, history, isTerminal, resume, subscribed, watch, workflow } from './jobs.ts'
import { type JsonMap, listOf, mapOf } from './json.ts'
import type { ServerSentEvent } from './server-sent-events.ts'
import type { Trial } from './trial.ts'

export interface Run {
  name: string
  job_id: string
  workflow_id: string
  etag: string
  inputs: JsonMap
  graph: Graph
  /** What the submission was answered; null where the run was none. */
  acknowledged: JsonMap | null
  /** Every snapshot that was seen, in order. */
  snapshots: JsonMap[]
  final: JsonMap
  /** What is persisted, after the end. */
  events: JsonMap[]
  /** What each follower got, by its door; those that began late have only the rest. */
  followed: Followed[]
}

export interface Followed {
  door: string
  after: number
  /** The last sequence that was known to be persisted when it began. */
  known: number
  events: JsonMap[]
  /** The frames as they came, where the door is a socket. */
  frames: JsonMap[]
  /** What `subscribe_job` answered. */
  reply: JsonMap | null
}

/** A run that waits for a value, gets it and completes, with followers from its start and from its middle. */
export function completedRun(t: Trial): Promise<Run> {
  return t.once('completed run', async () => {
    const stored = await workflow(t, 'waiting')
    const inputs = { name: 'Ada' }
    const begun = await begin(t, stored, inputs)
    const { job_id } = begun
    const early = heeded(followers(t, job_id, 0, 0))
    const before = await watch(t, job_id, ({ status }) => status === 'suspended')
    const known = Number(before.at(-1)!.last_sequence)
    const late = heeded(followers(t, job_id, Math.max(1, known - 1), known))
    await resume(t, job_id, 'forty-two')
    const after = await watch(t, job_id, isTerminal)
    const followed = (await Promise.all([early, late])).flat()
    return { ...(await finished(t, 'waiting', 'waiting', begun, stored, inputs, [...before, ...after])), followed }
  })
}

/** A run whose node fails. */
export function failedRun(t: Trial): Promise<Run> {
  return t.once('failed run', async () => {
    const stored = await workflow(t, 'failing')
    const inputs = { a: 1 }
    const begun = await begin(t, stored, inputs)
    const snapshots = await watch(t, begun.job_id, isTerminal)
    return finished(t, 'failing', 'failing', begun, stored, inputs, snapshots)
  })
}

/** A run that is cancelled while it waits. */
export function cancelledRun(t: Trial): Promise<Run & { answers: JsonMap[] }> {
  return t.once('cancelled run', async () => {
    const stored = await workflow(t, 'waiting')
    const begun = await begin(t, stored, {})
    const { job_id } = begun
    const snapshots = await watch(t, job_id, ({ status }) => status === 'suspended')
    const answers = [await cancel(t, job_id), await cancel(t, job_id)]
    snapshots.push(...answers, await ended(t, job_id))
    answers.push(await cancel(t, job_id))
    return { ...(await finished(t, 'cancelled', 'waiting', begun, stored, {}, snapshots)), answers }
  })
}

async function finished(
  t: Trial,
  name: string,
  graph: GraphName,
  { job_id, acknowledged }: Begun,
  { id, etag }: { id: string; etag: string },
  inputs: JsonMap,
  snapshots: JsonMap[],
): Promise<Run> {
  const events = await history(t, job_id)
  const made = { name, job_id, workflow_id: id, etag, inputs, graph: graphs[graph], acknowledged }
  return { ...made, snapshots, final: snapshots.at(-1)!, events, followed: [] }
}

export async function allRuns(t: Trial): Promise<Run[]> {
  return [await completedRun(t), await failedRun(t), await cancelledRun(t)]
}

/** A promise that may fail before anybody waits for it. */
function heeded<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}

/** One follower per door, each until the job's end. */
async function followers(t: Trial, job_id: string, after: number, known: number): Promise<Followed[]> {
  const all: Promise<Heard>[] = []
  if (t.serves('followJobEvents')) all.push(byServerSentEvents(t, job_id, after))
  if (t.takes('subscribe_job'))
    all.push(bySubscription(t, job_id, after, 'binary'), bySubscription(t, job_id, after, 'text'))
  return (await Promise.all(all)).map((heard) => ({ ...heard, after, known }))
}

type Heard = Omit<Followed, 'after' | 'known'>

async function byServerSentEvents(t: Trial, job_id: string, after: number): Promise<Heard> {
  const { events } = await streamed(t, job_id, after === 0 ? {} : { 'Last-Event-ID': String(after) })
  return { door: 'server-sent events', events: events.map(eventOf), frames: [], reply: null }
}

async function bySubscription(t: Trial, job_id: string, after: number, mode: 'binary' | 'text'): Promise<Heard> {
  const { events, frames, reply } = await subscribed(t, job_id, after === 0 ? null : after, mode)
  const told = frames.filter(({ type }) => type === 'job_event')
  return { door: `subscribe_job, ${mode}`, events, frames: told, reply: mapOf(reply.result) }
}

export function streamed(t: Trial, job_id: string, headers: Readonly<Record<string, string>> = {}) {
  return t.target.events(`/api/jobs/${encodeURIComponent(job_id)}/events`, headers)
}

export function eventOf({ data }: ServerSentEvent): JsonMap {
  try {
    return mapOf(JSON.parse(data))
  } catch {
    return {}
  }
}

export function sequencesOf(events: readonly JsonMap[]): unknown[] {
  return listOf(events).map((event) => mapOf(event).sequence)
}
