// The tables as TypeScript sees them. Columns that hold JSON are text here; repositories parse them. Times are RFC 3339 strings in UTC.
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

/** Graphs by content: a workflow, its versions and its jobs name the same row as long as the graph is the same. */
export interface GraphTable {
  sha256: string
  /** Empty where the text is in parts. */
  body: string
  /** How many parts the text of a large graph has; null: it is whole. */
  parts: number | null
}

/** A piece of the text of a large graph. It is written before the row of the graph, which counts the parts. */
export interface GraphPartTable {
  sha256: string
  /** From 0 on. */
  at: number
  body: string
}

/** The stored vocabulary of job states; it never changes. `jobs/states.ts` says what each means to a client. */
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
  /** SHA-256 of the normalised request where the client chose the id, to tell a repeated submission from another one. */
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
  /** What the run's random numbers are made from. */
  seed: number | null
  /** What a suspended job waits for: JSON text of a list, as `jobs/waiting.ts` has it; else null. */
  waiting: string | null
  /** When the server has to see to a job that does not run, in milliseconds since the epoch; or null. */
  wake_at: number | null
  /** The preflight that admitted it, as JSON text with secrets replaced; null where it needed none. */
  preflight: string | null
  /** In how many parts the text of a large result lies; null: it is whole. A row in memory has all of it in both cases. */
  result_parts: number | null
}

/** A piece of the text of a large result. It is written before the row of the job counts it. */
export interface ResultPartTable {
  job_key: number
  /** From 0 on. */
  at: number
  body: string
}

/** What a job needs to run and nobody is ever served, encrypted: page 0 has its parameters, the others what its run remembers. */
export interface JobJournalTable {
  job_key: number
  page: number
  attempt: number
  body: Uint8Array
}

/** A large value that a job remembers, in a sealed file of its own. */
export interface SpilledValueTable {
  content_key: string
  /** Null: no job needs it any more, and the file is about to be removed. */
  job_key: number | null
  /** Of the file, in bytes; and its SHA-256. */
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

/** What is left of a job past its retention. */
export interface JobTombstoneTable {
  user_id: string
  workspace: string
  id: string
  expired_at: string
}

/** A job whose row is gone, and whose events or journal are still to be removed; or one that has completed, whose journal alone is. */
export interface JobDoomedTable {
  job_key: number
}

/** A folder whose row is gone, and what lies below it is still to be removed. */
export interface DeletedFolderTable {
  user_id: string
  /** Empty outside of any. */
  workspace: string
  id: string
}

/** How far a sweep has come that goes over the jobs in the order of their ends. */
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

/** How many events were removed of a living job's history: of each status of a node, and of each output (`status` is '' then). */
export interface JobTrimmedTable {
  job_key: number
  type: string
  name: string
  status: string
  count: number
}

/** A file or a folder. The row of a folder has no digest and no keys. */
export interface AssetTable {
  /** Counts on: of two assets the newer one has the higher key. Never shown. */
  key: number
  id: string
  user_id: string
  workspace_id: string | null
  parent_id: string | null
  name: string
  content_type: string
  size: number
  sha256: string | null
  /** Under which the bytes are served: `<user>/<id>.<ext>`. */
  storage_key: string | null
  /** Under which the store of objects keeps the bytes: the same for equal content of one user. */
  content_key: string | null
  /** As `content_key`, of the small picture; null where there is none. */
  thumb_key: string | null
  metadata: string
  /** 1 once the content was looked at, for the picture and for what is known about it. */
  previewed: number
  workflow_id: string | null
  job_id: string | null
  node_id: string | null
  created_at: string
  updated_at: string
}

/** Bytes that a caller put under a key. Assets have rows of their own. */
export interface ObjectTable {
  /** `<user>/…`, or `temp/<user>/…`. */
  storage_key: string
  user_id: string
  workspace_id: string | null
  /** Under which the store of objects keeps the bytes: the same for equal content of one user. */
  content_key: string
  content_type: string
  size: number
  sha256: string
  /** Of a temporary one: from then on it is not found. */
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
  /** The one resource that it was made for: `<public URL>/mcp` as it was then. */
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
  /** The value, sealed. */
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
  /** The model that made them, or null where nobody said. */
  model: string | null
  /** How many entries it has, and the sum of their `bytes`. */
  count: number
  bytes: number
  created_at: string
  updated_at: string
}

export interface VectorEntryTable {
  key: number
  index_key: number
  id: string
  /** What its texts and its vector take. */
  bytes: number
  /** A JSON object. */
  metadata: string
  /** Of length 1: numbers of 32 bits, the lowest byte first. */
  vector: Uint8Array
  text: string | null
}

/** A conversation. */
export interface ThreadTable {
  /** Identifies the thread inside the database. */
  key: number
  id: string
  user_id: string
  workspace_id: string | null
  title: string | null
  /** Of its last message; 0 in an empty one. */
  last_sequence: number
  /** Of all its messages, in characters. */
  size: number
  /** When its last message came, or when it was made. */
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

/** A turn that is under way. */
export interface TurnTable {
  thread_key: number
  id: string
  provider: string | null
  model: string | null
  workflow_id: string | null
  job_id: string | null
  created_at: string
}

/** A piece of the text so far of the message that a turn writes; `at`: how many characters of it stand before. */
export interface DraftTable {
  thread_key: number
  at: number
  text: string
}

/** Single facts about the database as a whole. */
export interface MetaTable {
  name: string
  value: string
}

/**
 * `workspace` is '' outside of any, `currency` where nobody knows what the calls cost. Days are `2026-11-22`, in UTC. `own_amount` is the part of
 * `amount` that the user paid on a key of their own, null for none.
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

/** A row with the checksum of its other columns; `checksum.ts` says how it is made. */
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
