// What a run is made of: its own workflow and those that it calls, each as it is called, and the circles in which they call each other.
import type { PlanInput } from '../../engine/compile/compiler.ts'
import type { NodeView } from './node-views.ts'

/** One workflow of a run with what it is given: the run's own, or one that is called. */
export interface WorkflowUnit {
  readonly workflow_id: string
  readonly views: readonly NodeView[]
  /** The value of one of its inputs: the given one, or its default. Nothing where it comes along an edge. */
  given(input: PlanInput): unknown
  /** The inputs that are given at each of its calls: the defaults of all others are used. */
  readonly covered: Set<string>
  /** By node that calls: the unit that it calls, or null where that is not known, or not looked into. */
  readonly calls: Map<string, WorkflowUnit | null>
  /** By agent: what its tools are, as far as that is known. */
  readonly tools: Map<string, readonly (WorkflowUnit | null)[]>
  /** How many calls lie below one another at its deepest, those that go back not counted. */
  height: number
  /** Whether it calls itself, by itself or through others. */
  recursive: boolean
  /** All units of the circles that it is in; empty where it is in none. */
  cycle: readonly WorkflowUnit[]
}

export interface CallGraph {
  readonly root: WorkflowUnit
  /** The root first. */
  readonly units: readonly WorkflowUnit[]
}

/** Finds the circles. Every unit of one is in it, by whichever way it was met. */
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
  // A set hands out what is added to it while it is read.
  for (const one of found) follow(one)
  return found
}
