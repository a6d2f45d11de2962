// What the main thread and a worker say to each other. Large values cross in pieces (engine/pieces.ts), so that neither side is held by one.
import type { Excess as ExcessKind } from '../engine/measure.ts'
import type { Ops } from '../engine/pieces.ts'

/** What a worker is to do. The last piece of the inputs comes with the order. */
export type ToWorker =
  | { readonly kind: 'piece'; readonly ops: Ops }
  | { readonly kind: 'run'; readonly node_type: string; readonly ops: Ops }

export interface ThrownError {
  /** The type of a NodeError; null: anything else was thrown. */
  readonly type: string | null
  /** Whether it is not to be tried again. */
  readonly final: boolean
  readonly message: string
  /** For the log. */
  readonly detail: string
}

/** An output that is too deep or too large. */
export interface Excess {
  readonly handle: string
  readonly excess: ExcessKind
  readonly kind: 'list' | 'dict'
}

export type FromWorker =
  /** `thread` is its id, as the system knows it. */
  | { readonly kind: 'ready'; readonly thread: number | null }
  /** The outputs: what lies in the channel of pieces, and then these. What is in `excess` is null in them. */
  | { readonly kind: 'done'; readonly ops: Ops; readonly excess: readonly Excess[] }
  | { readonly kind: 'failed'; readonly error: ThrownError }
