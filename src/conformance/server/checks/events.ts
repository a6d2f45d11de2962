// Events over whole runs: one history, gapless, the same through every door and after every sequence.
import { schemaValidators } from '../../../../generated/validators-out.js'
import { type JsonMap, mapOf, same } from '../json.ts'
import { allRuns, completedRun, type Run, sequencesOf } from '../runs.ts'
import { Findings } from '../verdicts.ts'
import type { Check, ChecksOf } from './check.ts'
import { ahead, doors, replays, serverSentEvents, subscriptionRange, unknownJob } from './event-doors.ts'
import { activeSubscriptions, frameIds, nodeRecords } from './event-records.ts'
import { replayExpired } from './expired.ts'
import { illegalStep, inOrder } from './transitions.ts'

export const eventChecks: ChecksOf<'events'> = {
  'server.events.gapless': everyRun(({ events, followed }) => {
    const whole = [events, ...followed.filter(({ after }) => after === 0).map((one) => one.events)]
    const right = (all: JsonMap[]) => all.length > 0 && all.every(({ sequence }, at) => sequence === at + 1)
    return whole.every(right) ? null : 'sequences are not 1, 2, 3 and so on'
  }),
  'server.events.common-fields': everyRun(({ events, job_id, workflow_id, final }) => {
    const { workspace_id, created_at } = final
    const right = events.every((event, at) => {
      const own = event.job_id === job_id && event.workflow_id === workflow_id && event.workspace_id === workspace_id
      const before = at === 0 ? Date.parse(String(created_at)) : instant(events[at - 1]!)
      return own && typeof event.type === 'string' && instant(event) >= before
    })
    return right ? null : 'an event is of another job, or its time runs back or is before the job'
  }),
  'server.events.schema': everyRun(({ events, followed }) => {
    const all = [...events, ...followed.flatMap((one) => one.events)]
    const wrong = all.find((event) => !schemaValidators.JobEvent(event))
    return wrong ? `an event is not the contract's: ${JSON.stringify(wrong).slice(0, 500)}` : null
  }),
  'server.events.terminal-last': everyRun(({ events, final, followed }) => {
    const ends = [events, ...followed.map((one) => one.events)].every((all) => {
      const last = all.at(-1)
      const only = all.filter(({ type }) => type === 'job_terminal').length === 1
      return only && last?.type === 'job_terminal' && last.status === final.status && same(last.snapshot, final)
    })
    return ends ? null : "job_terminal is not the one last event, with the job's own status and snapshot"
  }),
  'server.events.states-agree': everyRun(({ events, snapshots }) => {
    const states = events.filter(({ type }) => type === 'job_status' || type === 'job_terminal').map(statusOf)
    const step = illegalStep(states)
    if (step !== null) return `the history goes ${step}`
    return inOrder(snapshots.map(statusOf), states) ? null : 'snapshots were seen that are not in the history'
  }),
  'server.events.last-sequence': everyRun(({ events, final }) => {
    return final.last_sequence === events.at(-1)?.sequence ? null : 'last_sequence is not that of the last event'
  }),
  'server.events.same-through-every-door': doors,
  'server.events.live-is-replay': async (t) => {
    const { events, followed } = await completedRun(t)
    const findings = new Findings()
    for (const { door, after, events: live } of followed) {
      const rest = events.filter(({ sequence }) => Number(sequence) > after)
      const shownSequences = { live: sequencesOf(live), replayed: sequencesOf(rest) }
      findings.see(same(live, rest), () => ({
        finding: `${door} after ${after} got something else than is replayed`,
        answer: shownSequences,
      }))
    }
    findings.settle('the server claims no door for following')
  },
  'server.events.replay-after-every-sequence': replays,
  'server.events.sequence-ahead': ahead,
  'server.events.sse-form': serverSentEvents,
  'server.events.subscription-range': subscriptionRange,
  'server.events.output-updates': everyRun(({ events, final }) => {
    const outputs = mapOf(mapOf(final.result).outputs)
    const last: JsonMap = {}
    for (const { type, output_name, value } of events) if (type === 'output_update') last[String(output_name)] = value
    if (final.status !== 'completed') return null
    return same(last, outputs) ? null : 'the outputs are not those of the last events of outputs'
  }),
  'server.events.node-statuses': everyRun(({ events }) => {
    const seen = new Map<string, string[]>()
    for (const { type, node_id, status } of events) {
      if (type === 'node_status') seen.set(String(node_id), [...(seen.get(String(node_id)) ?? []), String(status)])
    }
    const wrong = [...seen].find(([, states]) => new Set(states).size < states.length || !orderly(states))
    return wrong ? `the node ${wrong[0]} goes ${wrong[1].join(', ')}` : null
  }),
  'server.events.unknown-job': unknownJob,
  'server.events.frame-ids': frameIds,
  'server.events.node-records': everyRun(nodeRecords),
  'server.events.active-subscription': activeSubscriptions,
  'server.events.replay-expired': replayExpired,
}

function everyRun(fault: (run: Run) => string | null): Check {
  return async (t) => {
    const findings = new Findings()
    for (const run of await allRuns(t)) {
      const found = fault(run)
      const seen = () => ({
        finding: `the run ${run.name}: ${found}`,
        answer: { final: run.final, events: run.events },
      })
      findings.see(found === null, seen)
    }
    findings.settle('no run could be made')
  }
}

function statusOf({ status }: JsonMap): string {
  return String(status)
}

function instant({ timestamp }: JsonMap): number {
  return Date.parse(String(timestamp))
}

/** `pending`, `running`, then an end. */
function orderly(states: readonly string[]): boolean {
  const rank = (state: string) => ['pending', 'running'].indexOf(state)
  return states.every((state, at) => at === states.length - 1 || (rank(state) >= 0 && !(rank(states[at + 1]!) === 0)))
}
