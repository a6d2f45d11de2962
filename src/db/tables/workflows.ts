// Tables of workflows, their versions, share links and graphs.

export interface WorkflowTable {
  id: string
  user_id: string
  workspace_id: string | null
  name: string
  description: string
  tags: string
  access: 'private' | 'public'
  graph_sha256: string
  settings: string
  run_mode: 'workflow' | 'chat' | 'app'
  etag: string
  revision: number
  created_at: string
  updated_at: string
}

export interface WorkflowVersionTable {
  workflow_id: string
  revision: number
  name: string
  description: string
  graph_sha256: string
  etag: string
  created_at: string
}

export interface WorkflowShareTable {
  token: string
  workflow_id: string
  created_at: string
}

/** Graphs by content: a workflow, its versions and its jobs refer to the same row as long as the graph is the same. */
export interface GraphTable {
  sha256: string
  /** Empty if the text is in parts. */
  body: string
  /** The number of parts of a large graph's text; null: the text is in `body`. */
  parts: number | null
}

/** A part of the text of a large graph. It is written before the row of the graph, which counts the parts. */
export interface GraphPartTable {
  sha256: string
  /** From 0 on. */
  at: number
  body: string
}

export interface WorkflowTables {
  workflow: WorkflowTable
  workflow_version: WorkflowVersionTable
  workflow_share: WorkflowShareTable
  graph: GraphTable
  graph_part: GraphPartTable
}
