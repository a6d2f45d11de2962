// What a server and the process that runs one of its models say to each other.
import type { CompletionPart } from '../../provider.ts'
import type { ProviderFault } from '../../provider-error.ts'

export interface LocalConversationTurn {
  readonly role: 'system' | 'user' | 'assistant'
  readonly text: string
}

/** A request as the process takes it: nothing in it that it does not honour. */
export interface LocalRequest {
  readonly turns: readonly LocalConversationTurn[]
  /** Null: as many as there is room for. */
  readonly max_tokens: number | null
  readonly temperature: number
  readonly top_p: number
  /** Null: another answer each time. */
  readonly seed: number | null
  readonly stop: readonly string[]
  readonly frequency_penalty: number
  readonly presence_penalty: number
  /** A schema that the answer is made to fit, `any` for any JSON object, null for text. */
  readonly schema: object | 'any' | null
}

export type ModelProcessCommand =
  | { readonly kind: 'load'; readonly place: string; readonly path: string; readonly most_context: number }
  | { readonly kind: 'complete'; readonly id: number; readonly request: LocalRequest }
  | { readonly kind: 'embed'; readonly id: number; readonly inputs: readonly string[] }
  /** The work of this id is to end; it is answered as if it had come to its end. */
  | { readonly kind: 'stop'; readonly id: number }

export type ModelProcessReply =
  | { readonly kind: 'loaded' }
  | { readonly kind: 'unloadable'; readonly reason: 'memory' | 'file' | 'runtime'; readonly detail: string }
  | { readonly kind: 'part'; readonly id: number; readonly part: CompletionPart }
  /** Of the next text: a message of all of them may have millions of numbers. */
  | { readonly kind: 'vector'; readonly id: number; readonly vector: readonly number[] }
  /** After the vectors of all texts. */
  | { readonly kind: 'embedded'; readonly id: number; readonly input_tokens: number }
  /** The last that is said of it. `what` follows the name of the model. */
  | {
      readonly kind: 'refused'
      readonly id: number
      readonly fault: ProviderFault
      readonly what: string
      readonly param: string | null
      readonly detail: string
    }
  /** The last that is said of what went well, or was stopped. */
  | { readonly kind: 'done'; readonly id: number }
