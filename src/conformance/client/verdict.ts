// Decides the verdict of a scenario: pass, fail or open, with the reason and the entry of the transcript.

import { isSameJson } from './frame-codec.ts'
import type { ExpectedReport, Scenario } from './scenario.ts'
import type { ScenarioRun } from './scenario-run.ts'
import { REPORT_WORKFLOW } from './server-records.ts'
import { isKeepAliveEntry } from './transcript.ts'

export interface ScenarioVerdict {
  readonly verdict: 'pass' | 'fail' | 'open'
  /** Why the scenario did not pass; null where it did. */
  readonly reason: string | null
  /** The index of the transcript's entry that shows the reason. */
  readonly entry: number | null
}

export function decideVerdict(run: ScenarioRun, scenario: Scenario): ScenarioVerdict {
  const { violation } = run
  if (violation) return { verdict: 'fail', reason: violation.reason, entry: violation.entry }
  if (run.scriptFault) return createOpenVerdict(`the scenario itself failed: ${run.scriptFault}`)
  if (!run.hasConnected) return createOpenVerdict('the client never connected')
  if (!run.isStepReached) return createOpenVerdict(`the client did not reach this step: ${scenario.step}`)
  const reason = (scenario.expected && findReportProblem(run, scenario.expected)) ?? scenario.findFailure?.(run) ?? null
  return reason
    ? { verdict: 'fail', reason, entry: run.report?.entry ?? findLastClientEntry(run) }
    : { verdict: 'pass', reason: null, entry: null }
}

function createOpenVerdict(reason: string): ScenarioVerdict {
  return { verdict: 'open', reason, entry: null }
}

/** Returns the last entry that the client sent, without keep-alive entries. */
function findLastClientEntry({ transcript }: ScenarioRun): number | null {
  const index = transcript.entries.findLastIndex(
    (entry) => entry.direction === 'from_client' && !isKeepAliveEntry(entry),
  )
  return index < 0 ? null : index
}

function findReportProblem(run: ScenarioRun, expected: ExpectedReport): string | null {
  const { report } = run
  if (!report) return describeMissingReport(run)
  if (!expected.status.includes(String(report.status))) {
    return `the client reported the status ${JSON.stringify(report.status)} instead of ${expected.status.join(' or ')}`
  }
  if ('value' in expected && !isSameJson(report.value, expected.value)) {
    return `the client reported the value ${truncateJson(report.value)} instead of ${truncateJson(expected.value)}`
  }
  return expected.events === undefined ? null : findEventsProblem(run, expected.events, report.events)
}

/** Says which report is missing from a client that reached the step of its scenario. */
export function describeMissingReport({ jobsProfile }: ScenarioRun): string {
  const step =
    jobsProfile === 'available' ? `submit_job of ${REPORT_WORKFLOW}` : `POST /api/workflows/${REPORT_WORKFLOW}/run`
  return `the client never reported: ${step} was missing when its time limit was reached or its driver had ended`
}

function truncateJson(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}

function findEventsProblem(
  run: ScenarioRun,
  expected: NonNullable<ExpectedReport['events']>,
  actual: unknown,
): string | null {
  if (!Array.isArray(actual) || !actual.every((sequence) => Number.isSafeInteger(sequence))) {
    return `the report's events are ${truncateJson(actual)} instead of a list of sequences`
  }
  const all = listKnownSequences(run)
  const exact = expected === 'complete' && !hasUsedSnapshot(run) ? all : expected
  if (Array.isArray(exact)) {
    return isSameJson(actual, exact)
      ? null
      : `the client processed the events ${truncateJson(actual)} instead of ${truncateJson(exact)}`
  }
  const falling = actual.findIndex((sequence, index) => index > 0 && sequence <= actual[index - 1])
  if (falling >= 0)
    return `the client processed event ${actual[falling]} after event ${actual[falling - 1]}: ${truncateJson(actual)}`
  const strange = actual.find((sequence) => !all.includes(sequence))
  return strange === undefined ? null : `the client processed an event ${strange} that does not exist`
}

function listKnownSequences({ jobs, facts: { work } }: ScenarioRun): number[] {
  const id = work.kind === 'attach' ? work.job_id : [...jobs.keys()][0]
  return jobs.get(String(id))?.events.map(({ sequence }) => sequence) ?? []
}

/** Whether the client was sent a snapshot that replaces events. */
function hasUsedSnapshot({ calls, hasSentTerminalSnapshot }: ScenarioRun): boolean {
  return hasSentTerminalSnapshot || calls.some(({ name }) => name === 'get_job_snapshot' || name === 'getJob')
}
