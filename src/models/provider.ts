// The interface of every provider, and the data that a provider gives about its models. Requests have OpenAI's form, as in the contract.
// Answers are parts, which the caller converts to the form of its endpoint.
import type { ChatCompletionRequest, CreateEmbeddingRequest } from '../../generated/types.ts'
import type { ProviderKind } from '../config/model-providers.ts'

/** What a model costs. A price by tokens is estimated before a run and calculated after it. */
export interface ModelPrice {
  /** An ISO 4217 code. */
  readonly currency: string
  /** For each call, independent of its length. */
  readonly per_request: number
  readonly per_million_input_tokens: number
  readonly per_million_output_tokens: number
  /** The day on which the price was looked up, `2026-07-02`. Absent: the provider lists the price itself, or the model is free. */
  readonly as_of?: string
}

/** The kinds of input that a model takes. */
export type Modality = 'text' | 'image' | 'audio' | 'video' | 'file'

/** The features that a model honours. */
export type Capability =
  | 'streaming'
  | 'tools'
  | 'parallel_tools'
  | 'structured_output'
  | 'json_mode'
  | 'seed'
  | 'logprobs'
  | 'reasoning'

export interface Model {
  /** `provider/name`. */
  readonly id: string
  /** Without its provider. */
  readonly name: string
  readonly title: string
  /** `chat`, `embedding`. */
  readonly tasks: readonly string[]
  /** Whether `tasks` is only a guess by the name. Then no request is refused because of the task. */
  readonly tasks_guessed?: boolean
  /** Null where the price is unknown. A free model has a price of zeros. */
  readonly price: ModelPrice | null
  /** The most tokens of one answer; null where that is unknown. */
  readonly max_output_tokens: number | null
  /** The most tokens of a conversation and its answer together; absent or null where that is unknown. */
  readonly context_length?: number | null
  /** Absent: only text is known to be taken. */
  readonly modalities?: readonly Modality[]
  /** Absent: unknown. */
  readonly capabilities?: readonly Capability[]
  /** Unix seconds; absent where that is unknown. */
  readonly created?: number
  /** Bytes on this machine's disk; absent where the model has no file here, or its size is unknown. */
  readonly size_on_disk?: number
  /** Why the model cannot be called now, in a text that is safe to show. Absent: no obstacle is known. */
  readonly unavailable?: string
}

/** As in the contract; `model` is the name without its provider. Providers ignore `stream` and always give parts as they are made. */
export type CompletionRequest = ChatCompletionRequest

/** As in the contract; `model` is the name without its provider. */
export type EmbeddingRequest = CreateEmbeddingRequest

/** What a call used, by the provider's own count; zeros where the provider gives no count. */
export interface Usage {
  readonly input_tokens: number
  readonly output_tokens: number
  /** The cost that the provider reports, in the currency of the model's price; null where the provider reports none. */
  readonly cost: number | null
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter'

/**
 * A piece of a tool call. The first piece of an `index` carries the id, the name, and `custom` for a custom tool. The arguments of all pieces are joined:
 * JSON text, or free text for a custom tool.
 */
export interface ToolCallPart {
  readonly type: 'tool_call'
  /** The position of the call in the answer, from 0. */
  readonly index: number
  readonly custom?: true
  readonly id?: string
  readonly name?: string
  readonly arguments: string
}

/** A part of an answer; the last part tells the usage. `thinking` is the model's reasoning, `refusal` tells why the model declines. */
export type CompletionPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly text: string }
  | { readonly type: 'refusal'; readonly text: string }
  | ToolCallPart
  | { readonly type: 'end'; readonly usage: Usage; readonly finish_reason: FinishReason }

export interface Embeddings {
  /** One vector for each input, in order. */
  readonly vectors: readonly (readonly number[])[]
  /** By the provider's own count; zero where the provider gives no count. */
  readonly input_tokens: number
}

