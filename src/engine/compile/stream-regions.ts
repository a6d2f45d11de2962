// Finds the regions of a graph that a stream operator may leave unread: all edges of their nodes lead, over any nodes, into streams of
// stream operators. Work done there ahead of need may be wasted. See law 68 in ../README.md.
import { forEachSteps, type Steps } from '../../shared/time-slices.ts'
import type { PlanNode, PlanTarget, StreamRegions } from './plan.ts'

/** `order`: node indexes, sources before targets. Null if no node opens a stream in such a region. */
export function* findStreamRegions(nodes: readonly PlanNode[], order: readonly number[]): Steps<StreamRegions | null> {
  if (!nodes.some(({ type }) => type.streamOperator !== undefined)) return null
  const inner: boolean[] = new Array(nodes.length).fill(false)
  const intoWeave = ({ node, slot }: PlanTarget) =>
    nodes[node]!.type.streamOperator !== undefined && nodes[node]!.sideSlots.includes(slot)
  yield* forEachSteps(order.toReversed(), (index) => {
    const { ports, type } = nodes[index]!
    const targets = ports.flatMap((port) => port.targets)
    inner[index] = targets.length > 0 && !type.loop && targets.every((one) => intoWeave(one) || inner[one.node]!)
  })
  if (!nodes.some((node) => inner[node.index] && node.opensStream)) return null
  return yield* numberRegions(nodes, inner)
}

/** Numbers the regions: an edge inside a region puts both of its nodes into that region. */
function* numberRegions(nodes: readonly PlanNode[], inner: readonly boolean[]): Steps<StreamRegions> {
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
  yield* forEachSteps(nodes, ({ index, ports }) => {
    if (!inner[index]) return
    members.add(index)
    for (const port of ports)
      for (const { node } of port.targets) {
        members.add(node)
        parents[rootOf(node)] = rootOf(index)
      }
  })
  const regionByNode = new Int32Array(nodes.length).fill(-1)
  const numbers = new Map<number, number>()
  const readers: number[] = []
  yield* forEachSteps(members, (index) => {
    const root = rootOf(index)
    const number = numbers.get(root) ?? numbers.size
    numbers.set(root, number)
    regionByNode[index] = number
    readers[number] = (readers[number] ?? 0) + (inner[index] ? 0 : 1)
  })
  return { regionByNode, isInnerByNode: inner, readers }
}
