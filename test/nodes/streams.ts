// Graphs of several nodes, for node types that need other nodes.

import { compileGraph } from '../../src/engine/compile/compiler.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import type { RunOutcome } from '../../src/engine/runtime/execution.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { run as runGood } from '../engine/kit.ts'

export type { Graph } from '../../src/engine/compile/graph.ts'
export { edge, graph, node, outputs, sink, source, start } from '../engine/kit.ts'

/** Runs a graph to its outcome; rejects with the first issue, if any. */
export async function run(of: Graph): Promise<RunOutcome> {
  const [first] = compileGraph(of, builtinRegistry).issues.filter((issue) => issue.severity === 'error')
  if (first) throw new Error(`${first.code}: ${first.message}`)
  return runGood(of)
}
