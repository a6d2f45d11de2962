// What the host of a run lends to its nodes. The engine hands it on and never looks into it: these are the shapes
// that node code counts on, and whoever runs workflows brings the things themselves.
import type { ChatCompletionRequest, ChatMessage, CreateEmbeddingRequest } from '../../../generated/types.ts'
import type { Steps } from '../../shared/time-slices.ts'
import { NodeError } from './node-error.ts'

export interface SandboxScript {
  /** The body of an asynchronous generator function: it may `return` outputs by name and `yield` items by name. */
  readonly code: string
  /** What the code sees under these names. Plain values: what JSON can say. */
  readonly inputs: Readonly<Record<string, unknown>>
  /** What `Math.random` gives is made from this. */
  readonly seed: number
  /** True: the code is read to its end, nothing of it runs, and the result is empty. */
  readonly syntax_only?: boolean
  /** How long the code may run until its result, or until its next item, in milliseconds. */
  readonly time_limit_ms: number
  /** How much memory all its values may take together, in megabytes. */
  readonly memory_limit_mb: number
  /** The user that the code runs for, and the run: users get their turns one after the other, and so do the runs of one user. */
  readonly owner?: object | string
  readonly run?: object
  /** Ends the code wherever it is. */
  readonly signal: AbortSignal
  /** Reads what it gives, where that is long; without it all is read in one go. As `NodeContext` has it. */
  inSlices?<T>(steps: Steps<T>): Promise<T>
  /** A line that the code wrote to its console. */
  log(severity: 'debug' | 'info' | 'warning' | 'error', content: string): void
}

/**
 * Runs code that nobody trusts. Both throw NodeError where the code fails: `code_error`, `code_timeout`, `code_memory`,
 * `code_stack`, `code_output`; or `bad_input`, `too_large`, `too_deep`, `code_busy`, `unavailable`; and the signal's reason.
 */
export interface CodeSandbox {
  /** What the code returns. It may not yield. */
  call(script: SandboxScript): Promise<Record<string, unknown>>
  /** What it yields, then what it returns. Must be run to its end, or ended with `return`. */
  stream(script: SandboxScript): AsyncGenerator<Record<string, unknown>, Record<string, unknown>, void>
}

export interface MediaTask {
  /** What is to be done, such as `image.resize`. */
  readonly task: string
  readonly files: readonly Uint8Array[]
  /** Plain data. */
  readonly params: Readonly<Record<string, unknown>>
  /** The user that it is done for, and the run: users get their turns one after the other, and so do the runs of one user. */
  readonly owner: object | string
  readonly run?: object
  /** How long it waits for its turn at most, in milliseconds; absent: for as long as it takes. */
  readonly wait_limit_ms?: number
  /** From its turn until its end, in milliseconds, where that is less than such work has anyway. */
  readonly time_limit_ms?: number
  /** Ends it wherever it is. */
  readonly signal: AbortSignal
}

export interface MediaResult {
  readonly files: readonly Uint8Array[]
  /** Plain data. */
  readonly value: unknown
}

/** Work on files that takes long, or that hostile ones may harm: done in processes of their own, within limits of memory and time. */
export interface MediaAccess {
  /**
   * The same task on the same files gives the same result.
   * @throws NodeError `bad_file`, `unsupported`, `too_large`, `bad_input`, `media_memory`, `media_timeout`, `media_failed`, `unavailable`,
   * and `busy` where its turn did not come in time
   */
  run(task: MediaTask): Promise<MediaResult>
}

export interface ComputeTask {
  readonly node_type: string
  readonly inputs: Record<string, unknown>
  /** The user that it is done for, and the run: users get their turns one after the other, and so do the runs of one user. */
  readonly owner: string
  readonly run?: object
  /** Ends it wherever it is. */
  readonly signal: AbortSignal
}

/** Runs firings of pure node types apart from the main thread. */
export interface ComputeAccess {
  /** Whether firings of this type may run there. */
  takes(type: { readonly node_type: string }): boolean
  /**
   * The outputs that the type's code gives for these inputs, not checked.
   * @throws what it throws; NodeError `compute_memory`, `compute_failed`, `unavailable`; the signal's reason
   */
  run(task: ComputeTask): Promise<Record<string, unknown>>
}

