// A graph with what follows from it alone.

import type { CompilationResult } from '../engine/compile/compiler.ts'
import type { Graph } from '../engine/compile/graph.ts'

export interface CompiledWorkflowGraph extends CompilationResult {
  readonly sha256: string
  /** The graph's JSON text, as it is stored. */
  readonly body: string
  /** About how much memory it takes. */
  readonly bytes: number
  readonly graph: Graph
  /** The hash of what the graph means: editors' `ui_properties` are left out. */
  readonly etag: string
}
