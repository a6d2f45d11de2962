// Counts from the plan alone how often its nodes fire in a completed run. Only certain results are reported as certain.
import type { Plan, PlanNode, PlanPort } from '../../engine/compile/plan.ts'
import { forEachSteps, mapSteps, type Steps } from '../../shared/time-slices.ts'

/**
 * `once`: the node fires once in every completed run. `perhaps`: it may fire less or more often. `unknown`: it fires for each item of a
 * stream.
 */
export type FiringCount = 'once' | 'perhaps' | 'unknown'

/** Returns the counts by the index of the node. */
export function* countFiringsSteps(plan: Plan): Steps<FiringCount[]> {
  const skippable = yield* findSkippableNodes(plan)
  const cut = yield* findCutNodes(plan)
  return yield* mapSteps(plan.nodes, (node) => {
    if (node.depth > 0) return 'unknown'
    const sure = !skippable.has(node.index) && !cut.has(node.index) && !node.leadsToCatch
    return sure && (node.policy?.attempts ?? 1) === 1 ? 'once' : 'perhaps'
  })
}

/** Finds the nodes that may not fire. A missing value spreads to nodes that require it, and to nodes without any other input. */
function* findSkippableNodes({ nodes }: Plan): Steps<ReadonlySet<number>> {
  const found = new Set<number>()
  const lacking = nodes.map(() => 0)
  const countLacking = ({ targets }: PlanPort): void => {
    for (const { node: index, slot } of targets) {
      const { slots } = nodes[index]!
      const { required, depth } = slots[slot]!
      const none = ++lacking[index]! === slots.length
      // A skipped stream has no item to fall back for.
      if (none || required || depth > 0) found.add(index)
    }
  }
  const visited = new Set<PlanPort>()
  const visit = (node: PlanNode, skipped: boolean): void => {
    for (const port of node.ports) {
      if (visited.has(port) || (!skipped && isCertain(node, port))) continue
      visited.add(port)
      countLacking(port)
    }
  }
  yield* forEachSteps(nodes, (node) => visit(node, false))
  // Iterating a set includes elements that are added meanwhile.
  yield* forEachSteps(found, (index) => visit(nodes[index]!, true))
  return found
}

/** Whether the output gets a value, or the end of a stream, whenever the node fires. A node whose failure is caught may give none. */
function isCertain({ type, leadsToCatch }: PlanNode, { name }: PlanPort): boolean {
  return !leadsToCatch && (name === null || type.gives_all === true)
}

/** Finds the nodes that a stream operator may stop before they fire, because it needs no more of its sources. */
function* findCutNodes({ nodes }: Plan): Steps<ReadonlySet<number>> {
  const found = new Set<number>()
  const add = (node: PlanNode): void => {
    for (const { source } of node.slots) found.add(source)
  }
  yield* forEachSteps(nodes, (node) => {
    if (node.type.streamOperator) add(node)
  })
  yield* forEachSteps(found, (index) => add(nodes[index]!))
  return found
}
