// Calls of models: requests, the parts of an answer, usage and cost.
import type { ChatCompletionRequest, ChatMessage, CreateEmbeddingRequest } from '../../../../generated/types.ts'

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