export interface OutgoingRequest {
  /** GET, POST, PUT, PATCH, DELETE, HEAD or OPTIONS. */
  readonly method: string
  /** http or https. A user name and password in it are sent as an Authorization header. */
  readonly url: string
  /** Names in any case. Those that belong to the connection, such as Host and Content-Length, are refused. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | null
  /** Until the whole answer is there, redirects included, in milliseconds. */
  readonly timeout_ms: number
  /** The longest body that is read, in bytes, counted after decompression. */
  readonly max_bytes: number
  /** How many redirects are followed. 0: the redirect is the answer. */
  readonly max_redirects: number
  /** Values in the request that go to no other origin, and that no message shows. */
  readonly secrets: readonly string[]
  /** Whether the body was made with one of them, in whatever form. Then it is sent to no other origin. */
  readonly secret_body: boolean
  readonly signal: AbortSignal
  /** Told how many bytes of the answer are in memory more, or less: none any more once it has come, or has failed. */
  onBytesHeld?(bytes: number): void
}

export interface IncomingResponse {
  readonly status: number
  /** Names in lower case. Values of one name are joined by ", ", those of Set-Cookie by a line break. */
  readonly headers: Readonly<Record<string, string>>
  /** Decompressed. */
  readonly body: Uint8Array
  /** Where the answer came from, after redirects. */
  readonly url: string
}

export interface OutgoingHttp {
  /**
   * Sends one request to where callers may reach. Rejects with the signal's reason where that aborts.
   * @throws NodeError `address_refused`, `bad_header`, `bad_response`, `bad_url`, `connection_failed`, `http_timeout`,
   * `name_not_found`, `redirect_refused`, `tls_failed`, `too_large`, `too_many_redirects`, `unavailable`
   */
  send(request: OutgoingRequest): Promise<IncomingResponse>
}

export type ModelMessage = ChatMessage

/**
 * Holds back what a call costs in any case until it is paid; null: nothing. `sure` says how much that is, null where nobody knows. What it
 * throws fails the call, before anybody is asked.
 */
export type ReserveCost = (sure: () => ModelCost | null) => Disposable | null

export interface ModelRequest {
  /**
   * As the contract has it. `model` is `provider/name`; a bare name means the model of the default provider, or of the only one that has it.
   * `stream` and `n` have no meaning here.
   */
  readonly body: ChatCompletionRequest
  readonly signal: AbortSignal
  /** Told once what the call used: before its last part, or when it breaks off after it gave something. */
  used?(use: ModelUsage): void
  readonly hold?: ReserveCost | undefined
  /** The most tokens of the answer where neither the request nor the model says fewer; null: no limit. */
  readonly left?: number | null
}

export interface EmbedRequest {
  readonly body: Pick<CreateEmbeddingRequest, 'model' | 'dimensions'> & { readonly input: readonly string[] }
  readonly signal: AbortSignal
  /** Told once what the call used. */
  used?(use: ModelUsage): void
  readonly hold?: ReserveCost | undefined
}

export interface ModelCost {
  readonly amount: number
  /** An ISO 4217 code. */
  readonly currency: string
  /** Whether the provider said so; else it is reckoned from its prices. */
  readonly reported: boolean
}

/** What one call used. Tokens are never zero where there is text. */
export interface ModelUsage {
  /** `provider/name`. */
  readonly model: string
  readonly input_tokens: number
  readonly output_tokens: number
  /** Null where nobody knows a price. */
  readonly cost: ModelCost | null
}

/**
 * A piece of a call of a tool: the first one of an `index` carries the id and the name; the arguments are JSON text, to be joined. Of a `custom` tool,
 * which its first piece says, they are whatever text the model writes.
 */
export interface ModelToolCall {
  readonly type: 'tool_call'
  readonly index: number
  readonly custom?: true
  readonly id?: string
  readonly name?: string
  readonly arguments: string
}

/** An answer comes as pieces, no text of them empty; the last part is its end. */
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
   * Calls a model, when the first part is asked for. To be run to its end, or ended with `return`, which ends the call.
   * Throws NodeError `model_not_found`, `model_unavailable`, `unknown_secret`, `bad_input` for what the provider cannot honour or finds wrong,
   * `rate_limited`, `provider_failed`, `over_budget`, `too_large`, `unavailable`; and the signal's reason.
   */
  complete(request: ModelRequest): AsyncGenerator<ModelPart, void, void>
  /** One vector for each text, in order. Throws as `complete` does. */
  embed(request: EmbedRequest): Promise<readonly (readonly number[])[]>
  /** What a model honours, as its provider says, in the words of models/provider.ts; none where nobody knows. Costs nothing. Throws as `complete` does. */
  capabilities(model: string, signal: AbortSignal): Promise<readonly string[]>
}