export interface ProviderContext {
  /** The value of the provider's credential; null where the provider needs none. */
  readonly credential: string | null
  /** The owner of the call: state that is kept of it serves only other calls of this owner. Absent or null: unknown, and no state is kept. */
  readonly owner?: string | null
  readonly signal: AbortSignal
  /**
   * Called when an answer begins, since it must be paid even if it breaks off, and with each token count so far: a call may break off before
   * its last part.
   */
  heard?(counted: TokenCounts | null): void
  /** Gives the JSON text of a request; a long text is made in time slices. Absent: the text is made at once. */
  written?(request: object): string | Promise<string>
  /** Parses a JSON text of an answer, a long one in time slices. Absent: the text is parsed at once. @throws SyntaxError, MalformedDataError */
  read?(text: Buffer): Promise<unknown>
}

/** By the provider's own count; zeros where the provider gives no count. */
export type TokenCounts = Pick<Usage, 'input_tokens' | 'output_tokens'>

export interface Provider {
  /** The first part of its models' ids. */
  readonly name: string
  /** The name for people. */
  readonly title: string
  readonly kind: ProviderKind
  /** The URL of its API; absent: the provider runs in this process. */
  readonly base_url?: string
  /** The name of the secret with its key, and of the variable with the operator's key; null where no key is needed. */
  readonly credential: string | null
  /** Whether calls also work without the credential. Absent: they do not. */
  readonly keyless?: boolean
  /** Request fields that the provider refuses for every model. Absent: no such field is known. */
  readonly unsupported_fields?: readonly string[]
  /** Whether the provider itself ends silent calls. Absent: the caller does that, by the parts that come. */
  readonly has_idle_timeout?: boolean
  /**
   * Lists its models. A list changes nothing and costs nothing.
   * @throws ProviderError, or another error whose message may hold secrets and is only for the log
   */
  models(context: ProviderContext): Promise<readonly Model[]>
  /** How many unreadable entries of its last list were skipped. Absent: the provider does not count them. */
  readonly left_out?: number
  /** Why none of its models can be called, and what to do; null where they can. Absent: they can. */
  lack?(): string | null
  /** Describes a model that no list has, or that has no list: the model may exist. Absent: such a model is not called. */
  unlisted?(name: string): Model
  /**
   * Continues a conversation. The provider refuses what it cannot honour before it sends anything: `unsupported`, with the field.
   * @throws ProviderError or another error, before the first part or later
   */
  complete(request: CompletionRequest, context: ProviderContext): AsyncIterable<CompletionPart>
  /** Converts texts to vectors. Absent: none of its models does. @throws as `complete` */
  embed?(request: EmbeddingRequest, context: ProviderContext): Promise<Embeddings>
  /** Estimates the number of tokens of a text. */
  countTokens(text: string): number
  /** Ends its processes. No call follows. */
  [Symbol.dispose]?(): void
  /** Present where the provider speaks OpenAI's protocol: a gateway hands requests and answers on unchanged. */
  readonly upstream?: OpenAiUpstream
}

/** A server that speaks OpenAI's protocol. */
export interface OpenAiUpstream {
  /** Sends a request and resolves with the head of the answer; the body follows. @throws ProviderError before the head */
  send(request: PassthroughRequest): Promise<PassthroughResponse>
}

export interface PassthroughRequest {
  readonly path: '/chat/completions' | '/embeddings'
  /** The complete JSON text, perhaps not encoded yet. */
  readonly body: string | Uint8Array
  /** The body without `stream_options`, for servers that refuse the field; null or absent where that would change the request. */
  readonly plain?: () => Uint8Array | null
  readonly credential: string | null
  /** Ends the exchange at any point, within milliseconds. */
  readonly signal: AbortSignal
}

export interface PassthroughResponse {
  /** 200–299: any other status is thrown as a ProviderError. */
  readonly status: number
  readonly content_type: string
  /** Fails with a ProviderError where it breaks off or is silent for too long. The reader reads to the end, or calls `destroy` or `release`. */
  readonly body: AsyncIterable<Uint8Array> & {
    /** Ends reading and closes the connection. */
    destroy(): void
    /** Ends reading of a body that is about to end: the connection is kept if the end comes soon. */
    release(): void
  }
}
