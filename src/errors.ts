// The one error class, the funnel from anything thrown, and the error bodies of each door.
// Codes, statuses and default messages come from the contract's catalogue.
import { type ErrorCode, errorCatalogue } from '../generated/errors.ts'

/** One thing that is wrong with a request; `path` is a JSON pointer into it (`/body/params/name`). */
export interface Problem {
  path: string
  message: string
  code?: string
}

interface Options {
  message?: string | undefined
  problems?: readonly Problem[] | undefined
  headers?: Readonly<Record<string, string>> | undefined
  param?: string | undefined
  cause?: unknown
}

/** An error with a code from the catalogue. Its message is safe to show, unless its status is 5xx: then the default one is shown. */
export class ServiceError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly type: string
  readonly retryable: boolean
  readonly problems: readonly Problem[]
  readonly headers: Readonly<Record<string, string>>
  readonly param: string | null

  constructor(code: ErrorCode, options: Options = {}) {
    const info = errorCatalogue[code]
    super(options.message ?? info.message, { cause: options.cause })
    this.name = 'ServiceError'
    this.code = code
    this.status = info.status
    this.type = info.type
    this.retryable = info.retryable
    this.problems = options.problems ?? []
    this.headers = options.headers ?? {}
    this.param = options.param ?? null
  }

  /** What a client may read: for 5xx the catalogue's own message. */
  get publicMessage(): string {
    return this.status >= 500 ? errorCatalogue[this.code].message : this.message
  }
}

/** Turns anything thrown into a ServiceError; what is not one becomes INTERNAL_ERROR with the original as its cause. */
export function toServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown
  return new ServiceError('INTERNAL_ERROR', { cause: thrown })
}

type Detail = { message: string; type: string; code: number; problems?: readonly Problem[] }

function detailOf(error: ServiceError): Detail {
  const detail: Detail = { message: error.publicMessage, type: error.type, code: error.status }
  if (error.problems.length > 0) detail.problems = error.problems
  return detail
}

/** What the first problem is about, as OpenAI names places: `messages[0].role`. */
function paramOf([first]: readonly Problem[]): string | null {
  const at = first ? /^\/(?:body|query|path|headers)\/(.+)$/s.exec(first.path)?.[1] : undefined
  if (at === undefined) return null
  return at
    .split('/')
    .map((name) => (/^\d+$/.test(name) ? `[${name}]` : `.${name.replaceAll('~1', '/').replaceAll('~0', '~')}`))
    .join('')
    .replace(/^\./, '')
}

/** The error bodies by door, as the contract's `x-svc-errors` names them. */
export const errorBodies = {
  api: (error: ServiceError) => ({ error: detailOf(error) }),
  sdk: (error: ServiceError) => ({
    error: detailOf(error),
    code: error.code,
    message: error.publicMessage,
    detail: error.publicMessage,
    retryable: error.retryable,
  }),
  openai: (error: ServiceError) => {
    const { message, type, code, problems } = detailOf(error)
    const param = error.param ?? paramOf(error.problems)
    return { error: { message, type, param, code, ...(problems ? { problems } : {}) } }
  },
  socket: (error: ServiceError) => ({
    code: error.code,
    message: error.publicMessage,
    retryable: error.retryable,
    apiCode: error.retryable ? 'SERVICE_UNAVAILABLE' : error.code,
    ...(error.problems.length > 0 ? { problems: error.problems } : {}),
  }),
} as const
