// Graphs of several nodes, for node types that make sense only among others.
import type { Outcome } from '../../src/engine/execution.ts'
import type { Graph } from '../../src/engine/graph.ts'
import { compileGraph } from '../../src/engine/plan.ts'
import { builtinNodes } from '../../src/nodes/registry.ts'
import { run as runGood } from '../engine/kit.ts'

export type { Graph } from '../../src/engine/graph.ts'
export { edge, graph, node, outputs, sink, source, start } from '../engine/kit.ts'

/** Runs a graph to its outcome; rejects with the first issue where it has one. */
export async function run(of: Graph): Promise<Outcome> {
  const [first] = compileGraph(of, builtinNodes).issues.filter((issue) => issue.severity === 'error')
  if (first) throw new Error(`${first.code}: ${first.message}`)
  return runGood(of)
}
