// Checks of snapshots of unfinished jobs: their job, their progress, their times and their place in the queue.
import { readCapabilities } from '../capabilities.ts'
import { CheckFindings, CheckSkipped, expect } from '../check-outcomes.ts'
import { isTerminal } from '../job-actions.ts'
import { isSameJson, type JsonMap, mapOf } from '../json.ts'
import { type ObservedRun, observeAllRuns } from '../observed-runs.ts'
import type { SuiteContext } from '../suite-context.ts'
import type { RequirementCheck } from './check-types.ts'
import { createQueuedJob } from './queued-job.ts'
import { findStatusAt } from './state-transitions.ts'

/** Checks the snapshots of each run, in the order in which they were read. */
function createRunCheck(fault: (run: ObservedRun) => string | null): RequirementCheck {
  return async (t) => {
    const findings = new CheckFindings()
    for (const run of await observeAllRuns(t)) {
      const found = fault(run)
      const { snapshots, acknowledged } = run
      findings.addCase(found === null, () => ({
        finding: `the run ${run.name}: ${found}`,
        answer: { acknowledged, snapshots: snapshots.slice(0, 5), final: run.final },
      }))
    }
    findings.throwIfBroken('no run could be made')
  }
}

export const checkSnapshotIdentity = createRunCheck(({ snapshots, job_id, workflow_id, etag }) => {
  const wrong = snapshots.find((one) => {
    return one.job_id !== job_id || one.workflow_id !== workflow_id || one.workflow_etag !== etag
  })
  return wrong ? `a snapshot belongs to another job, workflow or graph: ${String(wrong.status)}` : null
})

/** A snapshot covers the history up to its last sequence. */
export const checkActiveSequence = createRunCheck(({ snapshots, events }) => {
  let before = 0
  for (const { status, last_sequence } of snapshots.filter((one) => !isTerminal(one))) {
    const last = Number(last_sequence)
    if (!(last >= 1 && last <= events.length)) return `last_sequence is ${last} of ${events.length} while ${status}`
    if (last < before) return `last_sequence decreases from ${before} to ${last}`
    const told = findStatusAt(events, last)
    if (told !== status) return `the snapshot is ${String(status)}, and the history ${String(told)} at ${last}`
    before = last
  }
  return null
})

export async function checkPreflightKept(t: SuiteContext): Promise<void> {
  t.requireOperations('submitJob')
  await createRunCheck(({ snapshots, acknowledged }) => {
    const wrong = snapshots.find(({ preflight }) => !isSameJson(preflight, mapOf(acknowledged).preflight))
    return wrong ? `a snapshot that is ${String(wrong.status)} lacks the preflight that admitted the job` : null
  })(t)
}

const STARTED_STATUSES: readonly unknown[] = ['running', 'suspended', 'completed', 'failed']

export const checkSnapshotTimes = createRunCheck(({ snapshots }) => {
  const first = snapshots[0]!
  for (const [at, one] of snapshots.entries()) {
    const before = snapshots[at - 1] ?? one
    const fault = findTimesFault(one, before, first)
    if (fault !== null) return `${fault} while ${String(one.status)}`
  }
  return null
})

function findTimesFault(one: JsonMap, before: JsonMap, first: JsonMap): string | null {
  const [updated, created] = [toInstant(one.updated_at), toInstant(one.created_at)]
  if (one.created_at !== first.created_at) return 'created_at changes'
  if (updated < toInstant(before.updated_at)) return 'updated_at decreases'
  if (before.started_at !== null && one.started_at !== before.started_at) return 'started_at changes'
  if (STARTED_STATUSES.includes(one.status) && one.started_at === null) return 'started_at is null'
  const others = [one.started_at, one.finished_at].filter((time) => time !== null).map(toInstant)
  if (others.some((time) => time < created)) return 'a time is before created_at'
  return others.some((time) => time > updated) ? 'updated_at is before an event that has happened' : null
}

function toInstant(time: unknown): number {
  return Date.parse(String(time))
}

/** A later job has a later place, and moves up when the job before it leaves. */
export async function checkQueueOrder(t: SuiteContext): Promise<void> {
  const { snapshots, status, behind } = await createQueuedJob(t)
  if (status !== 'queued' || behind === null) throw new CheckSkipped('no two jobs could be made to wait in the queue')
  const [first, second, moved] = [snapshots[0]!, behind.before, behind.after].map((one) => Number(one.queue_position))
  const answer = { first: snapshots[0], second: behind.before, moved: behind.after }
  expect(first! < second!, `the later job has the place ${second}, the earlier one ${first}`, {}, answer)
  const left = behind.after.status !== 'queued' || moved! < second!
  expect(left, 'a job keeps its place when the one before it leaves', {}, answer)
  const { max_queued_jobs } = mapOf((await readCapabilities(t)).limits)
  expect(second! <= Number(max_queued_jobs), `a place is ${second}, of ${String(max_queued_jobs)} at most`, {}, answer)
}
