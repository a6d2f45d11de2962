// The one error class, the conversion of anything thrown, and the error bodies of each transport. Codes, statuses and default messages come from the
// contract's catalogue.
import { type ErrorCode, errorCatalogue } from '../generated/errors.ts'

/** One fault of a request; `path` is a JSON pointer into it (`/body/params/name`). */
export interface Problem {
  path: string
  message: string
  code?: string
}

/** The maximum number of problems of an error. */
export const MAX_PROBLEMS = 100

/** The number of problems besides the first, as the end of its sentence. Problems beyond the limit of an error are not counted. */
export function moreProblemsSuffix({ length }: readonly Problem[], hasMore = length > MAX_PROBLEMS): string {
  if (hasMore) return ` (and more than ${Math.min(length, MAX_PROBLEMS) - 1} more)`
  return length > 1 ? ` (and ${length - 1} more)` : ''
}

interface ServiceErrorOptions {
  message?: string | undefined
  /** The first hundred are kept. */
  problems?: readonly Problem[] | undefined
  /** Whether there are more problems than `problems`. */
  more_problems?: boolean | undefined
  headers?: Readonly<Record<string, string>> | undefined
  param?: string | undefined
  job_id?: string | undefined
  cause?: unknown
}

/** An error with a code of the catalogue. Its message is safe to show unless its status is 5xx: then clients see the default message. */
export class ServiceError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly type: string
  readonly retryable: boolean
  readonly problems: readonly Problem[]
  readonly more_problems: boolean
  readonly headers: Readonly<Record<string, string>>
  readonly param: string | null
  /** The job that may be stored although the outcome of its submission is unknown. */
  readonly job_id: string | null

  constructor(code: ErrorCode, options: ServiceErrorOptions = {}) {
    const info = errorCatalogue[code]
    super(options.message ?? info.message, { cause: options.cause })
    this.name = 'ServiceError'
    this.code = code
    this.status = info.status
    this.type = info.type
    this.retryable = info.retryable
    const problems = options.problems ?? []
    this.problems = problems.length > MAX_PROBLEMS ? problems.slice(0, MAX_PROBLEMS) : problems
    this.more_problems = options.more_problems ?? problems.length > MAX_PROBLEMS
    this.headers = options.headers ?? {}
    this.param = options.param ?? null
    this.job_id = options.job_id ?? null
  }

  /** The message for clients: for 5xx that of the catalogue. */
  get publicMessage(): string {
    return this.status >= 500 ? errorCatalogue[this.code].message : this.message
  }
}

/** A copy of the error with other texts or headers. The original is its cause, unless it has one of its own. */
export function copyServiceError(
  error: ServiceError,
  changes: Pick<ServiceErrorOptions, 'message' | 'problems' | 'param' | 'headers'>,
): ServiceError {
  const { code, message, problems, more_problems, headers, param, job_id, cause = error } = error
  const kept = { message, problems, more_problems, headers, param: param ?? undefined, job_id: job_id ?? undefined }
  return new ServiceError(code, { ...kept, ...changes, cause })
}

/** Whether an error says that something is unavailable for now. */
export function isUnavailableError(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'SERVICE_UNAVAILABLE'
}

/** Whether an error says that stored data is damaged, so that a retry would fail as well. */
export function isDamagedDataError(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'DATA_DAMAGED'
}

/** Turns anything thrown into a ServiceError. Other errors become the cause of an INTERNAL_ERROR. */
export function toServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown
  return new ServiceError('INTERNAL_ERROR', { cause: thrown })
}

interface ProblemFields {
  problems?: readonly Problem[]
  more_problems?: true
}

type ErrorDetail = { message: string; type: string; code: number } & ProblemFields

/** The problems of an error body; empty if there are none. */
export function problemFields({
  problems,
  more_problems,
}: Pick<ServiceError, 'problems' | 'more_problems'>): ProblemFields {
  if (problems.length === 0) return {}
  return more_problems ? { problems, more_problems } : { problems }
}

function toErrorDetail(error: ServiceError): ErrorDetail {
  return { message: error.publicMessage, type: error.type, code: error.status, ...problemFields(error) }
}

/** The position of the first problem in OpenAI's notation: `messages[0].role`. */
function toOpenAiParam([first]: readonly Problem[]): string | null {
  const at = first ? /^\/(?:body|query|path|headers)\/(.+)$/s.exec(first.path)?.[1] : undefined
  if (at === undefined) return null
  return at
    .split('/')
    .map((name) => (/^\d+$/.test(name) ? `[${name}]` : `.${name.replaceAll('~1', '/').replaceAll('~0', '~')}`))
    .join('')
    .replace(/^\./, '')
}

/** The error bodies by error format, as the contract's `x-svc-errors` names them. */
export const errorBodies = {
  api: (error: ServiceError) => ({ error: toErrorDetail(error) }),
  sdk: (error: ServiceError) => ({
    error: toErrorDetail(error),
    code: error.code,
    message: error.publicMessage,
    detail: error.publicMessage,
    retryable: error.retryable,
  }),
  openai: (error: ServiceError) => {
    const { message, type, code, ...problems } = toErrorDetail(error)
    const param = error.param ?? toOpenAiParam(error.problems)
    return { error: { message, type, param, code, ...problems } }
  },
  socket: (error: ServiceError) => ({
    code: error.code,
    message: error.publicMessage,
    retryable: error.retryable,
    apiCode: error.retryable ? 'SERVICE_UNAVAILABLE' : error.code,
    ...problemFields(error),
    ...(error.job_id === null ? {} : { job_id: error.job_id }),
  }),
} as const
