// All errors of the client as one class with a code: errors of the server, of the network, and of jobs.

import type { ErrorCode } from '../../generated/errors.ts'
import type { JobSnapshot, Problem } from '../../generated/types.ts'

/**
 * Codes of the client itself, which no server sends.
 * - `NETWORK_ERROR`: the server is unreachable, or the connection broke before the answer
 * - `TIMEOUT`: the answer took longer than the client waits
 * - `INVALID_ANSWER`: the answer does not match the contract
 * - `INVALID_ARGUMENT`: a value cannot be encoded, such as a BigInt, a cyclic value, or a token with a line break; nothing was sent
 * - `CLIENT_CLOSED`: the client was closed
 * - `JOB_FAILED`, `JOB_CANCELLED`: how a job ended
 */
export type ClientErrorCode =
  | 'NETWORK_ERROR'
  | 'TIMEOUT'
  | 'INVALID_ANSWER'
  | 'INVALID_ARGUMENT'
  | 'CLIENT_CLOSED'
  | 'JOB_FAILED'
  | 'JOB_CANCELLED'

/** Codes of the contract's catalogue, those of the client, and codes of newer servers. */
export type ServiceErrorCode = ErrorCode | ClientErrorCode | (string & {})

/** The members of a `ServiceError`. */
export interface ServiceErrorInit {
  code: ServiceErrorCode
  message: string
  /** The HTTP status. Null where the error came over the socket, or no answer came. */
  status?: number | null
  /** Whether the same request may succeed later. */
  retryable?: boolean
  /** All problems that the server found in the request. */
  problems?: readonly Problem[]
  /** The server's name for the request in its log (`X-Request-Id`), or the `request_id` of the command. */
  request_id?: string | null
  /** The delay that the server asks for, in milliseconds. */
  retry_after_ms?: number | null
  cause?: unknown
}

/** The service refused a request, or could not be reached. An aborted wait rejects with the signal's own reason instead. */
export class ServiceError extends Error {
  override readonly name: string = 'ServiceError'
  readonly code: ServiceErrorCode
  readonly status: number | null
  readonly retryable: boolean
  readonly problems: readonly Problem[]
  readonly request_id: string | null
  readonly retry_after_ms: number | null

  constructor(facts: ServiceErrorInit) {
    super(facts.message, facts.cause === undefined ? undefined : { cause: facts.cause })
    this.code = facts.code
    this.status = facts.status ?? null
    this.retryable = facts.retryable ?? false
    this.problems = facts.problems ?? []
    this.request_id = facts.request_id ?? null
    this.retry_after_ms = facts.retry_after_ms ?? null
  }
}

/** A job ended without a result: `JOB_FAILED` or `JOB_CANCELLED`. */
export class JobError extends ServiceError {
  override readonly name = 'JobError'
  readonly job_id: string
  /** The terminal snapshot. Its `error` names the failed node and the reason. */
  readonly snapshot: JobSnapshot

  constructor(snapshot: JobSnapshot) {
    const cancelled = snapshot.status === 'cancelled'
    super({
      code: cancelled ? 'JOB_CANCELLED' : 'JOB_FAILED',
      message: snapshot.error?.message ?? (cancelled ? 'The job was cancelled.' : 'The job failed.'),
      retryable: snapshot.error?.retryable ?? false,
    })
    this.job_id = snapshot.job_id
    this.snapshot = snapshot
  }
}

/** The server is unreachable, or the connection broke before the answer. */
export function networkError(message: string, cause?: unknown): ServiceError {
  return new ServiceError({ code: 'NETWORK_ERROR', message, retryable: true, cause })
}

export function timeoutError(what: string, ms: number): ServiceError {
  return new ServiceError({ code: 'TIMEOUT', message: `${what} took longer than ${ms} ms.`, retryable: true })
}

export function clientClosedError(): ServiceError {
  return new ServiceError({ code: 'CLIENT_CLOSED', message: 'The client was closed.' })
}

/** The server refused the credential, and a renewed one where there is any. */
export function authenticationError(message: string): ServiceError {
  return new ServiceError({ code: 'AUTHENTICATION_REQUIRED', message, status: 401 })
}

/** The answer does not match the contract. */
export function invalidAnswerError(message: string, cause?: unknown): ServiceError {
  return new ServiceError({ code: 'INVALID_ANSWER', message, cause })
}

/** The caller passed a value that cannot be encoded. */
export function invalidArgumentError(message: string, cause?: unknown): ServiceError {
  return new ServiceError({ code: 'INVALID_ARGUMENT', message, cause })
}

/** Runs `send`, which fails only where a value of the caller cannot be encoded. @throws INVALID_ARGUMENT */
export function encodeArgument<T>(what: string, send: () => T): T {
  try {
    return send()
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw invalidArgumentError(`${what} cannot be encoded: ${why}`, cause)
  }
}

/** Whether a retry may help. */
export function isRetryable(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.retryable
}
