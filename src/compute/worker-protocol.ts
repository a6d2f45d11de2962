// What the main thread and a worker say to each other. Large values cross in pieces (engine/pieces.ts), so that neither side is held by one.

import type { ValueFragment } from '../engine/node-api/values/fragments.ts'
import type { ValueExcess as ExcessKind } from '../engine/node-api/values/measure.ts'

/** What a worker is to do. The last piece of the inputs comes with the order. */
export type ToComputeWorker =
  | { readonly kind: 'piece'; readonly ops: ValueFragment }
  | { readonly kind: 'run'; readonly node_type: string; readonly ops: ValueFragment }

export interface ComputeError {
  /** The type of a NodeError; null: anything else was thrown. */
  readonly type: string | null
  /** Whether it is not to be tried again. */
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
  /** `thread` is its id, as the system knows it. */
  | { readonly kind: 'ready'; readonly thread: number | null }
  /** The outputs: what lies in the channel of pieces, and then these. What is in `excess` is null in them. */
  | { readonly kind: 'done'; readonly ops: ValueFragment; readonly excess: readonly ExcessOutput[] }
  | { readonly kind: 'failed'; readonly error: ComputeError }
