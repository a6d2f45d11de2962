// Validators that give up: of a list or a map they tell the first problems and look no further, and one that is too long is not looked into at all.
// Everything that is wrong with a request would take longer to gather than anybody waits, and to read as well.

import { _, type AnySchemaObject, CodeGen, type CodeKeywordDefinition, type Name } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import names from 'ajv/dist/compile/names.js'

/** Errors of one list or map, after which the rest of it is not looked at: one wrong message has dozens, each variant its own. */
const MAX_ERRORS_PER_LOOP = 1_000

const { errors } = names.default

/** Keywords that look at one item after the other, and the limit that an object has for their number. */
const LIMIT_KEYWORDS: Readonly<Record<string, 'maxItems' | 'maxProperties'>> = {
  items: 'maxItems',
  contains: 'maxItems',
  uniqueItems: 'maxItems',
  additionalProperties: 'maxProperties',
  patternProperties: 'maxProperties',
  propertyNames: 'maxProperties',
  unevaluatedProperties: 'maxProperties',
}

/** Changes how `ajv` compiles what it is given from now on. */
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

/** Loops that are written meanwhile end once they have found enough. What they leave out is not valid: an error was found in the very same loop. */
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

/** What looks for one item among many counts those that are something else as errors, for a while. */
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
