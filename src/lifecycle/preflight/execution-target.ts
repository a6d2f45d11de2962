// Checks the execution target of a run: whether this server would start it now. No other target can be attached yet.
import type { ExecutionTarget, PreflightIssue } from '../../../generated/types.ts'
import type { OwnerScope } from '../../db/owner-scope.ts'
import type { AdmissionForecast } from '../../jobs/queue.ts'
import { createErrorIssue, createWarningIssue } from './issues.ts'
import type { RunRequirement } from './requirements.ts'

export interface TargetJobs {
  /** Predicts the admission of a job. It reserves nothing, so a later submission may get another result. */
  forecastAdmission(owner: OwnerScope, workflow_id: string, concurrent: boolean): AdmissionForecast
}

export const LOCAL_TARGET: ExecutionTarget = { kind: 'local' }

/** Returns the requirement of a worker or runner. None can be attached yet, and the run never falls back to this server. */
export function createTargetRequirement(target: ExecutionTarget): RunRequirement | null {
  if (target.kind === 'local') return null
  const [id, name] = target.kind === 'worker' ? [target.worker_id, 'Worker'] : [target.runner_id, 'Runner']
  return {
    kind: 'worker',
    id,
    name: `${name} ${id}`,
    status: 'missing',
    blocking: true,
    message: `No ${target.kind} of this id is attached to this server.`,
    details: { target: target.kind },
  }
}

export function findTargetIssues(
  jobs: TargetJobs,
  owner: OwnerScope,
  workflow_id: string,
  target: ExecutionTarget,
): PreflightIssue[] {
  if (target.kind !== 'local') {
    const text = `Whether the ${target.kind} has capacity is not known: it is not attached to this server.`
    return [createWarningIssue('execution_capacity_unknown', text)]
  }
  const forecast = jobs.forecastAdmission(owner, workflow_id, target.concurrent === true)
  if (forecast === 'start') return []
  if (forecast === 'wait')
    return [createWarningIssue('execution_likely_queued', 'The run would most likely wait for its turn.')]
  return [createErrorIssue(QUEUE_FULL_ISSUE, 'The queue of this server is full: it would not accept the run now.')]
}

export const QUEUE_FULL_ISSUE = 'execution_queue_full'
