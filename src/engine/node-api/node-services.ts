// The services that the host of a run provides to its nodes. The engine passes them on unread; node code relies on these interfaces, and
// hosts implement them.
import type { ChatCompletionRequest, ChatMessage, CreateEmbeddingRequest } from '../../../generated/types.ts'
import type { Steps } from '../../shared/time-slices.ts'
import { NodeError } from './node-error.ts'

export interface SandboxScript {
  /** The body of an asynchronous generator function: it may `return` outputs by name and `yield` items by name. */
  readonly code: string
  /** The values that the code sees under these names. Plain JSON values. */
  readonly inputs: Readonly<Record<string, unknown>>
  /** The seed of `Math.random`. */
  readonly seed: number
  /** True: the code is only parsed, nothing runs, and the result is empty. */
  readonly syntax_only?: boolean
  /** Time limit until the result or the next item, in milliseconds. */
  readonly time_limit_ms: number
  /** Memory limit for all values together, in megabytes. */
  readonly memory_limit_mb: number
  /** The user and the run of the task: users get turns one after the other, and so do the runs of one user. */
  readonly owner?: object | string
  readonly run?: object
  /** Ends the code in any state. */
  readonly signal: AbortSignal
  /** Reads long results in slices, as in `NodeContext`; absent: results are read at once. */
  inSlices?<T>(steps: Steps<T>): Promise<T>
  /** Receives a line that the code wrote to its console. */
  log(severity: 'debug' | 'info' | 'warning' | 'error', content: string): void
}

/**
 * Runs untrusted code. Both methods throw NodeError if the code fails: `code_error`, `code_timeout`, `code_memory`, `code_stack`,
 * `code_output`; also `bad_input`, `too_large`, `too_deep`, `code_busy`, `unavailable`; and the signal's reason.
 */
export interface CodeSandbox {
  /** Returns the result of the code, which may not yield. */
  call(script: SandboxScript): Promise<Record<string, unknown>>
  /** Yields the code's items, then returns its result. Callers must read it to the end or call `return`. */
  stream(script: SandboxScript): AsyncGenerator<Record<string, unknown>, Record<string, unknown>, void>
}

export interface MediaTask {
  /** The name of the task, such as `image.resize`. */
  readonly task: string
  readonly files: readonly Uint8Array[]
  /** Plain data. */
  readonly params: Readonly<Record<string, unknown>>
  /** The user and the run of the task: users get turns one after the other, and so do the runs of one user. */
  readonly owner: object | string
  readonly run?: object
  /** The longest wait for a turn, in milliseconds; absent: no limit. */
  readonly wait_limit_ms?: number
  /** Time limit of the work itself, in milliseconds, if it is below the general limit of such work. */
  readonly time_limit_ms?: number
  /** Ends the task in any state. */
  readonly signal: AbortSignal
}

export interface MediaResult {
  readonly files: readonly Uint8Array[]
  /** Plain data. */
  readonly value: unknown
}

/** Slow work on files, or work that hostile files could harm: runs in processes of its own, with limits of memory and time. */
export interface MediaAccess {
  /**
   * The same task on the same files gives the same result.
   * @throws NodeError `bad_file`, `unsupported`, `too_large`, `bad_input`, `media_memory`, `media_timeout`, `media_failed`, `unavailable`,
   * and `busy` if its turn did not come in time
   */
  run(task: MediaTask): Promise<MediaResult>
}

export interface ComputeTask {
  readonly node_type: string
  readonly inputs: Record<string, unknown>
  /** The user and the run of the task: users get turns one after the other, and so do the runs of one user. */
  readonly owner: string
  readonly run?: object
  /** Ends the task in any state. */
  readonly signal: AbortSignal
}

/** Runs firings of pure node types outside of the main thread. */
export interface ComputeAccess {
  /** Whether firings of this type may run there. */
  takes(type: { readonly node_type: string }): boolean
  /**
   * The outputs that the type's code returns for these inputs, not validated.
   * @throws errors of that code; NodeError `compute_memory`, `compute_failed`, `unavailable`; the signal's reason
   */
  run(task: ComputeTask): Promise<Record<string, unknown>>
}

