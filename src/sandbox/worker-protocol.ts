// The messages between a worker and the sandbox. Values are passed only as JSON text.
import type { LogSeverity } from '../engine/node-api/node-context.ts'

/** The error types of code. */
export type ScriptErrorType = 'code_error' | 'code_timeout' | 'code_memory' | 'code_stack' | 'code_output'

export interface ScriptCallRequest {
  readonly kind: 'call'
  readonly code: string
  readonly syntax_only: boolean
  /** JSON of an object. */
  readonly inputs: string
  readonly seed: number
  readonly time_limit_ms: number
  readonly memory_limit_mb: number
  /** Whether the code may yield. */
  readonly streams: boolean
}

export type ToSandboxWorker =
  | ScriptCallRequest
  /** The consumer took items: their number and total characters. */
  | { readonly kind: 'took'; readonly items: number; readonly characters: number }
  /** The rest of the stream is not wanted. Sent only while the worker waits. */
  | { readonly kind: 'stop' }

export type FromSandboxWorker =
  /** `thread` is the operating system's id of the thread; null: unknown. */
  | { readonly kind: 'ready'; readonly thread: number | null }
  | { readonly kind: 'log'; readonly severity: LogSeverity; readonly content: string }
  | { readonly kind: 'item'; readonly json: string }
  /** The worker pauses until it receives `took`. `told` is the number of `took` messages received so far. */
  | { readonly kind: 'waiting'; readonly told: number }
  /** The call is over; with `spent` the worker must not be reused. `json` is null if the call was stopped. */
  | { readonly kind: 'end'; readonly json: string | null; readonly spent: boolean }
  | { readonly kind: 'fault'; readonly type: ScriptErrorType; readonly message: string; readonly spent: boolean }
