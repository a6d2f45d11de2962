// What goes wrong, as one kind of error with a code: what the server answered, what the network did, and how a job ended.

import type { ErrorCode } from '../../generated/errors.ts'
import type { JobSnapshot, Problem } from '../../generated/types.ts'

/**
 * Codes that no server sends: the client itself says so.
 * - `NETWORK_ERROR`: the server could not be reached, or the connection broke before the answer
 * - `TIMEOUT`: the answer took longer than the client waits
 * - `INVALID_ANSWER`: an answer that the contract does not know
 * - `INVALID_ARGUMENT`: what the caller gave cannot be sent, such as a BigInt, a value within itself, or a token with a line break; nothing was sent
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

/** Codes of the contract's catalogue, those of the client, and whatever a newer server adds. */
export type ServiceErrorCode = ErrorCode | ClientErrorCode | (string & {})

/** What a `ServiceError` is made of. */
export interface ServiceErrorInit {
  code: ServiceErrorCode
  message: string
  /** The HTTP status; null where the error came over the socket, or no answer came at all. */
  status?: number | null
  /** Whether the same request may succeed later. */
  retryable?: boolean
  /** Every problem that the server found in the request. */
  problems?: readonly Problem[]
  /** What the server calls the request in its log (`X-Request-Id`), or the `request_id` of the command. */
  request_id?: string | null
  /** How long the server asks to wait, in milliseconds. */
  retry_after_ms?: number | null
  cause?: unknown
}

/** Anything that the service refuses or that keeps it from being reached. An aborted wait rejects with the signal's own reason instead. */
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
  /** The terminal snapshot; its `error` says which node failed and how. */
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

/** The server could not be reached, or the connection broke before the answer. */
export function networkError(message: string, cause?: unknown): ServiceError {
  return new ServiceError({ code: 'NETWORK_ERROR', message, retryable: true, cause })
}

export function timeoutError(what: string, ms: number): ServiceError {
  return new ServiceError({ code: 'TIMEOUT', message: `${what} took longer than ${ms} ms.`, retryable: true })
}

export function clientClosedError(): ServiceError {
  return new ServiceError({ code: 'CLIENT_CLOSED', message: 'The client was closed.' })
}

/** The credential was refused, also after a new one was asked for. */
export function authenticationError(message: string): ServiceError {
  return new ServiceError({ code: 'AUTHENTICATION_REQUIRED', message, status: 401 })
}

/** An answer that the contract does not know. */
export function invalidAnswerError(message: string, cause?: unknown): ServiceError {
  return new ServiceError({ code: 'INVALID_ANSWER', message, cause })
}

/** The caller gave something that no server could be sent. */
export function invalidArgumentError(message: string, cause?: unknown): ServiceError {
  return new ServiceError({ code: 'INVALID_ARGUMENT', message, cause })
}

/** What `send` gives, which fails only where a value of the caller's cannot be said on the wire. @throws INVALID_ARGUMENT */
export function encodeArgument<T>(what: string, send: () => T): T {
  try {
    return send()
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw invalidArgumentError(`${what} cannot be sent: ${why}`, cause)
  }
}

/** Whether an error says that trying again may help. */
export function isRetryable(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.retryable
}
