// The messages between a server and the process that runs one of its models.
import type { CompletionPart } from '../../provider.ts'
import type { ProviderFault } from '../../provider-error.ts'

export interface LocalConversationTurn {
  readonly role: 'system' | 'user' | 'assistant'
  readonly text: string
}

/** A request with only the fields that the process honours. */
export interface LocalRequest {
  readonly turns: readonly LocalConversationTurn[]
  /** Null: as many as the context has room for. */
  readonly max_tokens: number | null
  readonly temperature: number
  readonly top_p: number
  /** Null: the answer is random. */
  readonly seed: number | null
  readonly stop: readonly string[]
  readonly frequency_penalty: number
  readonly presence_penalty: number
  /** A schema that the answer must match, `any` for any JSON object, null for text. */
  readonly schema: object | 'any' | null
}

export type ModelProcessCommand =
  | { readonly kind: 'load'; readonly place: string; readonly path: string; readonly most_context: number }
  | { readonly kind: 'complete'; readonly id: number; readonly request: LocalRequest }
  | { readonly kind: 'embed'; readonly id: number; readonly inputs: readonly string[] }
  /** Stops the task with this id; the reply is the same as at its normal end. */
  | { readonly kind: 'stop'; readonly id: number }

export type ModelProcessReply =
  | { readonly kind: 'loaded' }
  | { readonly kind: 'unloadable'; readonly reason: 'memory' | 'file' | 'runtime'; readonly detail: string }
  | { readonly kind: 'part'; readonly id: number; readonly part: CompletionPart }
  /** The vector of the next text: one message for all vectors could have millions of numbers. */
  | { readonly kind: 'vector'; readonly id: number; readonly vector: readonly number[] }
  /** After the vectors of all texts. */
  | { readonly kind: 'embedded'; readonly id: number; readonly input_tokens: number }
  /** The last message of a failed task. `what` is a text after the name of the model. */
  | {
      readonly kind: 'refused'
      readonly id: number
      readonly fault: ProviderFault
      readonly what: string
      readonly param: string | null
      readonly detail: string
    }
  /** The last message of a task that succeeded or was stopped. */
  | { readonly kind: 'done'; readonly id: number }
