// Tries a job that failed or was cancelled again, as a new job. Where its graph still means the same, what had finished is taken over.
import type { JobTable } from '../db/schema.ts'
import type { Scope } from '../db/scope.ts'
import type { Graph } from '../engine/graph.ts'
import { ServiceError } from '../errors.ts'
import { runnablePlan } from '../workflows/invalid-graph.ts'
import type { CompiledGraph } from '../workflows/plans.ts'
import type { ActiveJob } from './active-job.ts'
import { JobMemory } from './memory.ts'
import { newRow, newSeed } from './new-job.ts'
import { type CalledGraph, reuseOf } from './reuse.ts'
import type { Roster } from './roster.ts'
import { isTerminal } from './states.ts'
import { optionsOf } from './stored-options.ts'

/**
 * The new job, not yet entered.
 * @throws JOB_NOT_TERMINAL; CONFLICT for a completed job, for one whose inputs are gone, and where something that had finished would run again
 * and must not run twice; WORKFLOW_NOT_FOUND, INVALID_WORKFLOW_GRAPH
 */
export function retryOf(roster: Roster, scope: Scope, row: JobTable, key: number): ActiveJob {
  if (!isTerminal(row.status)) throw new ServiceError('JOB_NOT_TERMINAL')
  if (row.status === 'completed') throw new ServiceError('CONFLICT', { message: 'The job has completed: run it anew.' })
  const { store, cipher } = roster.parts
  const old = JobMemory.load(store, cipher, row.key)
  if (!old) throw new ServiceError('CONFLICT', { message: 'The inputs of the job are not kept any more: run it anew.' })
  const { compiled, revision, same } = graphNow(roster, scope, row)
  const plan = runnablePlan(compiled)
  const memory = JobMemory.fresh(cipher, key, old.params)
  if (same) for (const entry of old.reusable(reuseOf(old.firings, plan, calledBy(roster, old)))) memory.stage(entry)
  const fresh = newRow(
    scope,
    {
      key,
      workflow_id: row.workflow_id,
      revision,
      compiled,
      inline: row.workflow_etag === null,
      request_sha256: null,
      id: null,
      name: row.name,
      options: optionsOf(row),
      seed: same ? (row.seed ?? newSeed(roster.platform)) : newSeed(roster.platform),
    },
    roster.platform,
  )
  return roster.make({ row: fresh, compiled, plan, memory: () => memory, stored: false, watched: false })
}

/** The workflow as it is now, or the graph that came with the job. `same`: it means what it meant then. */
function graphNow(
  roster: Roster,
  scope: Scope,
  row: JobTable,
): { compiled: CompiledGraph; revision: number | null; same: boolean } {
  const then = roster.parts.plans.stored(row.graph_sha256)
  if (row.workflow_etag === null) return { compiled: then, revision: null, same: true }
  const { compiled, revision } = roster.parts.workflows.runnable(scope, row.workflow_id)
  return { compiled, revision, same: compiled.etag === row.workflow_etag }
}

/** The graphs of the workflows that a job has called. */
function calledBy(roster: Roster, memory: JobMemory): CalledGraph[] {
  return [...memory.graphs.values()].map((body) => {
    const { plan } = roster.parts.plans.compile(JSON.parse(body) as Graph)
    return { plan, same: plan !== null }
  })
}
