// A graph with what follows from it alone.
import type { Graph } from '../engine/graph.ts'
import type { Compiled } from '../engine/plan.ts'

export interface CompiledGraph extends Compiled {
  readonly sha256: string
  /** The graph's JSON text, as it is stored. */
  readonly body: string
  /** About how much memory it takes. */
  readonly bytes: number
  readonly graph: Graph
  /** The hash of what the graph means: editors' `ui_properties` are left out. */
  readonly etag: string
}
