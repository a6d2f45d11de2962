// Judges a value by a JSON schema that a workflow brought. Nobody trusts such a schema: it is bounded in size and time, it reaches nothing
// outside of itself, and its patterns run in linear time.
import { createRequire } from 'node:module'
import { runInNewContext } from 'node:vm'
import type { AnySchemaObject, ValidateFunction } from 'ajv/dist/2020.js'
import type { Problem } from '../errors.ts'
import { regexLibrary } from '../nodes/libraries.ts'

/** How long a schema may be as JSON text. */
const LONGEST_SCHEMA = 65_536
/** How long one value may take, in milliseconds: references can make a small schema into endless work. */
const LONGEST_CHECK_MS = 1_000
/** How many problems are told. */
const MOST_PROBLEMS = 20

/** Everything that is wrong with a value; `at` is the JSON pointer of the value in its request. */
export function schemaProblems(schema: Record<string, unknown>, value: unknown, at: string): Problem[] {
  const validate = compiled(schema)
  if (typeof validate === 'string') return [{ path: at, message: validate }]
  try {
    if (runInNewContext('check()', { check: () => validate(value) }, { timeout: LONGEST_CHECK_MS })) return []
  } catch {
    return [{ path: at, message: 'could not be checked: the schema of the waiting node needs too much work for it' }]
  }
  return (validate.errors ?? []).slice(0, MOST_PROBLEMS).map(({ instancePath, message }) => ({
    path: `${at}${instancePath}`,
    message: message ?? 'does not fit the schema',
  }))
}

function compiled(schema: Record<string, unknown>): ValidateFunction | string {
  if (JSON.stringify(schema).length > LONGEST_SCHEMA)
    return 'cannot be checked: the schema of the waiting node is too large'
  const { Ajv2020 } = ajvLibrary()
  const ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: false, code: { regExp: linearPattern } })
  try {
    return ajv.compile(schema as AnySchemaObject)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return `cannot be checked: the schema of the waiting node is not valid: ${why}`
  }
}

/** Read when the first value is judged: it is a large library, and most jobs wait for nothing. */
const ajvLibrary = (): typeof import('ajv/dist/2020.js') => createRequire(import.meta.url)('ajv/dist/2020.js')

const linearPattern = Object.assign(
  (pattern: string) => {
    const compiledPattern = regexLibrary().RE2JS.compile(pattern)
    return { test: (text: string) => compiledPattern.matcher(text).find() }
  },
  { code: 'linearPattern' },
)
