// Limits the errors of validators. A validator reports the first errors of a list or map and skips the rest. It does not check a list or
// map that is too long. All errors of a request would take too long to collect and to read.

import { _, type AnySchemaObject, CodeGen, type CodeKeywordDefinition, type Name } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import names from 'ajv/dist/compile/names.js'

/**
 * After this many errors the rest of a list or map is skipped. One invalid
 * message has dozens of errors, because each variant reports its own.
 */
const MAX_ERRORS_PER_LOOP = 1_000

const { errors } = names.default

/** Keywords that check the items one by one, and the keyword that limits their number. */
const LIMIT_KEYWORDS: Readonly<Record<string, 'maxItems' | 'maxProperties'>> = {
  items: 'maxItems',
  contains: 'maxItems',
  uniqueItems: 'maxItems',
  additionalProperties: 'maxProperties',
  patternProperties: 'maxProperties',
  propertyNames: 'maxProperties',
  unevaluatedProperties: 'maxProperties',
}

/** Applies the limits to all schemas that `ajv` compiles from now on. */
export function limitValidatorErrors(ajv: Ajv2020): void {
  for (const [keyword, limit] of Object.entries(LIMIT_KEYWORDS)) {
    const definition = ajv.getKeyword(keyword) as CodeKeywordDefinition
    const { code } = definition
    definition.code = (context, type) => {
      const { gen, data, parentSchema } = context
      const look = () =>
        (keyword === 'contains' ? writeWithoutErrorLimit : writeWithErrorLimit)(gen, () => code(context, type))
      const most: unknown = (parentSchema as AnySchemaObject)[limit]
      if (typeof most !== 'number') return look()
      const length = limit === 'maxItems' ? _`${data}.length` : _`Object.keys(${data}).length`
      gen.if(_`${length} <= ${most}`, look)
    }
  }
}

/**
 * Loops that `write` emits end after enough errors. The skipped items cannot make
 * the value valid, because the loop has already found an error.
 */
function writeWithErrorLimit(gen: CodeGen, write: () => void): void {
  const { forRange, forIn } = CodeGen.prototype
  const guarded = (body: (name: Name) => void): ((name: Name) => void) => {
    const before = gen.const('before', errors)
    return (name) => {
      gen.if(_`${errors} - ${before} >= ${MAX_ERRORS_PER_LOOP}`, () => gen.break())
      body(name)
    }
  }
  withLoops(gen, write, {
    forRange: (name, from, to, body, kind) => forRange.call(gen, name, from, to, guarded(body), kind),
    forIn: (name, object, body, kind) => forIn.call(gen, name, object, guarded(body), kind),
  })
}

/** A search for one matching item counts the other items as errors for a while, so it has no limit. */
function writeWithoutErrorLimit(gen: CodeGen, write: () => void): void {
  const { forRange, forIn } = CodeGen.prototype
  withLoops(gen, write, { forRange, forIn })
}

function withLoops(gen: CodeGen, write: () => void, loops: Pick<CodeGen, 'forRange' | 'forIn'>): void {
  const { forRange, forIn } = gen
  Object.assign(gen, loops)
  try {
    write()
  } finally {
    Object.assign(gen, { forRange, forIn })
  }
}
