// The tables as TypeScript types. Columns with JSON are text here; repositories parse them. Times are RFC 3339 strings in UTC.
import type { Generated } from 'kysely'

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

/** The stored job states; they never change. `jobs/states.ts` maps them to the states for clients. */
export type StoredStatus =
  | 'scheduled'
  | 'pending'
  | 'queued'
  | 'running'
  | 'paused'
  | 'recovering'
  | 'cancel_requested'
  | 'completed'
  | 'failed'
  | 'error'
  | 'timed_out'
  | 'cancelled'

export interface JobTable {
  /** Identifies the job inside the database; `id` is unique only within its owner. */
  key: number
  id: string
  user_id: string
  workspace_id: string | null
  workflow_id: string
  workflow_etag: string | null
  workflow_revision: number | null
  graph_sha256: string
  name: string | null
  status: StoredStatus
  /** SHA-256 of the normalized request if the client chose the id, to tell a repeated submission from a different request. */
  request_sha256: string | null
  options: string
  attempt: number
  last_sequence: number
  error: string | null
  result: string | null
  created_at: string
  updated_at: string
  started_at: string | null
  finished_at: string | null
  /** The seed of the run's random numbers. */
  seed: number | null
  /** The waits of a suspended job as the JSON text of a list, in the form of `jobs/waits`; otherwise null. */
  waiting: string | null
  /** When the server must handle a job that does not run, in milliseconds since the epoch; or null. */
  wake_at: number | null
  /** The preflight that admitted the job, as JSON text with secrets redacted; null: the job needed none. */
  preflight: string | null
  /** The number of parts of a large result's text; null: it is in `result`. A row in memory always has the whole text. */
  result_parts: number | null
}

/** A part of the text of a large result. It is written before the row of the job counts it. */
export interface ResultPartTable {
  job_key: number
  /** From 0 on. */
  at: number
  body: string
}

/** The encrypted journal of a job, which is never served: page 0 holds the parameters, other pages the state of the run. */
export interface JobJournalTable {
  job_key: number
  page: number
  attempt: number
  body: Uint8Array
}

/** A large value of a job's journal, in an encrypted file of its own. */
export interface SpilledValueTable {
  content_key: string
  /** Null: no job needs the value, and its file is about to be removed. */
  job_key: number | null
  /** The size of the file in bytes, and its SHA-256. */
  size: number
  sha256: string
}

/** `workspace` is '' outside of any. */
export interface IdempotencyKeyTable {
  user_id: string
  workspace: string
  key: string
  request_sha256: string
  job_key: number
  created_at: string
}

/** What remains of a job after its retention. */
export interface JobTombstoneTable {
  user_id: string
  workspace: string
  id: string
  expired_at: string
}

/** A job without a row whose events or journal are still to be removed, or a completed job whose journal is. */
export interface JobDoomedTable {
  job_key: number
}

/** A deleted folder whose contents are still to be removed. */
export interface DeletedFolderTable {
  user_id: string
  /** Empty outside of any. */
  workspace: string
  id: string
}

/** The position of a sweep over the jobs in the order of their ends. */
export interface SweepPositionTable {
  sweep: string
  finished_at: string
  job_key: number
}

export interface JobEventTable {
  job_key: number
  sequence: number
  type: string
  payload: string
  created_at: string
}

/** The number of events that were removed from a living job's history, for each status of a node and for each output (`status` is '' then). */
export interface JobTrimmedTable {
  job_key: number
  type: string
  name: string
  status: string
  count: number
}

/** A file or a folder. The row of a folder has no digest and no keys. */
export interface AssetTable {
  /** Ascending: a newer asset has a higher key. Never shown. */
  key: number
  id: string
  user_id: string
  workspace_id: string | null
  parent_id: string | null
  name: string
  content_type: string
  size: number
  sha256: string | null
  /** The key under which the bytes are served: `<user>/<id>.<ext>`. */
  storage_key: string | null
  /** The key of the bytes in the object store: the same for equal content of one user. */
  content_key: string | null
  /** As `content_key`, for the thumbnail; null: there is none. */
  thumb_key: string | null
  metadata: string
  /** 1 once the content was read for its thumbnail and metadata. */
  previewed: number
  workflow_id: string | null
  job_id: string | null
  node_id: string | null
  created_at: string
  updated_at: string
}

/** Bytes that a caller stored under a key. Assets have rows of their own. */
export interface ObjectTable {
  /** `<user>/…`, or `temp/<user>/…`. */
  storage_key: string
  user_id: string
  workspace_id: string | null
  /** The key of the bytes in the object store: the same for equal content of one user. */
  content_key: string
  content_type: string
  size: number
  sha256: string
  /** When a temporary object is no longer found. */
  expires_at: string | null
  created_at: string
  updated_at: string
}

/** An access token (`ntk_…`). */
export interface AccessTokenTable {
  id: string
  user_id: string
  workspace_id: string | null
  name: string
  /** SHA-256 of the token's random part. */
  digest: Uint8Array
  /** A JSON list of `read`, `write` and `admin`. */
  scopes: string
  created_at: string
  expires_at: string | null
  last_used_at: string | null
}

