// What a server and a process that works on its files say to each other. Files travel in parts (file-parts.ts), other values in pieces
// (engine/pieces.ts), so that nothing large holds the server.
import type { Ops } from '../engine/pieces.ts'
import type { MediaFaultType } from './fault.ts'
import type { FilePart } from './file-parts.ts'

export interface MediaOrder {
  readonly kind: 'run'
  readonly id: number
  readonly task: string
  /** The last ones of its files. */
  readonly parts: readonly FilePart[]
  /** The last piece of the parameters. */
  readonly ops: Ops
}

/** `warm`: a task of that name may come soon. */
export type ToMedia =
  | MediaOrder
  | { readonly kind: 'piece'; readonly ops: Ops }
  | { readonly kind: 'files'; readonly parts: readonly FilePart[] }
  | { readonly kind: 'warm'; readonly task: string }

export type FromMedia =
  | { readonly id: number; readonly kind: 'piece'; readonly ops: Ops }
  | { readonly id: number; readonly kind: 'files'; readonly parts: readonly FilePart[] }
  /** With the last parts of the files, and the last piece of the value. */
  | { readonly id: number; readonly kind: 'done'; readonly parts: readonly FilePart[]; readonly ops: Ops }
  /** `detail` is for the log. */
  | {
      readonly id: number
      readonly kind: 'refused'
      readonly type: MediaFaultType | 'failed'
      readonly message: string
      readonly detail: string
    }
