// Emits `errors.ts`: the error catalogue as data.
import type { Contract } from '../documents/contract.ts'
import { mapOf } from '../documents/json-pointer.ts'
import { toLiteral } from './typescript-source.ts'

export function emitErrors({ errors }: Contract): string {
  const entries = Object.entries(errors).map(([code, value]) => {
    const { status = null, type = null, retryable = null, message = null } = mapOf(value)
    return `  ${code}: ${toLiteral({ status, type, retryable, message })},\n`
  })
  return `/** One error of the catalogue. */
export interface ErrorInfo {
  /** The HTTP status. */
  readonly status: number
  /** A stable snake_case word in the error bodies of all APIs. */
  readonly type: string
  /** Whether the same request may succeed later. */
  readonly retryable: boolean
  /** The default message. */
  readonly message: string
}

/** All errors of the service, by code. */
export const errorCatalogue = {
${entries.join('')}} as const satisfies Readonly<Record<string, ErrorInfo>>

export type ErrorCode = keyof typeof errorCatalogue
`
}
