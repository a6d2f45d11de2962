// Where a run would take place: whether this server would start it now, and that no other place is attached to it.
import type { ExecutionTarget, PreflightIssue } from '../../../generated/types.ts'
import type { OwnerScope } from '../../db/owner-scope.ts'
import type { AdmissionForecast } from '../../jobs/queue.ts'
import { createErrorIssue, createWarningIssue } from './issues.ts'
import type { RunRequirement } from './requirements.ts'

export interface TargetJobs {
  /** Reserves nothing: by the time of a submission it may be otherwise. */
  forecastAdmission(owner: OwnerScope, workflow_id: string, concurrent: boolean): AdmissionForecast
}

export const LOCAL_TARGET: ExecutionTarget = { kind: 'local' }

/** A worker or a runner that a run is to take place on. None can be attached yet, and nothing falls back to this server. */
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
    const text = `Whether the ${target.kind} has room is not known: it is not attached to this server.`
    return [createWarningIssue('execution_capacity_unknown', text)]
  }
  const outlook = jobs.forecastAdmission(owner, workflow_id, target.concurrent === true)
  if (outlook === 'start') return []
  if (outlook === 'wait')
    return [createWarningIssue('execution_likely_queued', 'The run would most likely wait for its turn.')]
  return [createErrorIssue(QUEUE_FULL_ISSUE, 'The queue of this server is full: it would not take the run now.')]
}

export const QUEUE_FULL_ISSUE = 'execution_queue_full'
