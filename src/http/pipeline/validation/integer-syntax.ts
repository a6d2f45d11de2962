// Checks integers in queries, headers and paths: validators accept every text that JavaScript reads as a number, such as `0x1`, `+1` and `1e0`.
import type { Problem } from '../../../errors.ts'
import { appendToPointer } from '../../../shared/validation-problems.ts'

type Values = Readonly<Record<string, unknown>>

const DIGITS = /^-?\d+$/

/** A problem for each number of `parsed` whose text in `sent` is not digits. `at` is the path of the values, such as `/query`. */
export function validateIntegerSyntax(at: string, sent: Values, parsed: Values): Problem[] {
  const problems: Problem[] = []
  for (const name in parsed) {
    const text = sent[name]
    // A value that was not sent is a default.
    if (typeof parsed[name] !== 'number' || typeof text !== 'string' || DIGITS.test(text)) continue
    problems.push({ path: appendToPointer(at, name), message: 'must be integer', code: 'type' })
  }
  return problems
}
