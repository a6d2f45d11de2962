// The type of a graph with everything that is derived from it.

import type { CompilationResult } from '../engine/compile/compiler.ts'
import type { Graph } from '../engine/compile/graph.ts'

export interface CompiledWorkflowGraph extends CompilationResult {
  /** The key of the graph: the SHA-256 of its text, and a mark of its owner (graph-key.ts). */
  readonly sha256: string
  /** The JSON text of the graph, as it is stored. */
  readonly body: string
  /** Roughly the memory that it takes, in bytes. */
  readonly bytes: number
  readonly graph: Graph
  /** The hash of the graph without the editors' `ui_properties`. */
  readonly etag: string
}