/** An access token of the MCP OAuth flow (`nta_…`). */
export interface McpTokenTable {
  id: string
  user_id: string
  workspace_id: string | null
  client_id: string
  /** The only resource of the token: `<public URL>/mcp` at the time of its creation. */
  resource: string
  digest: Uint8Array
  scopes: string
  created_at: string
  expires_at: string
}

/** A secret of a user. `workspace` is '' outside of any. */
export interface UserSecretTable {
  user_id: string
  workspace: string
  name: string
  /** The encrypted value. */
  body: Uint8Array
  updated_at: string
}

/** A setting that a user has changed. `value` is JSON. */
export interface UserSettingTable {
  user_id: string
  workspace: string
  name: string
  value: string
  updated_at: string
}

/** Vectors of one length under one name. `workspace` is '' outside of any. */
export interface VectorIndexTable {
  key: number
  user_id: string
  workspace: string
  name: string
  dimensions: number
  /** The model that made the vectors; null: unknown. */
  model: string | null
  /** The number of entries, and the sum of their `bytes`. */
  count: number
  bytes: number
  created_at: string
  updated_at: string
}

export interface VectorEntryTable {
  key: number
  index_key: number
  id: string
  /** Bytes of the entry's texts and vector. */
  bytes: number
  /** A JSON object. */
  metadata: string
  /** Of length 1: numbers of 32 bits, the lowest byte first. */
  vector: Uint8Array
  text: string | null
}

export interface ThreadTable {
  /** Identifies the thread inside the database. */
  key: number
  id: string
  user_id: string
  workspace_id: string | null
  title: string | null
  /** The sequence of the last message; 0 in an empty thread. */
  last_sequence: number
  /** Characters of all messages. */
  size: number
  /** When the last message was added, or the thread created. */
  spoken_at: string
  created_at: string
  updated_at: string
}

/** A message of a thread. `content`, `tool_calls` and `usage` are JSON. */
export interface MessageTable {
  thread_key: number
  sequence: number
  id: string
  turn_id: string | null
  role: 'system' | 'user' | 'assistant' | 'tool'
  content: string | null
  tool_calls: string | null
  tool_call_id: string | null
  status: 'completed' | 'interrupted' | 'failed'
  error: string | null
  provider: string | null
  model: string | null
  workflow_id: string | null
  job_id: string | null
  usage: string | null
  created_at: string
}

/** A running turn. */
export interface TurnTable {
  thread_key: number
  id: string
  provider: string | null
  model: string | null
  workflow_id: string | null
  job_id: string | null
  created_at: string
}

/** A part of the unfinished message of a turn; `at`: the number of characters before it. */
export interface DraftTable {
  thread_key: number
  at: number
  text: string
}

/** Single facts about the whole database. */
export interface MetaTable {
  name: string
  value: string
}

/**
 * `workspace` is '' outside of any; `currency` is '' if the cost is unknown. Days are `2026-11-22`, in UTC. `own_amount` is the part of `amount` that
 * the user paid with an own key; null for none.
 */
export interface ModelSpendingTable {
  day: string
  user_id: string
  workspace: string
  model: string
  currency: string
  calls: number
  input_tokens: number
  output_tokens: number
  amount: number
  own_amount: number | null
}

/** A row with the checksum of its other columns, which `integrity/row-checksum.ts` computes. */
type Checked<Row> = Row & { checksum: Generated<number> }

export interface Tables {
  meta: Checked<MetaTable>
  workflow: Checked<WorkflowTable>
  workflow_version: Checked<WorkflowVersionTable>
  workflow_share: Checked<WorkflowShareTable>
  graph: Checked<GraphTable>
  graph_part: Checked<GraphPartTable>
  job: Checked<JobTable>
  result_part: Checked<ResultPartTable>
  job_journal: Checked<JobJournalTable>
  spilled_value: Checked<SpilledValueTable>
  idempotency_key: Checked<IdempotencyKeyTable>
  job_tombstone: Checked<JobTombstoneTable>
  job_event: Checked<JobEventTable>
  job_trimmed: Checked<JobTrimmedTable>
  job_doomed: Checked<JobDoomedTable>
  sweep_position: Checked<SweepPositionTable>
  asset: Checked<AssetTable>
  deleted_folder: Checked<DeletedFolderTable>
  object: Checked<ObjectTable>
  access_token: Checked<AccessTokenTable>
  mcp_token: Checked<McpTokenTable>
  user_secret: Checked<UserSecretTable>
  user_setting: Checked<UserSettingTable>
  thread: Checked<ThreadTable>
  message: Checked<MessageTable>
  turn: Checked<TurnTable>
  draft: Checked<DraftTable>
  model_spending: Checked<ModelSpendingTable>
  vector_index: Checked<VectorIndexTable>
  vector_entry: Checked<VectorEntryTable>
}
