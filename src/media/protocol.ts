// What a server and a process that works on its files say to each other. Bytes travel as they are.
import type { MediaFaultType } from './fault.ts'

export interface MediaOrder {
  readonly kind: 'run'
  readonly id: number
  readonly task: string
  readonly files: readonly Uint8Array[]
  readonly params: Readonly<Record<string, unknown>>
}

/** `warm`: a task of that name may come soon. */
export type ToMedia = MediaOrder | { readonly kind: 'warm'; readonly task: string }

export type FromMedia =
  | { readonly id: number; readonly kind: 'done'; readonly files: readonly Uint8Array[]; readonly value: unknown }
  /** `detail` is for the log. */
  | {
      readonly id: number
      readonly kind: 'refused'
      readonly type: MediaFaultType | 'failed'
      readonly message: string
      readonly detail: string
    }
