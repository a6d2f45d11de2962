// Metadata filters: their results agree with a plain comparison of each value, and no filter makes them slow.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { areEqual } from '../../src/nodes/shared/value-operations.ts'
import { compileMetadataFilter } from '../../src/vectors/metadata-filter.ts'
import { scaled } from '../helpers/scale.ts'
import { soon } from '../nodes/soon.ts'

const numbers = (length: number, from = 0) => Array.from({ length }, (_, at) => from + at)

describe('a filter', () => {
  test('matches metadata that equal one of its values', () => {
    const plain = fc.constantFrom<unknown>(null, true, 'true', 0, -0, 1, '1', '', 'null', '[1]', '"1', 1.5)
    const value = fc.oneof(plain, fc.array(plain, { maxLength: 3 }), fc.record({ a: plain, b: fc.array(plain) }))
    const any = fc.oneof(value, fc.array(value, { maxLength: 3 }))
    const of = fc.dictionary(fc.constantFrom('a', 'b', 'constructor'), any)
    const property = fc.property(of, of, (metadata, filter) => {
      const all = (one: unknown) => (Array.isArray(one) ? [one, ...one] : [one])
      const meant = Object.entries(filter).every(
        ([key, wanted]) =>
          Object.hasOwn(metadata, key) &&
          all(metadata[key]).some((one) => all(wanted).some((wish) => areEqual(one, wish))),
      )
      assert.equal(compileMetadataFilter(filter)(JSON.stringify(metadata)), meant)
    })
    fc.assert(property, { numRuns: scaled(1000) })
  })

  test('is fast for many values, whatever they are', async () => {
    const entries = Array(200).fill(JSON.stringify({ tags: numbers(3000) }))
    const met = async (tags: unknown) => entries.filter(compileMetadataFilter({ tags })).length
    assert.equal(await soon(() => met(numbers(9_999, 3000))), 0)
    assert.equal(await soon(() => met(numbers(9_999, 2999))), 200)
  })

  test('has a limited size', () => {
    assert.throws(
      () => compileMetadataFilter({ tags: numbers(10_000) }),
      /^NodeError: The filter has more than 10,000 keys and values\.$/,
    )
    assert.throws(
      () => compileMetadataFilter(Object.fromEntries(numbers(5001).map((one) => [one, one]))),
      /more than 10,000 keys/,
    )
    assert.throws(() => compileMetadataFilter({ a: 'x'.repeat(1_000_001) }), /more than 1,000,000 characters\.$/)
    const shared = Array(1000).fill(Array(1000).fill(Array(30).fill('x')))
    assert.throws(() => compileMetadataFilter({ a: shared }), /more than 1,000,000 characters/)
  })
})
