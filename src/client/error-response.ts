// Parses the error bodies of every API as one kind of error. Bodies have the
// flat form of the lifecycle profile, the nested form, or no form.
import type { Problem } from '../../generated/types.ts'
import { ServiceError } from './errors.ts'
import { isRecord } from './json-and-uuid.ts'

/** Statuses after which the same request may succeed, where the body does not say. */
const RETRYABLE_STATUSES: readonly number[] = [429, 500, 502, 503, 504]
const CODE_BY_STATUS: Readonly<Record<number, string>> = {
  400: 'INVALID_REQUEST',
  401: 'AUTHENTICATION_REQUIRED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  409: 'CONFLICT',
  413: 'REQUEST_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  429: 'RATE_LIMITED',
  500: 'INTERNAL_ERROR',
  502: 'UPSTREAM_ERROR',
  503: 'SERVICE_UNAVAILABLE',
  504: 'UPSTREAM_TIMEOUT',
}

/** Reads the error of an unsuccessful answer, and consumes the body. */
export async function readServiceError(response: Response): Promise<ServiceError> {
  const body: unknown = await response.json().catch(() => null)
  return parseServiceError(response.status, body, response.headers)
}

/** Parses the error in a body with this status. */
export function parseServiceError(status: number, body: unknown, headers: Pick<Headers, 'get'>): ServiceError {
  const flat = isRecord(body) ? body : {}
  const nested = isRecord(flat.error) ? flat.error : {}
  const refusal = typeof flat.error === 'string' ? flat.error : null
  const code =
    nonEmptyText(flat.code) ?? nonEmptyText(nested.type)?.toUpperCase() ?? CODE_BY_STATUS[status] ?? `HTTP_${status}`
  // A request with an unknown outcome may have been stored. The caller has to check before it repeats the request.
  const mayHelp = RETRYABLE_STATUSES.includes(status) && code !== 'OUTCOME_UNKNOWN'
  return new ServiceError({
    code,
    message: nonEmptyText(flat.message) ?? nonEmptyText(nested.message) ?? refusal ?? `The server answered ${status}.`,
    status,
    retryable: typeof flat.retryable === 'boolean' ? flat.retryable : mayHelp,
    problems: readProblems(nested.problems),
    request_id: headers.get('X-Request-Id'),
    retry_after_ms: parseRetryAfterMs(headers.get('Retry-After')),
  })
}

/** Parses the error of an `rpc_response`. */
export function parseRpcError(error: Readonly<Record<string, unknown>>, request_id: string): ServiceError {
  return new ServiceError({
    code: nonEmptyText(error.code) ?? 'INTERNAL_ERROR',
    message: nonEmptyText(error.message) ?? 'The server refused the command.',
    retryable: error.retryable === true,
    problems: readProblems(error.problems),
    request_id,
  })
}

/** `Retry-After` (RFC 9110, section 10.2.3) in milliseconds. The header holds seconds or a date; null where it holds neither. */
export function parseRetryAfterMs(value: string | null | undefined, now = Date.now()): number | null {
  const given = value?.trim() ?? ''
  if (/^\d+$/.test(given)) return Number(given) * 1_000
  const moment = given === '' ? Number.NaN : Date.parse(given)
  return Number.isNaN(moment) ? null : Math.max(0, moment - now)
}

function readProblems(problems: unknown): readonly Problem[] {
  return Array.isArray(problems) ? problems.filter((one): one is Problem => isRecord(one)) : []
}

function nonEmptyText(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}
