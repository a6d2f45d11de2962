// Whether a value is too long as JSON: the estimate agrees with the JSON text, without creating it.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { isLongerAsJson } from '../../src/engine/node-api/values/json-length.ts'
import { scaled } from '../helpers/scale.ts'
import { soon } from '../nodes/soon.ts'

const letters = fc.string({ unit: fc.constantFrom('a', 'b', ' '), maxLength: 5 })
const plain = fc.oneof(letters, fc.integer({ min: 0, max: 9 }))

describe('isLongerAsJson', () => {
  /** Each value is exactly as long as it is counted: nothing is escaped, and numbers have one digit. */
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 4 }, plain, fc.array(tie('value')), fc.dictionary(letters, tie('value'))),
  }))

  test('is true for values that are longer, and for no others', () => {
    const property = fc.property(value, (given) => {
      const { length } = JSON.stringify(given)
      assert.deepEqual([isLongerAsJson(given, length - 1), isLongerAsJson(given, length)], [true, false])
    })
    fc.assert(property, { numRuns: scaled(500) })
  })

  test('is false for values of exactly the limit', () => {
    const property = fc.property(fc.jsonValue(), (given) => {
      assert.equal(isLongerAsJson(given, JSON.stringify(given).length), false)
    })
    fc.assert(property, { numRuns: scaled(500) })
  })

  test('takes no longer for values that are shared many times, or for bytes', async () => {
    let shared: unknown = ''
    for (let depth = 0; depth < 60; depth++) shared = [shared, shared, { shared }]
    const wide = Array(100_000).fill(Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`k${at}`, ''])))
    for (const given of [shared, wide, new Uint8Array(50_000_000)])
      assert.equal(await soon(async () => isLongerAsJson(given, 1_000_000)), true)
  })
})