export interface OutgoingRequest {
  /** GET, POST, PUT, PATCH, DELETE, HEAD or OPTIONS. */
  readonly method: string
  /** http or https. User name and password in the URL are sent as an Authorization header. */
  readonly url: string
  /** Names in any case. Headers of the connection itself, such as Host and Content-Length, are refused. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | null
  /** Time limit until the whole response has arrived, including redirects, in milliseconds. */
  readonly timeout_ms: number
  /** The longest body that is accepted, in bytes after decompression. */
  readonly max_bytes: number
  /** The limit of redirects. 0: the redirect itself is the response. */
  readonly max_redirects: number
  /** Values in the request that are sent to no other origin and shown in no message. */
  readonly secrets: readonly string[]
  /** Whether the body contains a secret in any form. Such a body is sent to no other origin. */
  readonly secret_body: boolean
  readonly signal: AbortSignal
  /** Reports changes of the bytes of the response held in memory; the sum is 0 once it has arrived or failed. */
  onBytesHeld?(bytes: number): void
}

export interface IncomingResponse {
  readonly status: number
  /** Names in lower case. Values of one name are joined by ", ", those of Set-Cookie by a line break. */
  readonly headers: Readonly<Record<string, string>>
  /** Decompressed. */
  readonly body: Uint8Array
  /** The URL of the response, after redirects. */
  readonly url: string
}

export interface OutgoingHttp {
  /**
   * Sends one request to an allowed address. Rejects with the signal's reason if it aborts.
   * @throws NodeError `address_refused`, `bad_header`, `bad_response`, `bad_url`, `connection_failed`, `http_timeout`, `name_not_found`,
   * `redirect_refused`, `tls_failed`, `too_large`, `too_many_redirects`, `unavailable`
   */
  send(request: OutgoingRequest): Promise<IncomingResponse>
}

export type ModelMessage = ChatMessage

/**
 * Reserves the certain cost of a call until it is paid; null: nothing is reserved. `sure` returns that cost, null if it is unknown. An
 * error fails the call before a request is sent.
 */
export type ReserveCost = (sure: () => ModelCost | null) => Disposable | null

export interface ModelRequest {
  /**
   * As in the contract. `model` is `provider/name`; a bare name means the model of the default provider, or of the only provider that has
   * it. `stream` and `n` have no meaning here.
   */
  readonly body: ChatCompletionRequest
  readonly signal: AbortSignal
  /** Called once with the usage of the call: before its last part, or when it breaks off after output. */
  used?(use: ModelUsage): void
  readonly hold?: ReserveCost | undefined
  /** The limit of output tokens if neither the request nor the model sets a lower one; null: no limit. */
  readonly left?: number | null
}

export interface EmbedRequest {
  readonly body: Pick<CreateEmbeddingRequest, 'model' | 'dimensions'> & { readonly input: readonly string[] }
  readonly signal: AbortSignal
  /** Called once with the usage of the call. */
  used?(use: ModelUsage): void
  readonly hold?: ReserveCost | undefined
}

export interface ModelCost {
  readonly amount: number
  /** An ISO 4217 code. */
  readonly currency: string
  /** Whether the provider reported the cost; otherwise it is computed from prices. */
  readonly reported: boolean
}

/** The usage of one call. Token counts are never zero if there is text. */
export interface ModelUsage {
  /** `provider/name`. */
  readonly model: string
  readonly input_tokens: number
  readonly output_tokens: number
  /** Null if no price is known. */
  readonly cost: ModelCost | null
}

/**
 * A part of a tool call. The first part of an `index` has the id and the name. Joined, the arguments are JSON text; of a `custom` tool, as
 * its first part says, they are any text.
 */
export interface ModelToolCall {
  readonly type: 'tool_call'
  readonly index: number
  readonly custom?: true
  readonly id?: string
  readonly name?: string
  readonly arguments: string
}

/** The parts of an answer; texts are never empty, and the last part is the end. */
export type ModelPart =
  | { readonly type: 'text' | 'thinking' | 'refusal'; readonly text: string }
  | ModelToolCall
  | {
      readonly type: 'end'
      readonly use: ModelUsage
      readonly finish_reason: 'stop' | 'length' | 'tool_calls' | 'content_filter'
    }

export interface ModelAccess {
  /**
   * Calls a model when the first part is read. Callers must read to the end, or call `return`, which ends the call. Throws NodeError
   * `model_not_found`, `model_unavailable`, `unknown_secret`, `bad_input` if the provider does not support or rejects the request,
   * `rate_limited`, `provider_failed`, `over_budget`, `too_large`, `unavailable`; and the signal's reason.
   */
  complete(request: ModelRequest): AsyncGenerator<ModelPart, void, void>
  /** One vector per text, in order. Throws like `complete`. */
  embed(request: EmbedRequest): Promise<readonly (readonly number[])[]>
  /**
   * The capabilities of a model, as its provider reports them, in the terms of models/provider.ts; empty if unknown. Costs nothing. Throws
   * like `complete`.
   */
  capabilities(model: string, signal: AbortSignal): Promise<readonly string[]>
}

