// Checks integers in queries, headers and paths: validators accept every text that JavaScript reads as a number, such as `0x1`, `+1` and `1e0`.
import type { Problem } from '../../../errors.ts'
import { appendToPointer } from '../../../shared/validation-problems.ts'
import { invalidRequestError } from './invalid-request-error.ts'
import type { ValidRequest } from './valid-request.ts'

type Values = Readonly<Record<string, unknown>>

const DIGITS = /^-?\d+$/

/** @throws INVALID_REQUEST for numbers that were not sent as plain digits */
export function checkIntegerSyntax(sent: Omit<ValidRequest, 'body'>, value: ValidRequest): ValidRequest {
  const problems = [
    ...findSyntaxProblems('/path', sent.path, value.path),
    ...findSyntaxProblems('/query', sent.query, value.query),
    ...findSyntaxProblems('/headers', sent.headers, value.headers),
  ]
  if (problems.length > 0) throw invalidRequestError(problems)
  return value
}

/** A problem for each number of `parsed` whose text in `sent` is not digits. `at` is the path of the values, such as `/query`. */
function findSyntaxProblems(at: string, sent: Values, parsed: Values): Problem[] {
  const problems: Problem[] = []
  for (const name in parsed) {
    const text = sent[name]
    // A value that was not sent is a default.
    if (typeof parsed[name] !== 'number' || typeof text !== 'string' || DIGITS.test(text)) continue
    problems.push({ path: appendToPointer(at, name), message: 'must be integer', code: 'type' })
  }
  return problems
}
