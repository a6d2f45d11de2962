// What serves models: the one small interface that every provider keeps, and what it tells about its models as data. Requests are OpenAI's, as
// the contract has them; answers are parts, which whoever asks puts into the form of its door.
import type { ChatCompletionRequest, CreateEmbeddingRequest } from '../../generated/types.ts'

/** What a model costs. A model whose price has tokens in it is estimated before a run, and reckoned after it. */
export interface ModelPrice {
  /** An ISO 4217 code. */
  readonly currency: string
  /** For each call, whatever its length. */
  readonly per_request: number
  readonly per_million_input_tokens: number
  readonly per_million_output_tokens: number
  /** The day as of which it is known here, `2026-07-02`. Absent: the provider lists it itself, or it is no price but nothing. */
  readonly as_of?: string
}

/** What a model takes besides text. */
export type Modality = 'text' | 'image' | 'audio' | 'video' | 'file'

/** What a model honours. */
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
  /** What it is for: `chat`, `embedding`. */
  readonly tasks: readonly string[]
  /** Whether that is no more than a guess by its name. Then nothing is refused for it. */
  readonly tasks_guessed?: boolean
  /** Null where nobody has said what it costs. A model that costs nothing has a price of zeros. */
  readonly price: ModelPrice | null
  /** The most tokens of one answer, or null where that is not known. */
  readonly max_output_tokens: number | null
  /** The most tokens of a conversation and its answer together; absent or null where that is not known. */
  readonly context_length?: number | null
  /** Absent: text alone, as far as anybody knows. */
  readonly modalities?: readonly Modality[]
  /** Absent: nobody knows. */
  readonly capabilities?: readonly Capability[]
  /** Unix seconds; absent where nobody knows. */
  readonly created?: number
  /** Bytes that it takes on this machine's disk; absent where it takes none, or that is not known. */
  readonly size_on_disk?: number
  /** Why it cannot be asked as things are, in words that are safe to show; absent as far as anybody knows that it can. */
  readonly unavailable?: string
}

/** As the contract has it; `model` is the name without its provider. Whether it is streamed is the door's business: parts always come as they are made. */
export type CompletionRequest = ChatCompletionRequest

/** As the contract has it; `model` is the name without its provider. */
export type EmbeddingRequest = CreateEmbeddingRequest

/** What a call used, by the provider's own count; zeros where it gives none. */
export interface Usage {
  readonly input_tokens: number
  readonly output_tokens: number
  /** What the provider says that the call cost, in the currency of the model's price; null where it does not say. */
  readonly cost: number | null
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter'

/**
 * A piece of a call of a tool. The first one of an `index` carries the id and the name, and whether the tool is a custom one; the arguments are JSON
 * text, to be joined, or free text where it is.
 */
export interface ToolCallPart {
  readonly type: 'tool_call'
  /** Of the call among those of the answer, from 0. */
  readonly index: number
  readonly custom?: true
  readonly id?: string
  readonly name?: string
  readonly arguments: string
}

/** An answer comes as pieces; the last part is what it used. `thinking` is what the model thinks aloud, `refusal` why it declines. */
export type CompletionPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly text: string }
  | { readonly type: 'refusal'; readonly text: string }
  | ToolCallPart
  | { readonly type: 'end'; readonly usage: Usage; readonly finish_reason: FinishReason }

export interface Embeddings {
  /** One for each input, in order. */
  readonly vectors: readonly (readonly number[])[]
  /** By the provider's own count; zero where it gives none. */
  readonly input_tokens: number
}

export interface ProviderContext {
  /** The value of the provider's credential, or null where it needs none. */
  readonly credential: string | null
  /** Whose call it is: what is kept of it is for other calls of the same owner alone. Absent, or null: nobody knows, and nothing is kept. */
  readonly owner?: string | null
  readonly signal: AbortSignal
  /**
   * Told when an answer has begun, so that it is paid for whatever comes of it, and of each count of it so far: a call may break off before its
   * last part.
   */
  heard?(counted: TokenCounts | null): void
  /** The JSON text of a request, of a long one made while others have their turns. Absent: it is made at once. */
  written?(request: object): string | Promise<string>
  /** The value of a JSON text of an answer, a long one read while others have their turns. Absent: it is read at once. @throws SyntaxError, Malformed */
  read?(text: Buffer): Promise<unknown>
}

