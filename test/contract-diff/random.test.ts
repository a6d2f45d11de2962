// The diff before schemas that nobody would write: it ends, finds nothing between equals, and something wherever a value is accepted by one alone.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { DifferenceCollector, worstVerdict } from '../../src/contract/diff/differences.ts'
import type { MessageDirection } from '../../src/contract/diff/position.ts'
import { diffSchema } from '../../src/contract/diff/schemas.ts'
import type { Json, JsonMap } from '../../src/contract/json.ts'

const NAMES = ['A', 'B', 'C'] as const
const TYPES = ['string', 'integer', 'number', 'boolean', 'null', 'array', 'object'] as const

const { schema } = fc.letrec<{ schema: JsonMap }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(...NAMES).map((name) => ({ $ref: `#/components/schemas/${name}` })),
    fc.uniqueArray(fc.constantFrom(...TYPES), { minLength: 1, maxLength: 3 }).map((type) => ({ type })),
    fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 1, null), { minLength: 1 }).map((values) => ({ enum: values })),
    fc.record({ type: fc.constant('integer'), minimum: fc.nat(5), maximum: fc.integer({ min: 5, max: 9 }) }),
    fc.record({ oneOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
    fc.record({ allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
    fc.record({ type: fc.constant('array'), items: tie('schema') }),
    fc.record({
      type: fc.constant('object'),
      properties: fc.dictionary(fc.constantFrom('x', 'y', 'z'), tie('schema')),
      required: fc.subarray(['x', 'y', 'z']),
      additionalProperties: fc.oneof(fc.boolean(), tie('schema')),
    }),
  ) as fc.Arbitrary<JsonMap>,
}))

/** Three schemas that may refer to each other and to themselves. */
const document = fc
  .tuple(schema, schema, schema)
  .map((all): JsonMap => ({ components: { schemas: Object.fromEntries(NAMES.map((name, at) => [name, all[at]!])) } }))

function compared(old: JsonMap, next: JsonMap, direction: MessageDirection, a: Json, b: Json = a) {
  const findings = new DifferenceCollector()
  diffSchema({ documents: { old, new: next }, findings, direction, live: true, at: 'here' }, a, b)
  return findings.sorted
}

describe('any schema', () => {
  test('is no different from itself, however it refers to itself', () => {
    fc.assert(
      fc.property(document, schema, fc.constantFrom<MessageDirection>('request', 'response'), (all, one, direction) => {
        assert.deepEqual(compared(all, structuredClone(all), direction, one), [])
      }),
      { numRuns: 300 },
    )
  })

  test('is compared with any other to an end', () => {
    fc.assert(
      fc.property(document, document, schema, schema, (old, next, a, b) => {
        for (const direction of ['request', 'response'] as const) compared(old, next, direction, a, b)
      }),
      { numRuns: 300 },
    )
  })

  test('that takes null besides is additive in requests and breaking in answers', () => {
    const plain = fc.constantFrom<JsonMap>({ type: 'string' }, { type: 'object' }, { $ref: '#/components/schemas/A' })
    const none = { components: { schemas: { A: { type: 'object', properties: { x: { type: 'string' } } } } } }
    fc.assert(
      fc.property(plain, (one) => {
        const nullable = { oneOf: [one, { type: 'null' }] }
        assert.equal(worstVerdict(compared(none, none, 'request', one, nullable)), 'additive')
        assert.equal(worstVerdict(compared(none, none, 'response', one, nullable)), 'breaking')
        assert.equal(worstVerdict(compared(none, none, 'request', nullable, one)), 'breaking')
        assert.equal(worstVerdict(compared(none, none, 'response', nullable, one)), 'additive')
      }),
    )
  })
})
