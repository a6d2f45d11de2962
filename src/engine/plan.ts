// Turns a graph into a plan, or says everything that is wrong with it.
import type { Graph, GraphIssue } from './graph.ts'
import type { NodeRegistry } from './node-type.ts'
import type { Plan } from './plan-parts.ts'

export type { Plan, PlanInput, PlanOutput } from './plan-parts.ts'

export interface Compiled {
  /** Null where an issue has severity error. */
  plan: Plan | null
  issues: GraphIssue[]
}

/** Checks the whole graph and, where it has no error, compiles it. Linear in nodes and edges. */
export declare function compileGraph(graph: Graph, registry: NodeRegistry): Compiled
