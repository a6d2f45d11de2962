// A graph with all that is wrong with it, also what takes long to find out.
import type { Graph } from '../engine/graph.ts'
import type { NodeRegistry } from '../engine/node-type.ts'
import { type Compiled, compileGraph } from '../engine/plan.ts'
import { readUnread } from '../engine/unread.ts'

export async function compiledWhole(graph: Graph, registry: NodeRegistry): Promise<Compiled> {
  const compiled = compileGraph(graph, registry)
  if (compiled.unread.length > 0) await readInThreads(compiled)
  return compiled
}

async function readInThreads(compiled: Compiled): Promise<void> {
  const [{ createCompute }, { createSandbox }] = await Promise.all([
    import('../compute/compute.ts'),
    import('../sandbox/sandbox.ts'),
  ])
  await using compute = createCompute()
  await using sandbox = createSandbox()
  await readUnread(compiled, { compute, sandbox, owner: '', turn: async () => {} })
}