export interface LoadedAsset {
  readonly bytes: Uint8Array
  /** With its parameters. */
  readonly content_type: string
  readonly name: string
}

/** A file that is kept as an asset, as values name it. */
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
  /** What is claimed; the bytes have the last word. */
  readonly content_type: string | null
  /** The id of a folder, or null for the top level. */
  readonly folder: string | null
  /** The node that saves it. */
  readonly node_id: string
  /** Content that is saved again in the same run for the same reason is the same asset. */
  readonly dedupe_key: string
}

export interface AssetQuery {
  /** The id of a folder, `root` for the top level, or null for all. */
  readonly folder: string | null
  /** A whole one, a family such as `image`, or null for all. */
  readonly content_type: string | null
  /** A part of the name, in any case, or null. */
  readonly name: string | null
  readonly limit: number
}

export interface AssetAccess {
  /**
   * A file of whoever runs the workflow, an asset or a temporary upload: `asset://<id>`, or `/api/storage/<key>`. Or one that comes with the
   * service, and is everybody's: `/api/assets/packages/<path>`. `held` is told how many bytes of it are in memory more, or less: none any more
   * once it has come, or has failed.
   * @throws NodeError `bad_reference`, `asset_not_found`, also for one that is somebody else's or past its time, `too_large`, `unavailable`
   */
  load(reference: string, max_bytes: number, onBytesHeld?: (bytes: number) => void): Promise<LoadedAsset>
  /** Keeps an asset, which is committed when it settles. @throws NodeError `folder_not_found`, `unavailable` */
  save(asset: AssetToSave): Promise<AssetValue>
  /** The newest first, without folders. @throws NodeError `folder_not_found`, `unavailable`, and the signal's reason */
  list(query: AssetQuery, signal: AbortSignal): Promise<readonly AssetValue[]>
}

/** A vector that is kept under a name, with what belongs to it. */
export interface VectorEntry {
  readonly id: string
  readonly vector: readonly number[]
  readonly text: string | null
  readonly metadata: Readonly<Record<string, unknown>>
}

export interface VectorIndex {
  readonly name: string
  /** The length of all its vectors. */
  readonly dimensions: number
  readonly count: number
  /** The model that made its vectors, as `provider/name`, or null where nobody said. */
  readonly model: string | null
  /** RFC 3339, in UTC. */
  readonly created_at: string
  readonly updated_at: string
}

/** Metadata meet it where each key has its value, or one of its values where it has a list. Of a list in the metadata one item is enough. */
export type VectorFilter = Readonly<Record<string, unknown>>

export interface VectorQuery {
  readonly index: string
  readonly vector: readonly number[]
  /** The model that made the vector, where anybody said. */
  readonly model: string | null
  readonly top_k: number
  /** Only those that are as near as this. */
  readonly min_score: number | null
  readonly filter: VectorFilter
  readonly signal: AbortSignal
  /** Told how many bytes of what was found are in memory more, or less: none any more when it has come or failed. */
  onBytesHeld?(bytes: number): void
}

export interface VectorMatch {
  readonly id: string
  /** The cosine of the angle between the two: 1 for the same direction, −1 for the opposite one. */
  readonly score: number
  readonly text: string | null
  readonly metadata: Readonly<Record<string, unknown>>
}

/**
 * The vectors of whoever runs the workflow, in indexes by name. All throw NodeError `bad_input`, `index_not_found`, `too_large`;
 * and the signal's reason.
 */
export interface VectorAccess {
  /** Null where there is none. */
  info(index: string): Promise<VectorIndex | null>
  /** In order of their names. */
  list(): Promise<readonly VectorIndex[]>
  /** Makes the index where there is none. An entry takes the place of the one with its id. What was written before it fails stays. */
  put(index: string, entries: readonly VectorEntry[], model: string | null, signal: AbortSignal): Promise<void>
  /** The nearest first, of equal ones the oldest. */
  search(query: VectorQuery): Promise<readonly VectorMatch[]>
  /** Removes these entries, those that meet the filter, or with null the index and all in it; says how many entries that were. */
  remove(index: string, which: readonly string[] | VectorFilter | null, signal: AbortSignal): Promise<number>
}

