// The loop that the tests of loops share, and the node types of its rounds.
import type { Graph, GraphNode } from '../../src/engine/compile/graph.ts'
import { graph, mapType, node, sink, withTypes } from './kit.ts'

export const add = mapType('test.Add', (given) => Number(given) + 1)
export const over = mapType('test.Over', (given) => Number(given) >= 5)
export const types = withTypes(add, over)

/** A loop that adds one in each round; its result and its rounds are outputs. */
export function counting(data: Record<string, unknown>, more: GraphNode[] = [], edges: string[] = []): Graph {
  return graph(
    [
      node('loop', 'control.Loop', { initial: 0, ...data }),
      node('add', 'test.Add'),
      sink('out'),
      sink('rounds'),
      ...more,
    ],
    ['loop.value->add.value', 'add.output->loop.next', 'loop.result->out.value', 'loop.rounds->rounds.value', ...edges],
  )
}
