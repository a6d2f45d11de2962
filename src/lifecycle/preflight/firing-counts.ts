// How often the nodes of a plan fire in a run that completes, as far as the plan alone tells. Only what is certain is said to be certain.
import type { Plan, PlanNode, PlanPort } from '../../engine/compile/plan.ts'
import { forEachSteps, mapSteps, type Steps } from '../../shared/time-slices.ts'

/** `once`: in every run that completes. `perhaps`: that often, less or more. `unknown`: as often as a stream has items. */
export type FiringCount = 'once' | 'perhaps' | 'unknown'

/** By the node's index. */
export function* countFiringsSteps(plan: Plan): Steps<FiringCount[]> {
  const skippable = yield* findSkippableNodes(plan)
  const cut = yield* findCutNodes(plan)
  return yield* mapSteps(plan.nodes, (node) => {
    if (node.depth > 0) return 'unknown'
    const sure = !skippable.has(node.index) && !cut.has(node.index) && !node.leadsToCatch
    return sure && (node.policy?.attempts ?? 1) === 1 ? 'once' : 'perhaps'
  })
}

/** What an edge brings that may bring nothing reaches further: into nodes that need it, and those that get nothing else. */
function* findSkippableNodes({ nodes }: Plan): Steps<ReadonlySet<number>> {
  const found = new Set<number>()
  const lacking = nodes.map(() => 0)
  const lackOf = ({ targets }: PlanPort): void => {
    for (const { node: index, slot } of targets) {
      const { slots } = nodes[index]!
      const { required, depth } = slots[slot]!
      const none = ++lacking[index]! === slots.length
      // Where a stream is skipped there is no path to fall back at.
      if (none || required || depth > 0) found.add(index)
    }
  }
  const told = new Set<PlanPort>()
  const tell = (node: PlanNode, skipped: boolean): void => {
    for (const port of node.ports) {
      if (told.has(port) || (!skipped && isCertain(node, port))) continue
      told.add(port)
      lackOf(port)
    }
  }
  yield* forEachSteps(nodes, (node) => tell(node, false))
  // A set hands out what is added to it while it is read.
  yield* forEachSteps(found, (index) => tell(nodes[index]!, true))
  return found
}

/** Whether the output gets a value, or a stream its end, wherever the node fires. One whose failure is held gives nothing. */
function isCertain({ type, leadsToCatch }: PlanNode, { name }: PlanPort): boolean {
  return !leadsToCatch && (name === null || type.gives_all === true)
}

/** A weave may want no more of what it is made from, before that has begun. */
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
