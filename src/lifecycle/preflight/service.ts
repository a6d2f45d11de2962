// PreflightService checks whether a run could start, what it needs and what it would cost. A preflight changes nothing, and none of its
// requests costs anything.
import type { ExecutionTarget, PreflightIssue, PreflightRequest, PreflightSummary } from '../../../generated/types.ts'
import { type OwnerScope, userShareKey } from '../../db/owner-scope.ts'
import type { NodeRegistry } from '../../engine/node-api/node-type.ts'
import { ServiceError } from '../../errors.ts'
import type { NewJobLimits } from '../../models/billing/budgets.ts'
import type { TimeSliceScheduler } from '../../shared/time-slices.ts'
import type { RunnableWorkflow } from '../../workflows/runnable-workflows.ts'
import type { WorkflowService } from '../../workflows/service.ts'
import { AbortableTimeSlices } from './abortable-time-slices.ts'
import { type Availability, type AvailabilityParts, checkAvailability } from './availability.ts'
import { findBudgetIssues } from './budget.ts'
import { exploreCalls } from './call-explorer.ts'
import { findTargetIssues, LOCAL_TARGET, QUEUE_FULL_ISSUE, type TargetJobs } from './execution-target.ts'
import {
  addGraphIssues,
  addInputIssues,
  createErrorIssue,
  createWarningIssue,
  findEtagIssues,
  IssueCollector,
  type RunInputs,
} from './issues.ts'
import { MOST_NEEDS } from './node-needs.ts'
import { isRequirementMet } from './requirements.ts'

export interface PreflightServiceParts extends AvailabilityParts {
  readonly workflows: Pick<WorkflowService, 'prepare' | 'runnable' | 'hold'>
  readonly registry: NodeRegistry
  readonly jobs: TargetJobs & { readonly draining: boolean }
  /** Preflights share these time slices with other large reads. */
  readonly reading: TimeSliceScheduler
  readonly budgets: AvailabilityParts['budgets'] & { ahead(owner: OwnerScope): NewJobLimits }
}

/** A request with its absent properties filled in. */
interface PreflightCheck {
  readonly owner: OwnerScope
  readonly found: RunnableWorkflow
  readonly level: PreflightSummary['level']
  readonly etag: string | null
  readonly inputs: RunInputs
  readonly target: ExecutionTarget
}

/** No workflow has this id. Looking it up takes as many steps as any other id, and finds none. */
const NO_WORKFLOW_ID = ''

export class PreflightService {
  readonly #tools: PreflightServiceParts

  constructor(tools: PreflightServiceParts) {
    this.#tools = tools
  }

  /**
   * Returns the complete preflight for a client.
   * @throws WORKFLOW_NOT_FOUND; PREFLIGHT_LEVEL_UNAVAILABLE for `execution` if the server takes no more runs; SERVICE_UNAVAILABLE if
   * `signal` aborts
   */
  async report(owner: OwnerScope, request: PreflightRequest, signal: AbortSignal): Promise<PreflightSummary> {
    const check = await this.#read(owner, request)
    if (check.level === 'execution' && this.#tools.jobs.draining) throw new ServiceError('PREFLIGHT_LEVEL_UNAVAILABLE')
    return this.#summary(check, signal, () => true)
  }

  /**
   * Returns the preflight for a submission. It ignores a full queue and a stopping server, because the submission itself refuses these with
   * errors of its own.
   * @throws WORKFLOW_NOT_FOUND; SERVICE_UNAVAILABLE if `signal` aborts
   */
  async check(owner: OwnerScope, request: PreflightRequest, signal: AbortSignal): Promise<PreflightSummary> {
    return this.#summary(await this.#read(owner, request), signal, ({ code }) => code !== QUEUE_FULL_ISSUE)
  }

  async #read(owner: OwnerScope, request: PreflightRequest): Promise<PreflightCheck> {
    const { workflow_id, workspace_id, level, workflow_etag, inputs, execution_target } = request
    const elsewhere = (workspace_id ?? owner.workspace_id) !== owner.workspace_id
    const id = elsewhere ? NO_WORKFLOW_ID : workflow_id
    const preparing = this.#tools.workflows.prepare(owner, id)
    if (preparing) await preparing
    return {
      owner,
      found: this.#tools.workflows.runnable(owner, id),
      level: level ?? 'static',
      etag: workflow_etag ?? null,
      inputs: inputs ?? {},
      target: execution_target ?? LOCAL_TARGET,
    }
  }

  async #summary(
    check: PreflightCheck,
    signal: AbortSignal,
    counts: (issue: PreflightIssue) => boolean,
  ): Promise<PreflightSummary> {
    const { owner, found, level, inputs, target } = check
    using _ = this.#tools.workflows.hold(found.compiled)
    const [issues, turns] = [
      new IssueCollector(),
      new AbortableTimeSlices(this.#tools.reading, userShareKey(owner), signal),
    ]
    issues.addAll(findEtagIssues(found.compiled, check.etag))
    await turns.run(addGraphIssues(found.compiled, issues))
    await turns.run(addInputIssues(found.compiled, inputs, issues))
    const family = await exploreCalls(this.#tools, { owner, inputs, ...found }, issues, turns)
    const asked = { owner, family, inputs, target, turns }
    const available = level === 'static' ? NOT_CHECKED : await checkAvailability(this.#tools, asked)
    if (signal.aborted) throw new ServiceError('SERVICE_UNAVAILABLE')
    if (level === 'execution') issues.addAll(this.#targetIssues(check).filter(counts))
    issues.addAll(omittedRequirementIssues(available))
    issues.addAll(findBudgetIssues(available, this.#tools.budgets.ahead(owner)))
    return {
      version: 1,
      level,
      workflow_id: found.workflow_id,
      workflow_etag: found.compiled.etag,
      runnable: !issues.hasErrors && available.requirements.every(isRequirementMet),
      issues: issues.list(),
      requirements: available.requirements,
      cost: available.cost,
    }
  }

  #targetIssues({ owner, found, target }: PreflightCheck): PreflightIssue[] {
    return findTargetIssues(this.#tools.jobs, owner, found.workflow_id, target)
  }
}

const NOT_CHECKED: Availability = {
  requirements: [],
  omitted_count: 0,
  has_unmet_omitted: false,
  is_complete: true,
  cost: null,
  operators_cost: null,
}

/** Reports omitted requirements: an error if one of them is unmet or was not checked, or else a warning. */
function omittedRequirementIssues({ omitted_count, has_unmet_omitted, is_complete }: Availability): PreflightIssue[] {
  if (!is_complete) {
    const text = `The run has more than ${MOST_NEEDS} requirements: the others were not checked.`
    return [createErrorIssue('more_requirements', text)]
  }
  if (omitted_count === 0) return []
  const text = `There are ${omitted_count} more requirements.`
  return [
    has_unmet_omitted ? createErrorIssue('more_requirements', text) : createWarningIssue('more_requirements', text),
  ]
}
