// How the minimal server says no: a code of the catalogue, in the form of each door.
import { type ErrorCode, errorCatalogue } from '../../../../generated/errors.ts'
import type { Problem } from './documents.ts'

export class Refusal extends Error {
  readonly code: ErrorCode
  readonly problems: readonly Problem[]

  constructor(code: ErrorCode, problems: readonly Problem[] = []) {
    super(errorCatalogue[code].message)
    this.code = code
    this.problems = problems
  }

  get status(): number {
    return errorCatalogue[this.code].status
  }

  /** The body of `/api`; with `flat` that of the SDK's routes. */
  body(flat: boolean): object {
    const { type, retryable, status } = errorCatalogue[this.code]
    const { message, code, problems } = this
    const error = { message, type, code: status, ...(problems.length > 0 ? { problems } : {}) }
    return flat ? { error, code, message, detail: message, retryable } : { error }
  }

  socket(): object {
    const { retryable } = errorCatalogue[this.code]
    const { message, code, problems } = this
    return { code, message, retryable, apiCode: retryable ? 'SERVICE_UNAVAILABLE' : code, problems }
  }
}
