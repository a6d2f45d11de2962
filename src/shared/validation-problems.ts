// Errors of the generated validators as problems, each with a JSON pointer and a sentence.

import { patternSentences } from '../../generated/patterns.ts'
import { MAX_PROBLEMS, type Problem } from '../errors.ts'
import { truncateText } from './text-truncation.ts'

/**
 * Limits in characters for a name in a pointer and for a validator's pointer. A name may be as long as a body, and each of many problems has its own
 * pointer.
 */
const MAX_NAME_LENGTH = 200
const MAX_POINTER_LENGTH = 2_000

/** An error that ajv reports for one failed keyword. */
export interface SchemaKeywordError {
  instancePath: string
  keyword: string
  params: Record<string, unknown>
  message?: string
}

// These keywords report only that no variant fits; the errors of the variants say what is wrong.
const SUMMARIES = new Set(['oneOf', 'anyOf', 'if'])

/** Every problem once, and at most one more than an error lists. `base` is put before each path. */
export function toValidationProblems(errors: readonly SchemaKeywordError[], base = ''): Problem[] {
  const telling = errors.filter((error) => !SUMMARIES.has(error.keyword)).filter(isRelevantError)
  const problems = (telling.length > 0 ? telling : errors).map((error) => toProblem(error, base))
  return removeDuplicateProblems(problems).slice(0, MAX_PROBLEMS + 1)
}

/** Each problem once: several variants may report the same problem. */
export function removeDuplicateProblems(problems: readonly Problem[]): Problem[] {
  const seen = new Set<string>()
  return problems.filter(({ path, message }) => {
    const key = `${path}\n${message}`
    if (seen.has(key)) return false
    seen.add(key)
    return true
  })
}

/** False for "must be null" where the value of another variant is wrong inside: the client did not mean null. */
function isRelevantError(
  { keyword, params, instancePath }: SchemaKeywordError,
  _at: number,
  all: readonly SchemaKeywordError[],
): boolean {
  if (keyword !== 'type' || params.type !== 'null') return true
  const inside = (other: SchemaKeywordError) => other.instancePath.startsWith(`${instancePath}/`)
  return !all.some((other) => inside(other) || (other.instancePath === instancePath && other.keyword !== 'type'))
}

function toProblem({ instancePath, keyword, params, message }: SchemaKeywordError, base: string): Problem {
  const member = params.missingProperty ?? params.additionalProperty ?? params.unevaluatedProperty
  const at = `${base}${truncateText(instancePath, MAX_POINTER_LENGTH)}`
  const path = typeof member === 'string' ? appendToPointer(at, member) : at
  return { path, message: SENTENCES[keyword]?.(params) ?? message ?? 'is not valid', code: keyword }
}

const formatValues = (values: unknown): string =>
  Array.isArray(values) ? values.map((one) => JSON.stringify(one)).join(', ') : ''

/** What a text must be that does not match a pattern of the contract. */
export function describePattern(pattern: string): string {
  return patternSentences[pattern] ?? `must match the pattern ${pattern}`
}

const SENTENCES: Readonly<Record<string, (params: Record<string, unknown>) => string>> = {
  required: () => 'is required',
  additionalProperties: () => 'is not a known property',
  enum: ({ allowedValues }) => `must be one of ${formatValues(allowedValues)}`,
  pattern: ({ pattern }) => describePattern(String(pattern)),
  const: ({ allowedValue }) => `must be ${JSON.stringify(allowedValue)}`,
  type: ({ type }) => `must be ${Array.isArray(type) ? type.join(' or ') : String(type).replaceAll(',', ' or ')}`,
}

/** Appends a member name to a JSON pointer (RFC 6901) for readers. Of a very long name only the beginning is shown. */
export function appendToPointer(base: string, name: string): string {
  return `${base}/${truncateText(name, MAX_NAME_LENGTH).toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1')}`
}

/**
 * A problem for every text in a value, keys included, with a lone surrogate: it would be stored as another text. `at` is the pointer of the value.
 */
export function findIllFormedTexts(value: unknown, at: string): Problem[] {
  if (typeof value === 'string') return value.isWellFormed() ? [] : [{ path: at, message: ILL_FORMED }]
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return []
  return Object.entries(value).flatMap(([key, member]) => {
    const path = appendToPointer(at, key.toWellFormed())
    const inside = findIllFormedTexts(member, path)
    return key.isWellFormed() ? inside : [{ path, message: ILL_FORMED }, ...inside]
  })
}

const ILL_FORMED = 'must be well-formed Unicode: a surrogate stands alone'