/** By the provider's own count; zeros where it says nothing. */
export type TokenCounts = Pick<Usage, 'input_tokens' | 'output_tokens'>

export type ProviderKind = 'openai_compatible' | 'anthropic' | 'google' | 'local' | 'builtin'

export interface Provider {
  /** The first part of the ids of its models. */
  readonly name: string
  /** As people read it. */
  readonly title: string
  readonly kind: ProviderKind
  /** Where it is asked; absent: in this process. */
  readonly base_url?: string
  /** The name of the secret that it is asked with, and of the variable that holds the operator's; null where it needs none. */
  readonly credential: string | null
  /** Whether it can be asked without its credential as well. Absent: it cannot. */
  readonly keyless?: boolean
  /** Fields of requests that it refuses, whichever model is asked. Absent: none that is known before. */
  readonly unsupported_fields?: readonly string[]
  /** Whether it ends calls itself in which nothing comes any more. Absent: whoever asks does that, by the parts that come. */
  readonly has_idle_timeout?: boolean
  /**
   * Its models, by a look that changes nothing and costs nothing.
   * @throws ProviderError, or whatever went wrong; of the latter the message may hold secrets and is for the log alone
   */
  models(context: ProviderContext): Promise<readonly Model[]>
  /** How many entries of its last list could not be read, and were passed over. Absent: nobody counts them. */
  readonly left_out?: number
  /** Why none of its models can be asked, whichever it is, and what to do; null where nothing keeps it from that. Absent: nothing does. */
  lack?(): string | null
  /** What is known of a model of that name which no list has, or where none can be had: it may be there. Absent: then it is not asked. */
  unlisted?(name: string): Model
  /**
   * Continues a conversation. What it cannot honour it refuses before it asks anybody: `unsupported`, with the field.
   * @throws ProviderError, or whatever went wrong, before the first part or later
   */
  complete(request: CompletionRequest, context: ProviderContext): AsyncIterable<CompletionPart>
  /** Turns texts into vectors. Absent: none of its models does. @throws as `complete` */
  embed?(request: EmbeddingRequest, context: ProviderContext): Promise<Embeddings>
  /** How many tokens a text most likely has. */
  countTokens(text: string): number
  /** Ends what it keeps running. It is not asked any more. */
  [Symbol.dispose]?(): void
  /** Where it speaks OpenAI's protocol: a gateway hands requests and answers on as they are. */
  readonly upstream?: OpenAiUpstream
}

/** A server that speaks OpenAI's protocol. */
export interface OpenAiUpstream {
  /** Asks it. The answer's head has come; its body follows. @throws ProviderError before that */
  send(request: PassthroughRequest): Promise<PassthroughResponse>
}

export interface PassthroughRequest {
  readonly path: '/chat/completions' | '/embeddings'
  /** JSON text, complete but for its encoding. */
  readonly body: string | Uint8Array
  /** The same without `stream_options`, for servers that refuse the field; null, or absent, where that would be another request. */
  readonly plain?: () => Uint8Array | null
  readonly credential: string | null
  /** Ends it wherever it is, within milliseconds. */
  readonly signal: AbortSignal
}

export interface PassthroughResponse {
  /** 200–299: every other one is thrown as a ProviderError. */
  readonly status: number
  readonly content_type: string
  /** As it comes. Fails with a ProviderError where it breaks off or is silent for too long. To be read to its end, or let go of. */
  readonly body: AsyncIterable<Uint8Array> & {
    /** Nobody reads on: the connection is broken. */
    destroy(): void
    /** Nobody reads on, and it is about to end: its connection is kept if it does so soon. */
    release(): void
  }
}
