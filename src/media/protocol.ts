// The messages between a server and a media process. Files are sent in parts (file-transfer.ts) and other values in fragments
// (engine/node-api/values/fragments.ts), so that large data does not block the server.
import type { ValueFragment } from '../engine/node-api/values/fragments.ts'
import type { MediaFaultType } from './fault.ts'
import type { FilePart } from './file-transfer.ts'

export interface MediaRunMessage {
  readonly kind: 'run'
  readonly id: number
  readonly task: string
  /** The last parts of the files. */
  readonly parts: readonly FilePart[]
  /** The last fragment of the parameters. */
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
  /** Carries the last parts of the files, and the last fragment of the value. */
  | { readonly id: number; readonly kind: 'done'; readonly parts: readonly FilePart[]; readonly ops: ValueFragment }
  /** `detail` is for the log. */
  | {
      readonly id: number
      readonly kind: 'refused'
      readonly type: MediaFaultType | 'failed'
      readonly message: string
      readonly detail: string
    }
