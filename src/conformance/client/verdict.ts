// What a scenario comes to: pass, fail or open, with the reason and the place in the transcript.
import { REPORT_WORKFLOW } from './records.ts'
import type { Expected, Scenario } from './scenario.ts'
import type { Stage } from './stage.ts'
import { isBeat } from './transcript.ts'
import { sameJson } from './wire.ts'

export interface Judgement {
  readonly verdict: 'pass' | 'fail' | 'open'
  /** Why it did not pass; null where it did. */
  readonly reason: string | null
  /** The index of the entry of the transcript that shows it. */
  readonly entry: number | null
}

export function judge(stage: Stage, scenario: Scenario): Judgement {
  const { violation } = stage
  if (violation) return { verdict: 'fail', reason: violation.reason, entry: violation.entry }
  if (stage.fault) return unclear(`the scenario itself went wrong: ${stage.fault}`)
  if (!stage.connected) return unclear('the client never connected')
  if (!stage.reached) return unclear(`the client did not come to this step: ${scenario.step}`)
  const reason = (scenario.expected && reportProblem(stage, scenario.expected)) ?? scenario.judge?.(stage) ?? null
  return reason
    ? { verdict: 'fail', reason, entry: stage.report?.entry ?? lastFromClient(stage) }
    : { verdict: 'pass', reason: null, entry: null }
}

function unclear(reason: string): Judgement {
  return { verdict: 'open', reason, entry: null }
}

/** The last that it sent, but for what only keeps a socket. */
function lastFromClient({ transcript }: Stage): number | null {
  const index = transcript.entries.findLastIndex((entry) => entry.direction === 'from_client' && !isBeat(entry))
  return index < 0 ? null : index
}

function reportProblem(stage: Stage, expected: Expected): string | null {
  const { report } = stage
  if (!report) return neverReported(stage)
  if (!expected.status.includes(String(report.status))) {
    return `the client reported the status ${JSON.stringify(report.status)}, and not ${expected.status.join(' or ')}`
  }
  if ('value' in expected && !sameJson(report.value, expected.value)) {
    return `the client reported the value ${shown(report.value)}, and not ${shown(expected.value)}`
  }
  return expected.events === undefined ? null : eventsProblem(stage, expected.events, report.events)
}

/** What a client still owes that came to the step of its scenario. */
export function neverReported({ jobsProfile }: Stage): string {
  const step =
    jobsProfile === 'available' ? `submit_job of ${REPORT_WORKFLOW}` : `POST /api/workflows/${REPORT_WORKFLOW}/run`
  return `the client never reported: ${step} was awaited when its time was over or its driver had ended`
}

function shown(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}

function eventsProblem(stage: Stage, expected: NonNullable<Expected['events']>, actual: unknown): string | null {
  if (!Array.isArray(actual) || !actual.every((sequence) => Number.isSafeInteger(sequence))) {
    return `the report has no list of sequences as events, but ${shown(actual)}`
  }
  const all = knownSequences(stage)
  const exact = expected === 'complete' && !recovered(stage) ? all : expected
  if (Array.isArray(exact)) {
    return sameJson(actual, exact) ? null : `the client processed the events ${shown(actual)}, and not ${shown(exact)}`
  }
  const falling = actual.findIndex((sequence, index) => index > 0 && sequence <= actual[index - 1])
  if (falling >= 0)
    return `the client processed event ${actual[falling]} after event ${actual[falling - 1]}: ${shown(actual)}`
  const strange = actual.find((sequence) => !all.includes(sequence))
  return strange === undefined ? null : `the client processed an event ${strange} that there was not`
}

function knownSequences({ jobs, facts: { work } }: Stage): number[] {
  const id = work.kind === 'attach' ? work.job_id : [...jobs.keys()][0]
  return jobs.get(String(id))?.events.map(({ sequence }) => sequence) ?? []
}

/** Whether the client was given a snapshot that stands for events. */
function recovered({ calls, toldEnd }: Stage): boolean {
  return toldEnd || calls.some(({ name }) => name === 'get_job_snapshot' || name === 'getJob')
}
