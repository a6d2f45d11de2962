// The plans of the workflows that a run calls. Later calls of a workflow use the graph of the first call, even where the workflow has changed.
import { userShareKey } from '../../db/owner-scope.ts'
import type { JobTable } from '../../db/tables/jobs.ts'
import type { Plan } from '../../engine/compile/compiler.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import { ServiceError } from '../../errors.ts'
import { requireAcceptedPlan, requireRunnablePlan } from '../../workflows/invalid-graph-error.ts'
import type { CompiledWorkflowGraph } from '../../workflows/plan-cache.ts'
import type { JobWriter } from '../commit/job-writer.ts'
import type { JobContext } from '../job-context.ts'
import type { ActiveJournal } from '../journal/active-journal.ts'
import { toTransientFault } from '../recovery/transient-faults.ts'

export interface CallingJob {
  readonly row: JobTable
  readonly context: JobContext
  readonly journal: ActiveJournal
  readonly writer: Pick<JobWriter, 'fail'>
}

/**
 * The plan of a workflow for a call. Where there is no memory for it now, or it cannot be read, the job continues later.
 * @throws NodeError where the workflow cannot be called; transient faults unchanged
 */
export async function loadCalledPlan(job: CallingJob, workflow_id: string): Promise<Plan> {
  const pinned = await job.journal.readGraph(workflow_id)
  const { plan, body } = await compileOrPostpone(job, workflow_id, pinned)
  if (pinned !== null) return plan
  // A concurrent call has pinned its graph first.
  if (job.journal.current.graphs.has(workflow_id)) return loadCalledPlan(job, workflow_id)
  job.journal.remember(['graph', workflow_id, body])
  return plan
}

async function compileOrPostpone(
  { row, context, writer }: CallingJob,
  workflow_id: string,
  pinned: string | null,
): Promise<{ plan: Plan; body: string }> {
  try {
    if (pinned === null) {
      const compiled = await compileCurrent(context, row, workflow_id)
      return { plan: requireRunnablePlan(compiled), body: compiled.body }
    }
    const compiled = await context.plans.compileText(userShareKey(row), pinned)
    // A pinned graph was accepted before, so it is not validated as a new graph.
    return { plan: requireAcceptedPlan(compiled), body: compiled.body }
  } catch (error) {
    const transientFault = toTransientFault(error)
    if (transientFault) writer.fail(transientFault)
    else if (error instanceof ServiceError)
      throw new NodeError(`The workflow "${workflow_id}" cannot be called: ${error.message}`)
    throw error
  }
}

async function compileCurrent(
  { workflows }: JobContext,
  row: JobTable,
  workflow_id: string,
): Promise<CompiledWorkflowGraph> {
  await workflows.prepare(row, workflow_id)
  return workflows.callable(row, workflow_id)
}
