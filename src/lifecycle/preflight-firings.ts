// How often the nodes of a plan fire in a run that completes, as far as the plan alone tells. Only what is certain is said to be certain.
import type { Plan, PlanNode, PlanPort } from '../engine/plan-parts.ts'

/** `once`: in every run that completes. `perhaps`: that often, less or more. `unknown`: as often as a stream has items. */
export type Firings = 'once' | 'perhaps' | 'unknown'

/** By the node's index. */
export function firingsOf(plan: Plan): Firings[] {
  const skippable = skippableNodes(plan)
  const cut = cutNodes(plan)
  return plan.nodes.map((node) => {
    if (node.depth > 0) return 'unknown'
    const sure = !skippable.has(node.index) && !cut.has(node.index) && !node.leadsToCatch
    return sure && (node.policy?.attempts ?? 1) === 1 ? 'once' : 'perhaps'
  })
}

/** What an edge brings that may bring nothing reaches further: into nodes that need it, and those that get nothing else. */
function skippableNodes({ nodes }: Plan): ReadonlySet<number> {
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
      if (told.has(port) || (!skipped && isSure(node, port))) continue
      told.add(port)
      lackOf(port)
    }
  }
  for (const node of nodes) tell(node, false)
  // A set hands out what is added to it while it is read.
  for (const index of found) tell(nodes[index]!, true)
  return found
}

/** Whether the output gets a value, or a stream its end, wherever the node fires. One whose failure is held gives nothing. */
function isSure({ type, leadsToCatch }: PlanNode, { name }: PlanPort): boolean {
  return !leadsToCatch && (name === null || type.gives_all === true)
}

/** A weave may want no more of what it is made from, before that has begun. */
function cutNodes({ nodes }: Plan): ReadonlySet<number> {
  const found = new Set(nodes.filter(({ type }) => type.weave).flatMap(sourcesOf))
  for (const index of found) for (const source of sourcesOf(nodes[index]!)) found.add(source)
  return found
}

function sourcesOf({ slots }: PlanNode): number[] {
  return slots.map(({ source }) => source)
}
