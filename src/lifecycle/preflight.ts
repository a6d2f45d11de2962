// Preflight: whether a run could be started, what it needs and what it would cost. It changes nothing, and nothing that it asks costs anything.
import type { ExecutionTarget, PreflightIssue, PreflightRequest, PreflightSummary } from '../../generated/types.ts'
import { type Scope, userKey } from '../db/scope.ts'
import type { NodeRegistry } from '../engine/node-type.ts'
import { ServiceError } from '../errors.ts'
import type { LimitsAhead } from '../models/budgets.ts'
import type { TimeSlices } from '../time-slices.ts'
import type { RunnableWorkflow, WorkflowService } from '../workflows/service.ts'
import { type Availability, type AvailabilityTools, availabilityOf } from './preflight-availability.ts'
import { budgetIssues } from './preflight-budget.ts'
import { exploreCalls } from './preflight-calls.ts'
import {
  addGraphIssues,
  addInputIssues,
  errorIssue,
  etagIssues,
  type Inputs,
  Issues,
  warningIssue,
} from './preflight-issues.ts'
import { isMet } from './preflight-requirements.ts'
import { HERE, QUEUE_FULL, type TargetJobs, targetIssues } from './preflight-target.ts'
import { Turns } from './preflight-turns.ts'

export interface PreflightTools extends AvailabilityTools {
  readonly workflows: Pick<WorkflowService, 'prepare' | 'runnable' | 'hold'>
  readonly registry: NodeRegistry
  readonly jobs: TargetJobs & { readonly draining: boolean }
  /** What is read of it shares these slices with others that read much. */
  readonly reading: TimeSlices
  readonly budgets: AvailabilityTools['budgets'] & { ahead(owner: Scope): LimitsAhead }
}

/** One request, with what its absent properties mean. */
interface Check {
  readonly owner: Scope
  readonly found: RunnableWorkflow
  readonly level: PreflightSummary['level']
  readonly etag: string | null
  readonly inputs: Inputs
  readonly target: ExecutionTarget
}

/** No workflow has it: to look for it is to find nothing, in as many steps as any other. */
const NO_WORKFLOW = ''

export class Preflight {
  readonly #tools: PreflightTools

  constructor(tools: PreflightTools) {
    this.#tools = tools
  }

  /**
   * The whole answer, for whoever only asks.
   * @throws WORKFLOW_NOT_FOUND; PREFLIGHT_LEVEL_UNAVAILABLE for `execution` where the server takes no more runs; SERVICE_UNAVAILABLE
   * where `signal` aborts
   */
  async report(owner: Scope, request: PreflightRequest, signal: AbortSignal): Promise<PreflightSummary> {
    const check = await this.#read(owner, request)
    if (check.level === 'execution' && this.#tools.jobs.draining) throw new ServiceError('PREFLIGHT_LEVEL_UNAVAILABLE')
    return this.#summary(check, signal, () => true)
  }

  /**
   * The same before a submission, which is refused in its own words where the queue is full or the server takes no more runs: neither is
   * looked at here.
   * @throws WORKFLOW_NOT_FOUND; SERVICE_UNAVAILABLE where `signal` aborts
   */
  async check(owner: Scope, request: PreflightRequest, signal: AbortSignal): Promise<PreflightSummary> {
    return this.#summary(await this.#read(owner, request), signal, ({ code }) => code !== QUEUE_FULL)
  }

  async #read(owner: Scope, request: PreflightRequest): Promise<Check> {
    const { workflow_id, workspace_id, level, workflow_etag, inputs, execution_target } = request
    const elsewhere = (workspace_id ?? owner.workspace_id) !== owner.workspace_id
    const id = elsewhere ? NO_WORKFLOW : workflow_id
    const preparing = this.#tools.workflows.prepare(owner, id)
    if (preparing) await preparing
    return {
      owner,
      found: this.#tools.workflows.runnable(owner, id),
      level: level ?? 'static',
      etag: workflow_etag ?? null,
      inputs: inputs ?? {},
      target: execution_target ?? HERE,
    }
  }

  async #summary(
    check: Check,
    signal: AbortSignal,
    counts: (issue: PreflightIssue) => boolean,
  ): Promise<PreflightSummary> {
    const { owner, found, level, inputs, target } = check
    using _ = this.#tools.workflows.hold(found.compiled)
    const [issues, turns] = [new Issues(), new Turns(this.#tools.reading, userKey(owner), signal)]
    issues.addAll(etagIssues(found.compiled, check.etag))
    await turns.run(addGraphIssues(found.compiled, issues))
    await turns.run(addInputIssues(found.compiled, inputs, issues))
    const family = await exploreCalls(this.#tools, { owner, inputs, ...found }, issues, turns)
    const asked = { owner, family, inputs, target, turns }
    const available = level === 'static' ? NOT_LOOKED_AT : await availabilityOf(this.#tools, asked)
    if (signal.aborted) throw new ServiceError('SERVICE_UNAVAILABLE')
    if (level === 'execution') issues.addAll(this.#targetIssues(check).filter(counts))
    issues.addAll(leftIssues(available))
    issues.addAll(budgetIssues(available, this.#tools.budgets.ahead(owner)))
    return {
      version: 1,
      level,
      workflow_id: found.workflow_id,
      workflow_etag: found.compiled.etag,
      runnable: !issues.hasErrors && available.requirements.every(isMet),
      issues: issues.told(),
      requirements: available.requirements,
      cost: available.cost,
    }
  }

  #targetIssues({ owner, found, target }: Check): PreflightIssue[] {
    return targetIssues(this.#tools.jobs, owner, found.workflow_id, target)
  }
}

const NOT_LOOKED_AT: Availability = { requirements: [], left: 0, unmet: false, cost: null, operators_cost: null }

/** That there were requirements which are not told: an error where a run could not do without one of them. */
function leftIssues({ left, unmet }: Availability): PreflightIssue[] {
  if (left === 0) return []
  const text = `There are ${left} more requirements.`
  return [unmet ? errorIssue('more_requirements', text) : warningIssue('more_requirements', text)]
}
