// What a server and a process that works on its files say to each other. Files travel in parts (file-parts.ts), other values in pieces
// (engine/pieces.ts), so that nothing large holds the server.
import type { ValueFragment } from '../engine/node-api/values/fragments.ts'
import type { MediaFaultType } from './fault.ts'
import type { FilePart } from './file-transfer.ts'

export interface MediaRunMessage {
  readonly kind: 'run'
  readonly id: number
  readonly task: string
  /** The last ones of its files. */
  readonly parts: readonly FilePart[]
  /** The last piece of the parameters. */
  readonly ops: ValueFragment
}

/** `warm`: a task of that name may come soon. */
export type ToMediaWorker =
  | MediaRunMessage
  | { readonly kind: 'piece'; readonly ops: ValueFragment }
  | { readonly kind: 'files'; readonly parts: readonly FilePart[] }
  | { readonly kind: 'warm'; readonly task: string }

export type FromMediaWorker =
  | { readonly id: number; readonly kind: 'piece'; readonly ops: ValueFragment }
  | { readonly id: number; readonly kind: 'files'; readonly parts: readonly FilePart[] }
  /** With the last parts of the files, and the last piece of the value. */
  | { readonly id: number; readonly kind: 'done'; readonly parts: readonly FilePart[]; readonly ops: ValueFragment }
  /** `detail` is for the log. */
  | {
      readonly id: number
      readonly kind: 'refused'
      readonly type: MediaFaultType | 'failed'
      readonly message: string
      readonly detail: string
    }
