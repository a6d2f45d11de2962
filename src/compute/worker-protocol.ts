// The messages between the main thread and a worker. Large values cross in pieces (engine/node-api/values/fragments.ts), so that none of
// them blocks a side for long.

import type { ValueFragment } from '../engine/node-api/values/fragments.ts'
import type { ValueExcess as ExcessKind } from '../engine/node-api/values/value-excess.ts'

/** Messages to a worker. The last piece of the inputs is part of the `run` message. */
export type ToComputeWorker =
  | { readonly kind: 'piece'; readonly ops: ValueFragment }
  | { readonly kind: 'run'; readonly node_type: string; readonly ops: ValueFragment }

export interface ComputeError {
  /** The type of a NodeError; null: another error was thrown. */
  readonly type: string | null
  /** Whether the firing must not be retried. */
  readonly final: boolean
  readonly message: string
  /** For the log. */
  readonly detail: string
}

/** An output that is too deep or too large. */
export interface ExcessOutput {
  readonly handle: string
  readonly excess: ExcessKind
  readonly kind: 'list' | 'dict'
}

export type FromComputeWorker =
  /** `thread` is the operating system's id of the thread. */
  | { readonly kind: 'ready'; readonly thread: number | null }
  /** The outputs: the pieces in the channel, followed by `ops`. Outputs listed in `excess` are null in them. */
  | { readonly kind: 'done'; readonly ops: ValueFragment; readonly excess: readonly ExcessOutput[] }
  | { readonly kind: 'failed'; readonly error: ComputeError }
