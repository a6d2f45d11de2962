// Redacts the texts of an error that clients see.
import { copyServiceError, type Problem, type ServiceError } from '../errors.ts'

/** The same error if `redact` changes none of its texts. */
export function redactServiceError(error: ServiceError, redact: (text: string) => string): ServiceError {
  const message = redact(error.message)
  const param = error.param === null ? null : redact(error.param)
  const problems = redactProblems(error.problems, redact)
  if (message === error.message && param === error.param && problems === error.problems) return error
  return copyServiceError(error, { message, param: param ?? undefined, problems })
}

/** The same list if nothing changes. */
function redactProblems(problems: readonly Problem[], redact: (text: string) => string): readonly Problem[] {
  const redacted = problems.map((problem) => ({
    ...problem,
    path: redact(problem.path),
    message: redact(problem.message),
  }))
  const isSame = redacted.every(
    ({ path, message }, at) => path === problems[at]!.path && message === problems[at]!.message,
  )
  return isSame ? problems : redacted
}
