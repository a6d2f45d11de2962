// The plans of stored jobs. A graph may be damaged, or not runnable in this version.
import { userShareKey } from '../db/owner-scope.ts'
import type { JobTable } from '../db/tables/jobs.ts'
import type { Plan } from '../engine/compile/compiler.ts'
import { isDamagedDataError } from '../errors.ts'
import { requireAcceptedPlan } from '../workflows/invalid-graph-error.ts'
import type { PlanCache } from '../workflows/plan-cache.ts'

/** The reason why the graph of a job cannot run: it is damaged, or this version cannot run it. */
export type PlanObstacle = 'damaged' | 'not_runnable'

export interface StoredPlan {
  /** Empty where there is an obstacle. */
  readonly plan: Plan
  readonly graph_bytes: number
  readonly obstacle: PlanObstacle | null
}

const EMPTY_PLAN: Plan = {
  inputs: [],
  outputs: [],
  nodes: [],
  streamEdges: 0,
  roots: [],
  regions: null,
  indexById: new Map(),
  inputByName: new Map(),
  outputByName: new Map(),
}

/** Compiles a large graph of a stored job in time slices, for readers of its plan; null for a small or damaged graph. */
export function preparePlan(plans: PlanCache, row: JobTable): Promise<unknown> | null {
  return readUnlessDamaged(() => plans.prepareStored(userShareKey(row), row.graph_sha256), null)
}

/** `preparePlan` for a new run of the job's graph: it reads slow expressions as well. */
export function prepareRunPlan(plans: PlanCache, row: JobTable): Promise<unknown> | null {
  return readUnlessDamaged(() => plans.prepareRun(userShareKey(row), row.graph_sha256), null)
}

/** The plan with which a job was accepted. @throws INVALID_WORKFLOW_GRAPH where this version cannot run it */
export function requireStoredPlan(plans: PlanCache, row: JobTable): Plan {
  return requireAcceptedPlan(plans.compileStored(row.graph_sha256))
}

export function readStoredPlan(plans: PlanCache, { graph_sha256 }: JobTable): StoredPlan {
  const compiled = readUnlessDamaged(() => plans.compileStored(graph_sha256), null)
  if (compiled?.plan) return { plan: compiled.plan, graph_bytes: compiled.bytes, obstacle: null }
  return { plan: EMPTY_PLAN, graph_bytes: 0, obstacle: compiled ? 'not_runnable' : 'damaged' }
}

/** Runs `read`; returns `otherwise` where the data is damaged. */
function readUnlessDamaged<T, O>(read: () => T, otherwise: O): T | O {
  try {
    return read()
  } catch (error) {
    if (isDamagedDataError(error)) return otherwise
    throw error
  }
}
