// Turns the errors of express-openapi-validator into problems, as the generated validators would report them.
import type { OperationInfo } from '../../../../generated/operations.ts'
import type { Problem } from '../../../errors.ts'
import { describePattern, removeDuplicateProblems } from '../../../shared/validation-problems.ts'
import { invalidRequestError } from './invalid-request-error.ts'

export const MISSING_BODY: Problem = { path: '/body', message: 'is required', code: 'required' }

interface OpenapiProblem {
  path?: string
  message?: string
  errorCode?: string
}

interface OpenapiError {
  status?: unknown
  errors?: readonly OpenapiProblem[]
}

export function translateOpenapiError(thrown: unknown, found: readonly Problem[], operation: OperationInfo): unknown {
  const { status, errors } = thrown as OpenapiError
  if (status !== 400 || !errors) return thrown
  const others = filterMeaningfulProblems(errors)
    .map(toProblem)
    .filter(({ path }) => path !== MISSING_BODY.path || !found.includes(MISSING_BODY))
  return invalidRequestError([...found, ...removeDuplicateProblems(others)], operation)
}

/** Matches the generated validators: keeps the errors of a variant itself, and drops that no variant fits, or that a value is not null. */
function filterMeaningfulProblems(errors: readonly OpenapiProblem[]): readonly OpenapiProblem[] {
  const specific = errors.filter(({ errorCode = '' }) => !/^(?:oneOf|anyOf|if)\./.test(errorCode))
  const isMeant = ({ path = '', message }: OpenapiProblem) =>
    message !== 'must be null' ||
    !errors.some((other) => other.path?.startsWith(`${path}/`) || (other.path === path && !isTypeProblem(other)))
  return specific.length > 0 ? specific.filter(isMeant) : errors
}

function isTypeProblem({ errorCode = '' }: OpenapiProblem): boolean {
  return /^(?:type|oneOf|anyOf|if)\./.test(errorCode)
}

function toProblem({ path = '', message = 'is not valid', errorCode }: OpenapiProblem): Problem {
  const code = errorCode?.split('.')[0]
  // The validator names path parameters `/params/…`; the contract names them `/path/…`.
  return { path: path.replace(/^\/params\//, '/path/'), message: translateMessage(message), ...(code ? { code } : {}) }
}

const ALLOWED_VALUES_PREFIX = 'must be equal to one of the allowed values: '

/** Uses the words of the generated validators. express-openapi-validator joins the allowed values, and writes null as an empty string. */
function translateMessage(message: string): string {
  if (message === 'must NOT have additional properties') return 'is not a known property'
  const pattern = /^must match pattern "(.*)"$/s.exec(message)?.[1]
  if (pattern !== undefined) return describePattern(pattern)
  if (!message.startsWith(ALLOWED_VALUES_PREFIX)) return message
  const values = message.slice(ALLOWED_VALUES_PREFIX.length).split(', ')
  return `must be one of ${values.map((value) => value || 'null').join(', ')}`
}
