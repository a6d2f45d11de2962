// Checks of single events and their frames: what they say of a job, its nodes and its state.

import { CheckFindings } from '../check-outcomes.ts'
import { readSubscription } from '../job-actions.ts'
import { type JsonMap, mapOf } from '../json.ts'
import { type ObservedRun, observeAllRuns, observeCompletedRun } from '../observed-runs.ts'
import type { SuiteContext } from '../suite-context.ts'
import { findStatusAt } from './state-transitions.ts'

/** Each frame, and the event in it, names the subscribed job. */
export async function checkFrameIds(t: SuiteContext): Promise<void> {
  t.requireCommands('subscribe_job')
  const findings = new CheckFindings()
  for (const { job_id, workflow_id, final, followed } of await observeAllRuns(t)) {
    const replayed = (await readSubscription(t, job_id, 0)).frames.filter(({ type }) => type === 'job_event')
    for (const frame of [...replayed, ...followed.flatMap(({ frames }) => frames)]) {
      const event = mapOf(frame.event)
      const own = frame.job_id === job_id && event.job_id === job_id && event.workflow_id === workflow_id
      findings.addCase(own && event.workspace_id === final.workspace_id, () => ({
        finding: 'a frame or its event belongs to another job, workflow or workspace',
        request: { job_id, workflow_id },
        answer: frame,
      }))
    }
  }
  findings.throwIfBroken('no event frame arrived')
}

/** Returns the fault in the node events of a run, or null. */
export function findNodeRecordFault({ events, graph }: ObservedRun): string | null {
  const types = new Map(graph.nodes.map(({ id, type }) => [id, type]))
  const done = new Map<string, number>()
  for (const { type, node_id, node_type, status, progress } of events) {
    if (type !== 'node_status') continue
    const id = String(node_id)
    if (!types.has(id)) return `an event belongs to ${id}, which is not a node of the graph`
    if (types.get(id) !== node_type) return `the node ${id} has the type ${String(node_type)}, not ${types.get(id)}`
    if (progress === null) continue
    const before = done.get(id) ?? 0
    if (!(Number(progress) >= before)) return `the progress of ${id} decreases from ${before} to ${String(progress)}`
    if (status === 'completed' && progress !== 1) return `${id} is completed with a progress of ${String(progress)}`
    done.set(id, Number(progress))
  }
  return null
}

/** Checks subscriptions to an unfinished job: the answer shows the job as of `replay_to_sequence`. */
export async function checkActiveSubscriptions(t: SuiteContext): Promise<void> {
  t.requireCommands('subscribe_job')
  const { events, followed, job_id } = await observeCompletedRun(t)
  const findings = new CheckFindings()
  for (const { after, known, reply, transport } of followed) {
    if (reply === null) continue
    const fault = findSubscriptionFault(reply, job_id, after, known, events)
    findings.addCase(fault === null, () => ({ finding: `${transport} after ${after}: ${fault}`, answer: reply }))
  }
  findings.throwIfBroken('no subscription was made')
}

function findSubscriptionFault(
  reply: JsonMap,
  job_id: string,
  after: number,
  known: number,
  events: JsonMap[],
): string | null {
  const { snapshot, replay_from_sequence: from, replay_to_sequence: to } = reply
  const { status, last_sequence, job_id: named } = mapOf(snapshot)
  if (reply.job_id !== job_id || named !== job_id) return 'the answer belongs to another job'
  if (reply.requested_after_sequence !== after)
    return `requested_after_sequence is ${String(reply.requested_after_sequence)}`
  if (!(Number(to) >= known)) return `replay_to_sequence is ${String(to)}, but ${known} was persisted before`
  if (last_sequence !== to) return `last_sequence of the snapshot is ${String(last_sequence)}, and not ${String(to)}`
  if (from !== (Number(to) > after ? after + 1 : null)) return `replay_from_sequence is ${String(from)}`
  const told = findStatusAt(events, Number(to))
  return told === status ? null : `the snapshot is ${String(status)}, and the history ${told} at ${String(to)}`
}