export interface LoadedAsset {
  readonly bytes: Uint8Array
  /** Includes the parameters. */
  readonly content_type: string
  readonly name: string
}

/** A file stored as an asset, as values refer to it. */
export interface AssetValue {
  /** `image`, `audio`, `video`, `document`, `dataframe`, `model` or `file`. */
  readonly type: string
  /** `/api/storage/<key>`. */
  readonly uri: string
  readonly asset_id: string
  readonly content_type: string
  /** Bytes. */
  readonly size: number
  readonly sha256: string
  readonly name: string
}

export interface AssetToSave {
  readonly bytes: Uint8Array
  readonly name: string | null
  /** The claimed type; the type detected from the bytes takes precedence. */
  readonly content_type: string | null
  /** The id of a folder, or null for the top level. */
  readonly folder: string | null
  /** The node that saves the asset. */
  readonly node_id: string
  /** Within a run, the same content saved again with the same key is the same asset. */
  readonly dedupe_key: string
}

export interface AssetQuery {
  /** The id of a folder, `root` for the top level, or null for all. */
  readonly folder: string | null
  /** A full content type, a family such as `image`, or null for all. */
  readonly content_type: string | null
  /** A part of the name, regardless of case, or null. */
  readonly name: string | null
  readonly limit: number
}

export interface AssetAccess {
  /**
   * Loads an asset or a temporary upload of the run's user (`asset://<id>`, `/api/storage/<key>`), or a file of the service that all users
   * may read (`/api/assets/packages/<path>`). `onBytesHeld` reports changes of its bytes held in memory; the sum is 0 once it has arrived
   * or failed.
   * @throws NodeError `bad_reference`, `asset_not_found` (also for an expired asset or another user's), `too_large`, `unavailable`
   */
  load(reference: string, max_bytes: number, onBytesHeld?: (bytes: number) => void): Promise<LoadedAsset>
  /** Stores an asset; it is committed when the promise settles. @throws NodeError `folder_not_found`, `unavailable` */
  save(asset: AssetToSave): Promise<AssetValue>
  /** Lists assets without folders, the newest first. @throws NodeError `folder_not_found`, `unavailable`, and the signal's reason */
  list(query: AssetQuery, signal: AbortSignal): Promise<readonly AssetValue[]>
}

/** A vector stored under an id, with its text and metadata. */
export interface VectorEntry {
  readonly id: string
  readonly vector: readonly number[]
  readonly text: string | null
  readonly metadata: Readonly<Record<string, unknown>>
}

export interface VectorIndex {
  readonly name: string
  /** The length of all vectors in the index. */
  readonly dimensions: number
  readonly count: number
  /** The model of the vectors, as `provider/name`; null if unknown. */
  readonly model: string | null
  /** RFC 3339, in UTC. */
  readonly created_at: string
  readonly updated_at: string
}

/** Metadata match if each key has the filter's value, or one of its values if it is a list. Of a list in the metadata, one item must match. */
export type VectorFilter = Readonly<Record<string, unknown>>

export interface VectorQuery {
  readonly index: string
  readonly vector: readonly number[]
  /** The model that made the vector; null if unknown. */
  readonly model: string | null
  readonly top_k: number
  /** The lowest score of a match. */
  readonly min_score: number | null
  readonly filter: VectorFilter
  readonly signal: AbortSignal
  /** Reports changes of the bytes of the matches held in memory; the sum is 0 once they have arrived or failed. */
  onBytesHeld?(bytes: number): void
}

export interface VectorMatch {
  readonly id: string
  /** The cosine similarity: 1 for the same direction, −1 for the opposite direction. */
  readonly score: number
  readonly text: string | null
  readonly metadata: Readonly<Record<string, unknown>>
}

/**
 * The vectors of the run's user, in named indexes. All methods throw NodeError `bad_input`, `index_not_found`, `too_large`; and the
 * signal's reason.
 */
export interface VectorAccess {
  /** Null if the index does not exist. */
  info(index: string): Promise<VectorIndex | null>
  /** Sorted by name. */
  list(): Promise<readonly VectorIndex[]>
  /** Creates the index if needed. An entry replaces the entry with its id. After a failure, entries written before it remain. */
  put(index: string, entries: readonly VectorEntry[], model: string | null, signal: AbortSignal): Promise<void>
  /** The nearest first; of equal scores, the oldest. */
  search(query: VectorQuery): Promise<readonly VectorMatch[]>
  /** Removes the entries with these ids, those that match the filter, or with null the whole index. Returns the number of entries removed. */
  remove(index: string, which: readonly string[] | VectorFilter | null, signal: AbortSignal): Promise<number>
}

