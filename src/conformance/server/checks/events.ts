// Checks of events over whole runs: one history without gaps, the same over every transport and after every sequence.
import { schemaValidators } from '../../../../generated/validators-out.js'
import { CheckFindings } from '../check-outcomes.ts'
import { isSameJson, type JsonMap, mapOf } from '../json.ts'
import { listSequences, type ObservedRun, observeAllRuns, observeCompletedRun } from '../observed-runs.ts'
import type { AreaChecks, RequirementCheck } from './check-types.ts'
import { checkActiveSubscriptions, checkFrameIds, findNodeRecordFault } from './event-records.ts'
import {
  checkReplays,
  checkSameThroughEveryTransport,
  checkSequenceAhead,
  checkServerSentEvents,
  checkSubscriptionRange,
  checkUnknownJob,
} from './event-transports.ts'
import { checkExpiredReplay } from './retention.ts'
import { findIllegalTransition, isSubsequence } from './state-transitions.ts'

export const eventChecks: AreaChecks<'events'> = {
  'server.events.gapless': createRunCheck(({ events, followed }) => {
    const whole = [events, ...followed.filter(({ after }) => after === 0).map((one) => one.events)]
    const right = (all: JsonMap[]) => all.length > 0 && all.every(({ sequence }, at) => sequence === at + 1)
    return whole.every(right) ? null : 'sequences are not 1, 2, 3 and so on'
  }),
  'server.events.common-fields': createRunCheck(({ events, job_id, workflow_id, final }) => {
    const { workspace_id, created_at } = final
    const right = events.every((event, at) => {
      const own = event.job_id === job_id && event.workflow_id === workflow_id && event.workspace_id === workspace_id
      const before = at === 0 ? Date.parse(String(created_at)) : readInstant(events[at - 1]!)
      return own && typeof event.type === 'string' && readInstant(event) >= before
    })
    return right ? null : 'an event belongs to another job, or its time decreases or is before the job'
  }),
  'server.events.schema': createRunCheck(({ events, followed }) => {
    const all = [...events, ...followed.flatMap((one) => one.events)]
    const wrong = all.find((event) => !schemaValidators.JobEvent(event))
    return wrong ? `an event does not match the contract's schema: ${JSON.stringify(wrong).slice(0, 500)}` : null
  }),
  'server.events.terminal-last': createRunCheck(({ events, final, followed }) => {
    const ends = [events, ...followed.map((one) => one.events)].every((all) => {
      const last = all.at(-1)
      const only = all.filter(({ type }) => type === 'job_terminal').length === 1
      return only && last?.type === 'job_terminal' && last.status === final.status && isSameJson(last.snapshot, final)
    })
    return ends ? null : "job_terminal is not the only last event, or differs from the job's status and snapshot"
  }),
  'server.events.states-agree': createRunCheck(({ events, snapshots }) => {
    const states = events.filter(({ type }) => type === 'job_status' || type === 'job_terminal').map(readStatus)
    const step = findIllegalTransition(states)
    if (step !== null) return `the history has the illegal step ${step}`
    return isSubsequence(snapshots.map(readStatus), states) ? null : 'snapshots show states that are not in the history'
  }),
  'server.events.last-sequence': createRunCheck(({ events, final }) => {
    return final.last_sequence === events.at(-1)?.sequence ? null : 'last_sequence differs from that of the last event'
  }),
  'server.events.same-through-every-door': checkSameThroughEveryTransport,
  'server.events.live-is-replay': async (t) => {
    const { events, followed } = await observeCompletedRun(t)
    const findings = new CheckFindings()
    for (const { transport, after, events: live } of followed) {
      const rest = events.filter(({ sequence }) => Number(sequence) > after)
      const shownSequences = { live: listSequences(live), replayed: listSequences(rest) }
      findings.addCase(isSameJson(live, rest), () => ({
        finding: `${transport} after ${after} got events that differ from the replay`,
        answer: shownSequences,
      }))
    }
    findings.throwIfBroken('the server claims no operation to follow a job')
  },
  'server.events.replay-after-every-sequence': checkReplays,
  'server.events.sequence-ahead': checkSequenceAhead,
  'server.events.sse-form': checkServerSentEvents,
  'server.events.subscription-range': checkSubscriptionRange,
  'server.events.output-updates': createRunCheck(({ events, final }) => {
    const outputs = mapOf(mapOf(final.result).outputs)
    const last: JsonMap = {}
    for (const { type, output_name, value } of events) if (type === 'output_update') last[String(output_name)] = value
    if (final.status !== 'completed') return null
    return isSameJson(last, outputs) ? null : 'the outputs differ from those of the last output events'
  }),
  'server.events.node-statuses': createRunCheck(({ events }) => {
    const seen = new Map<string, string[]>()
    for (const { type, node_id, status } of events) {
      if (type === 'node_status') seen.set(String(node_id), [...(seen.get(String(node_id)) ?? []), String(status)])
    }
    const wrong = [...seen].find(([, states]) => new Set(states).size < states.length || !isOrderly(states))
    return wrong ? `the node ${wrong[0]} has the states ${wrong[1].join(', ')}` : null
  }),
  'server.events.unknown-job': checkUnknownJob,
  'server.events.frame-ids': checkFrameIds,
  'server.events.node-records': createRunCheck(findNodeRecordFault),
  'server.events.active-subscription': checkActiveSubscriptions,
  'server.events.replay-expired': checkExpiredReplay,
}

function createRunCheck(fault: (run: ObservedRun) => string | null): RequirementCheck {
  return async (t) => {
    const findings = new CheckFindings()
    for (const run of await observeAllRuns(t)) {
      const found = fault(run)
      const seen = () => ({
        finding: `the run ${run.name}: ${found}`,
        answer: { final: run.final, events: run.events },
      })
      findings.addCase(found === null, seen)
    }
    findings.throwIfBroken('no run could be made')
  }
}

function readStatus({ status }: JsonMap): string {
  return String(status)
}

function readInstant({ timestamp }: JsonMap): number {
  return Date.parse(String(timestamp))
}

/** `pending`, `running`, then an end. */
function isOrderly(states: readonly string[]): boolean {
  const rank = (state: string) => ['pending', 'running'].indexOf(state)
  return states.every((state, at) => at === states.length - 1 || (rank(state) >= 0 && !(rank(states[at + 1]!) === 0)))
}
