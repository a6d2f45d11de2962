// The values of a request, as they are sent and as they are validated.
import type { Request } from 'express'
import type { OperationInfo } from '../../../../generated/operations.ts'

/** A request that satisfies its schema, with numbers and booleans parsed from text. */
export interface ValidRequest {
  path: Record<string, unknown>
  query: Record<string, unknown>
  headers: Record<string, unknown>
  body: unknown
}

export function readSentValues(operation: OperationInfo, { params, query, headers, body }: Request): ValidRequest {
  return { path: pathValues(operation, params), query: { ...query }, headers, body }
}

/** Express splits a wildcard into segments. */
export function pathValues({ wildcard }: OperationInfo, params: Request['params']): Record<string, unknown> {
  if (wildcard === null) return { ...params }
  const segments = params[wildcard]
  return { ...params, [wildcard]: Array.isArray(segments) ? segments.join('/') : segments }
}
