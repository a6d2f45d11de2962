// What a server and a process that works on its files say to each other. Bytes travel as they are, other values in pieces (engine/pieces.ts), so
// that no large table holds the server.
import type { Ops } from '../engine/pieces.ts'
import type { MediaFaultType } from './fault.ts'

export interface MediaOrder {
  readonly kind: 'run'
  readonly id: number
  readonly task: string
  readonly files: readonly Uint8Array[]
  /** The last piece of the parameters. */
  readonly ops: Ops
}

/** `warm`: a task of that name may come soon. */
export type ToMedia =
  | MediaOrder
  | { readonly kind: 'piece'; readonly ops: Ops }
  | { readonly kind: 'warm'; readonly task: string }

export type FromMedia =
  | { readonly id: number; readonly kind: 'piece'; readonly ops: Ops }
  /** With the last piece of the value. */
  | { readonly id: number; readonly kind: 'done'; readonly files: readonly Uint8Array[]; readonly ops: Ops }
  /** `detail` is for the log. */
  | {
      readonly id: number
      readonly kind: 'refused'
      readonly type: MediaFaultType | 'failed'
      readonly message: string
      readonly detail: string
    }
