// Compiles a graph for the terminal, and reads slow expressions in threads.

import { type CompilationResult, compileGraph } from '../../engine/compile/compiler.ts'
import type { Graph } from '../../engine/compile/graph.ts'
import { validatePendingExpressions } from '../../engine/compile/pending-expressions.ts'
import type { NodeRegistry } from '../../engine/node-api/node-type.ts'

export async function compileGraphFully(graph: Graph, registry: NodeRegistry): Promise<CompilationResult> {
  const compiled = compileGraph(graph, registry)
  if (compiled.pendingExpressions.size > 0) await readExpressionsInThreads(compiled)
  return compiled
}

async function readExpressionsInThreads(compiled: CompilationResult): Promise<void> {
  const [{ createComputePool }, { createCodeSandbox }] = await Promise.all([
    import('../../compute/worker-pool.ts'),
    import('../../sandbox/code-sandbox.ts'),
  ])
  await using compute = createComputePool()
  await using sandbox = createCodeSandbox()
  await validatePendingExpressions(compiled, { compute, sandbox, owner: '', turn: async () => {} })
}