/** The workflow call that executes one tool call. */
export interface ToolInvocation {
  /** The id for `callWorkflow`. */
  readonly workflow_id: string
  readonly params: Record<string, unknown>
  /** Whether the call may be repeated if an earlier one was interrupted. */
  readonly repeatable: boolean
}

/** The prefix of the ids of single-node workflows, which nodes create as tools for models. No other code uses such ids. */
export const SINGLE_NODE_PREFIX = 'node:'

/** The target of a tool: a workflow, or a node type with fixed values for those properties that are no arguments. */
export type ToolTarget =
  | { readonly workflow_id: string }
  | { readonly node_type: string; readonly data: Readonly<Record<string, unknown>> }

/** A workflow or a node type that a model may call, as described to the model. Plain data that can be stored. */
export interface ToolDescription {
  /** Letters, digits and _, unless another name was chosen. */
  readonly name: string
  readonly description: string
  /** A JSON schema of the arguments, an object. */
  readonly parameters: Readonly<Record<string, unknown>>
  readonly target: ToolTarget
}

export interface ResolvedTool extends ToolDescription {
  /** Argument types are checked during the call. @throws NodeError `bad_arguments` for unknown names */
  resolveCall(args: Record<string, unknown>): ToolInvocation
}

/** `workflow` and `node` throw NodeError `unknown_tool`. */
export interface ToolAccess {
  /** A workflow of the run's user. It may have very many inputs, so its description is built with `inSlices` (see `NodeContext`) and measured. */
  workflow(workflow_id: string, inSlices: <T>(steps: Steps<T>) => Promise<T>): Promise<ResolvedTool>
  /**
   * `data`: values of properties that are no arguments. `connected`: whether they came along an edge; if so, they may not refer to secrets,
   * in the tool's calls either.
   */
  node(node_type: string, data: Readonly<Record<string, unknown>>, connected: boolean): ResolvedTool
  /** A tool that was resolved earlier, unchanged. Never throws: a missing target fails the call. */
  restore(description: ToolDescription, connected: boolean): ResolvedTool
  isNode(node_type: string): boolean
}

export interface NodeServices {
  /** The user that the run belongs to, in every workspace: scarce resources are shared among users. */
  readonly owner: string
  readonly assets: AssetAccess
  readonly models: ModelAccess
  readonly vectors: VectorAccess
  readonly sandbox: CodeSandbox
  readonly media: MediaAccess
  readonly compute: ComputeAccess
  readonly http: OutgoingHttp
  readonly tools: ToolAccess
  /** A secret of the run's user; null if there is none of that name. */
  secret(name: string): Promise<string | null>
  /** Replaces all known secrets of the run's user in a text. Must be called before the text is cut. */
  redact(text: string): string
}

function createUnavailableError(what: string): NodeError {
  return new NodeError(`No ${what} is available where this workflow runs.`, 'unavailable')
}

async function rejectNoStore(): Promise<never> {
  throw createUnavailableError('vector store')
}

const noVectors: VectorAccess = {
  info: rejectNoStore,
  list: rejectNoStore,
  put: rejectNoStore,
  search: rejectNoStore,
  remove: rejectNoStore,
}

/** The services of runs whose host provides none. */
export const noServices: NodeServices = {
  owner: '',
  assets: {
    async load() {
      throw createUnavailableError('asset store')
    },
    async save() {
      throw createUnavailableError('asset store')
    },
    async list() {
      throw createUnavailableError('asset store')
    },
  },
  models: {
    complete() {
      throw createUnavailableError('model provider')
    },
    async embed() {
      throw createUnavailableError('model provider')
    },
    async capabilities() {
      throw createUnavailableError('model provider')
    },
  },
  vectors: noVectors,
  sandbox: {
    async call() {
      throw createUnavailableError('code sandbox')
    },
    stream() {
      throw createUnavailableError('code sandbox')
    },
  },
  media: {
    async run() {
      throw createUnavailableError('media process')
    },
  },
  compute: {
    takes: () => false,
    async run() {
      throw createUnavailableError('compute thread')
    },
  },
  http: {
    async send() {
      throw createUnavailableError('HTTP client')
    },
  },
  tools: {
    async workflow() {
      throw createUnavailableError('workflow')
    },
    node() {
      throw createUnavailableError('tool')
    },
    restore() {
      throw createUnavailableError('tool')
    },
    isNode: () => false,
  },
  async secret() {
    return null
  },
  redact: (text) => text,
}
