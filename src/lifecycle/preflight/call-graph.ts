// The call graph of a run: its own workflow and the workflows that it calls, each once for each way to call it, and their cycles.
import type { PlanInput } from '../../engine/compile/compiler.ts'
import type { NodeView } from './node-views.ts'

/** One workflow of a run with its arguments: the run's own, or a called one. */
export interface WorkflowUnit {
  readonly workflow_id: string
  readonly views: readonly NodeView[]
  /** Returns the value of an input: the argument or the default. Undefined if the value comes along an edge. */
  given(input: PlanInput): unknown
  /** The inputs that every call passes. The defaults of all others are used. */
  readonly covered: Set<string>
  /** The called unit by calling node; null if it is not known, or not explored. */
  readonly calls: Map<string, WorkflowUnit | null>
  /** The units of an agent's tools by agent node, as far as they are known. */
  readonly tools: Map<string, readonly (WorkflowUnit | null)[]>
  /** The maximum depth of calls below this unit, without recursive calls. */
  height: number
  /** Whether the unit calls itself, directly or indirectly. */
  recursive: boolean
  /** All units of the cycles that the unit is in; empty if it is in none. */
  cycle: readonly WorkflowUnit[]
}

export interface CallGraph {
  readonly root: WorkflowUnit
  /** The root first. */
  readonly units: readonly WorkflowUnit[]
}

/** Finds the cycles. Every unit of a cycle lists all of its units, wherever the search entered it. */
export function markCycles(units: readonly WorkflowUnit[]): void {
  const targets = new Map(
    units.map((unit) => [unit, new Set([...unit.calls.values(), ...[...unit.tools.values()].flat()])]),
  )
  const reached = new Map(units.map((unit) => [unit, findReachable(unit, targets)]))
  for (const unit of units) {
    const after = reached.get(unit)!
    unit.recursive = after.has(unit)
    unit.cycle = unit.recursive ? units.filter((one) => after.has(one) && reached.get(one)!.has(unit)) : []
  }
}

function findReachable(
  unit: WorkflowUnit,
  targets: ReadonlyMap<WorkflowUnit, ReadonlySet<WorkflowUnit | null>>,
): ReadonlySet<WorkflowUnit> {
  const found = new Set<WorkflowUnit>()
  const follow = (from: WorkflowUnit) => {
    for (const target of targets.get(from)!) if (target) found.add(target)
  }
  follow(unit)
  // Iterating a set includes elements that are added meanwhile.
  for (const one of found) follow(one)
  return found
}
