// The regions of a graph that a weave may leave unread: nodes all of whose edges lead, over any nodes, into streams of weaves. What they do
// ahead of the weaves that read for nodes outside may come to nothing. Law 68 of the README beside this file.
import { forEachStep, type Steps } from '../time-slices.ts'
import type { PlanNode, PlanTarget, Regions } from './plan-parts.ts'

/** `order`: the indexes of the nodes, sources before targets. Null where no node opens a stream in such a region. */
export function* regionsOf(nodes: readonly PlanNode[], order: readonly number[]): Steps<Regions | null> {
  if (!nodes.some(({ type }) => type.weave !== undefined)) return null
  const inner: boolean[] = new Array(nodes.length).fill(false)
  const intoWeave = ({ node, slot }: PlanTarget) =>
    nodes[node]!.type.weave !== undefined && nodes[node]!.sides.includes(slot)
  yield* forEachStep(order.toReversed(), (index) => {
    const { ports, type } = nodes[index]!
    const targets = ports.flatMap((port) => port.targets)
    inner[index] = targets.length > 0 && !type.loop && targets.every((one) => intoWeave(one) || inner[one.node]!)
  })
  if (!nodes.some((node) => inner[node.index] && node.streaming)) return null
  return yield* numbered(nodes, inner)
}

/** Numbers the regions: nodes that an edge within one joins are in the same. */
function* numbered(nodes: readonly PlanNode[], inner: readonly boolean[]): Steps<Regions> {
  const parents = nodes.map((_, index) => index)
  const rootOf = (index: number): number => {
    let root = index
    while (parents[root] !== root) {
      parents[root] = parents[parents[root]!]!
      root = parents[root]!
    }
    return root
  }
  const members = new Set<number>()
  yield* forEachStep(nodes, ({ index, ports }) => {
    if (!inner[index]) return
    members.add(index)
    for (const port of ports)
      for (const { node } of port.targets) {
        members.add(node)
        parents[rootOf(node)] = rootOf(index)
      }
  })
  const of = new Int32Array(nodes.length).fill(-1)
  const numbers = new Map<number, number>()
  const readers: number[] = []
  yield* forEachStep(members, (index) => {
    const root = rootOf(index)
    const number = numbers.get(root) ?? numbers.size
    numbers.set(root, number)
    of[index] = number
    readers[number] = (readers[number] ?? 0) + (inner[index] ? 0 : 1)
  })
  return { of, inner, readers }
}
