// What a worker and the sandbox say to each other. Values cross as JSON text and nothing else.
import type { LogSeverity } from '../engine/node-api/node-type.ts'

/** Types of errors that code can end with. */
export type ScriptErrorType = 'code_error' | 'code_timeout' | 'code_memory' | 'code_stack' | 'code_output'

export interface ScriptCallRequest {
  readonly kind: 'call'
  readonly code: string
  readonly syntax_only: boolean
  /** The JSON of a dict. */
  readonly inputs: string
  readonly seed: number
  readonly time_limit_ms: number
  readonly memory_limit_mb: number
  /** Whether the code may yield. */
  readonly streams: boolean
}

export type ToSandboxWorker =
  | ScriptCallRequest
  /** The consumer has taken items: how many, and of how many characters. */
  | { readonly kind: 'took'; readonly items: number; readonly characters: number }
  /** Nobody wants what is left of the stream. Only while the worker waits. */
  | { readonly kind: 'stop' }

export type FromSandboxWorker =
  /** `thread` is the id by which the system knows the thread; null: it has none. */
  | { readonly kind: 'ready'; readonly thread: number | null }
  | { readonly kind: 'log'; readonly severity: LogSeverity; readonly content: string }
  | { readonly kind: 'item'; readonly json: string }
  /** It pauses until it hears of items that were taken. `told` is how often it heard of that. */
  | { readonly kind: 'waiting'; readonly told: number }
  /** The call is over, and with `spent` the worker is too. `json` is null where it was stopped. */
  | { readonly kind: 'end'; readonly json: string | null; readonly spent: boolean }
  | { readonly kind: 'fault'; readonly type: ScriptErrorType; readonly message: string; readonly spent: boolean }
