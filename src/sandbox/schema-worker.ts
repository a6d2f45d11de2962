// The thread that compiles one schema and validates one value. schema-validator.ts ends it when it takes too long. The schema cannot load
// anything, and its patterns run in linear time.
import { parentPort } from 'node:worker_threads'
import { Ajv2020, type AnySchemaObject, type ValidateFunction } from 'ajv/dist/2020.js'
import { RE2JS } from 're2js'
import { truncateText } from '../shared/text-truncation.ts'
import { deserializeValue } from '../shared/value-serialization.ts'
import type { FromSchemaWorker, SchemaVerdict, ToSchemaWorker } from './schema-validator.ts'

/** The limit of reported problems. */
const MOST_PROBLEMS = 20
/** The length limit of a problem's path, in characters: a name in it may be as long as a request. */
const LONGEST_PLACE = 2_000

/** Patterns are cached by their text, together with those of the compiler's own schemas. */
const linearPattern = Object.assign(
  (pattern: string) => {
    const compiled = RE2JS.compile(pattern)
    return { test: (text: string) => compiled.matcher(text).find(), toString: () => pattern }
  },
  { code: 'linearPattern' },
)

function compileSchema(schema: AnySchemaObject): ValidateFunction {
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    validateFormats: false,
    // Without this, every object would have a `constructor`, which it inherits.
    ownProperties: true,
    // The compiler would print the code that it generates.
    logger: false,
    code: { regExp: linearPattern },
  })
  return ajv.compile(schema)
}

function listProblems({ errors }: ValidateFunction) {
  return (errors ?? []).slice(0, MOST_PROBLEMS).map(({ instancePath, message }) => ({
    path: truncateText(instancePath, LONGEST_PLACE),
    message: message ?? 'does not fit the schema',
  }))
}

function runValidation({ schema, given }: ToSchemaWorker): SchemaVerdict {
  let validate: ValidateFunction
  try {
    validate = compileSchema(schema)
  } catch (error) {
    if (error instanceof RangeError) return { kind: 'costly' }
    return { kind: 'unusable', why: error instanceof Error ? error.message : String(error) }
  }
  try {
    // Forces the whole check, as engines compile a function only when it is first called.
    if (given === null) validate(null)
    else if (!validate(readValue(given))) return { kind: 'unfit', problems: listProblems(validate) }
    return { kind: 'fits' }
  } catch {
    // The schema refers to itself without end.
    return { kind: 'costly' }
  }
}

function readValue(given: NonNullable<ToSchemaWorker['given']>): unknown {
  if ('value' in given) return given.value
  const { buffer, byteOffset, length } = given.bytes
  return deserializeValue(Buffer.from(buffer, byteOffset, length))
}

function post(message: FromSchemaWorker): void {
  parentPort!.postMessage(message)
}

parentPort!.once('message', (asked: ToSchemaWorker) => post(runValidation(asked)))

post({ kind: 'ready' })
