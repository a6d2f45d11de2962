// Validators that give up: they judge as any other, tell a few problems of many, and look into nothing that is too long.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Validate } from '../../generated/validators.js'
import { createAjv } from '../../src/codegen/documents/ajv-setup.ts'
import { compileValidators } from '../../src/codegen/emitters/validator-compiler.ts'

const SCHEMAS = {
  list: { type: 'array', items: { type: 'object', required: ['a', 'b'], additionalProperties: false } },
  short: { type: 'array', maxItems: 3, uniqueItems: true, items: { type: ['object', 'integer'], required: ['a'] } },
  map: {
    type: 'object',
    maxProperties: 1_500,
    additionalProperties: { type: 'integer' },
    propertyNames: { minLength: 2 },
  },
  either: {
    oneOf: [
      { type: 'array', items: { type: 'string' } },
      { type: 'array', items: { type: 'integer' } },
    ],
  },
  nested: { type: 'array', items: { type: 'array', items: { anyOf: [{ type: 'string' }, { const: 7 }] } } },
  one: { type: 'array', items: { type: 'integer' }, contains: { const: 7 } },
  neither: { not: { type: 'array', items: { type: 'integer' } } },
} as const

const exported = Object.keys(SCHEMAS).map((name) => `${name}: found.${name}`)
const source = await compileValidators(
  `import * as found from 'virtual:found'\nexport default { ${exported.join(', ')} }`,
  { found: { schemas: SCHEMAS as never, coerce: false, defaults: false } },
  {},
)
const { default: validators } = (await import(`data:text/javascript,${encodeURIComponent(source)}`)) as {
  default: Record<keyof typeof SCHEMAS, Validate>
}

const item = fc.oneof(fc.constantFrom({}, { a: 1 }, { a: 1, b: 2 }, { c: 1 }, 7, 'x', null), fc.integer(), fc.string())
const items = fc.array(fc.oneof(item, fc.array(item)), { maxLength: 2_000, size: 'max' })
const same = fc
  .tuple(item, fc.integer({ min: 0, max: 2_000 }), item)
  .map(([one, n, last]) => [...Array(n).fill(one), last])
const maps = fc.dictionary(fc.string(), item, { maxKeys: 1_600, size: 'max' })

describe('a validator that gives up', () => {
  test('judges as one that does not', () => {
    const ajv = createAjv({ strict: false })
    for (const [name, schema] of Object.entries(SCHEMAS)) {
      const whole = ajv.compile(schema)
      const validate = validators[name as keyof typeof SCHEMAS]
      fc.assert(
        fc.property(fc.oneof(items, same, maps, item), (value) => {
          assert.equal(validate(value), whole(value), name)
        }),
        { numRuns: 60 },
      )
    }
  })

  test('tells about a thousand problems of a hundred thousand', () => {
    const wrong = { list: Array(100_000).fill({}), nested: Array(100_000).fill([5]), either: Array(100_000).fill({}) }
    for (const [name, value] of Object.entries(wrong)) {
      const validate = validators[name as keyof typeof SCHEMAS]
      assert.equal(validate(value), false)
      assert.ok(
        validate.errors!.length >= 1_000 && validate.errors!.length < 2_500,
        `${name}: ${validate.errors!.length}`,
      )
    }
  })

  test('looks into nothing that is too long', () => {
    const of = (name: keyof typeof SCHEMAS, value: unknown) => {
      validators[name](value)
      return validators[name].errors!.map(({ keyword }) => keyword)
    }
    assert.deepEqual(of('short', ['x', 'x', 'x', 'x']), ['maxItems'])
    const long = Object.fromEntries(Array.from({ length: 1_501 }, (_, at) => [`k${at}`, 'x']))
    assert.deepEqual(of('map', long), ['maxProperties'])
  })
})