/** What is called for the arguments of one call of a tool. */
export interface ToolInvocation {
  /** For `callWorkflow`. */
  readonly workflow_id: string
  readonly params: Record<string, unknown>
  /** Whether it may be called anew where nobody knows how far a call of it came. */
  readonly repeatable: boolean
}

/** The id of a workflow that is one node begins so: nodes make it for the tools of models, and nobody else names it. */
export const SINGLE_NODE_PREFIX = 'node:'

/** What a tool is: a workflow, or a node type and the values of its properties that are no arguments. */
export type ToolTarget =
  | { readonly workflow_id: string }
  | { readonly node_type: string; readonly data: Readonly<Record<string, unknown>> }

/** A workflow or a node type that a model may call, as the model is to be told of it. Plain data, which can be remembered. */
export interface ToolDescription {
  /** Letters, digits and _, unless it is to have another one. */
  readonly name: string
  readonly description: string
  /** A JSON schema of the arguments, as one object. */
  readonly parameters: Readonly<Record<string, unknown>>
  readonly target: ToolTarget
}

export interface ResolvedTool extends ToolDescription {
  /** Whether they are of the right types is found out in the call. @throws NodeError `bad_arguments` for names */
  resolveCall(args: Record<string, unknown>): ToolInvocation
}

/** `workflow` and `node` throw NodeError `unknown_tool`. */
export interface ToolAccess {
  /** A workflow of whoever runs this one. It may have very many inputs: its words are made with `inSlices`, as `NodeContext` has it, and measured. */
  workflow(workflow_id: string, inSlices: <T>(steps: Steps<T>) => Promise<T>): Promise<ResolvedTool>
  /**
   * `data`: values of its properties that are no arguments. `connected`: whether they came along an edge, as they then do in its calls too:
   * they name no secrets.
   */
  node(node_type: string, data: Readonly<Record<string, unknown>>, connected: boolean): ResolvedTool
  /** One that was looked up before, as it was then. Throws nothing: what is gone shows in its call. */
  restore(description: ToolDescription, connected: boolean): ResolvedTool
  isNode(node_type: string): boolean
}

export interface NodeServices {
  /** The user that the run belongs to, in whatever workspace: what is scarce is shared out between users. */
  readonly owner: string
  readonly assets: AssetAccess
  readonly models: ModelAccess
  readonly vectors: VectorAccess
  readonly sandbox: CodeSandbox
  readonly media: MediaAccess
  readonly compute: ComputeAccess
  readonly http: OutgoingHttp
  readonly tools: ToolAccess
  /** A secret of whoever runs the workflow, or null where there is none of that name. */
  secret(name: string): Promise<string | null>
  /** A text with all secrets that are known of whoever runs the workflow replaced: before a part of it is taken. */
  redact(text: string): string
}

function createUnavailableError(what: string): NodeError {
  return new NodeError(`There is no ${what} where this workflow runs.`, 'unavailable')
}

async function rejectNoStore(): Promise<never> {
  throw createUnavailableError('store of vectors')
}

const noVectors: VectorAccess = {
  info: rejectNoStore,
  list: rejectNoStore,
  put: rejectNoStore,
  search: rejectNoStore,
  remove: rejectNoStore,
}

/** For runs whose host lends nothing. */
export const noServices: NodeServices = {
  owner: '',
  assets: {
    async load() {
      throw createUnavailableError('store of assets')
    },
    async save() {
      throw createUnavailableError('store of assets')
    },
    async list() {
      throw createUnavailableError('store of assets')
    },
  },
  models: {
    complete() {
      throw createUnavailableError('provider of models')
    },
    async embed() {
      throw createUnavailableError('provider of models')
    },
    async capabilities() {
      throw createUnavailableError('provider of models')
    },
  },
  vectors: noVectors,
  sandbox: {
    async call() {
      throw createUnavailableError('sandbox for code')
    },
    stream() {
      throw createUnavailableError('sandbox for code')
    },
  },
  media: {
    async run() {
      throw createUnavailableError('process for work on files')
    },
  },
  compute: {
    takes: () => false,
    async run() {
      throw createUnavailableError('thread that computes')
    },
  },
  http: {
    async send() {
      throw createUnavailableError('way to send requests')
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
