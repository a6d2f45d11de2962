// The graph in its wire format: nodes, edges and their issues. Unknown keys are kept in storage; the engine ignores them.

export interface GraphNode {
  id: string
  type: string
  /** Values of the node's properties, by name. `null` means absent. */
  data?: Record<string, unknown> | null
  parent_id?: string | null
  /** Extra inputs: name → type metadata, or name → value. */
  dynamic_properties?: Record<string, unknown> | null
  /** Extra outputs: name → type metadata; `null` or `{}` means any. */
  dynamic_outputs?: Record<string, unknown> | null
  ui_properties?: unknown
  [key: string]: unknown
}

export interface GraphEdge {
  id?: string | null
  source: string
  sourceHandle?: string | null
  target: string
  targetHandle?: string | null
  /** A control edge orders two nodes without carrying a value. Absent means `data`. */
  edge_type?: 'data' | 'control' | null
  ui_properties?: unknown
  [key: string]: unknown
}

export interface Graph {
  nodes: GraphNode[]
  edges: GraphEdge[]
  [key: string]: unknown
}

/** The last six are warnings: a graph with them can run. */
export type GraphIssueCode =
  | 'unknown_node'
  | 'duplicate_id'
  | 'missing_property'
  | 'dangling_edge'
  | 'unknown_handle'
  | 'type_mismatch'
  | 'out_of_range'
  | 'invalid_expression'
  | 'fan_in'
  | 'illegal_cycle'
  | 'incomparable_scopes'
  | 'too_many_inputs'
  | 'too_many_outputs'
  | 'empty_graph'
  | 'unknown_property'
  | 'unknown_name'
  | 'unknown_type'
  | 'ignored_handle'
  | 'unreachable_output'

export interface GraphIssue {
  severity: 'error' | 'warning'
  code: GraphIssueCode
  message: string
  node_id: string | null
  pin_name: string | null
}
