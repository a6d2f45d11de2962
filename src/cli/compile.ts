// Compiles a graph for the terminal and reads its slow expressions.
import type { Graph } from '../engine/graph.ts'
import type { NodeRegistry } from '../engine/node-type.ts'
import { readPendingExpressions } from '../engine/pending-expressions.ts'
import { type Compiled, compileGraph } from '../engine/plan.ts'

export async function compileFully(graph: Graph, registry: NodeRegistry): Promise<Compiled> {
  const compiled = compileGraph(graph, registry)
  if (compiled.pending.size > 0) await readInThreads(compiled)
  return compiled
}

async function readInThreads(compiled: Compiled): Promise<void> {
  const [{ createCompute }, { createSandbox }] = await Promise.all([
    import('../compute/compute.ts'),
    import('../sandbox/sandbox.ts'),
  ])
  await using compute = createCompute()
  await using sandbox = createSandbox()
  await readPendingExpressions(compiled, { compute, sandbox, owner: '', turn: async () => {} })
}
