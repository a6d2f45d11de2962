// Values that are split and reassembled are the same values.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  FRAGMENT_SIZE,
  splitValue,
  ValueAssembler,
  type ValueFragment,
} from '../../../../src/engine/node-api/values/fragments.ts'
import { estimateSize, measureValue } from '../../../../src/engine/node-api/values/measure.ts'
import { scaled } from '../../../helpers/scale.ts'

/** The value on the other side, with each piece cloned by itself. */
function crossed(value: unknown): { value: unknown; pieces: ValueFragment[] } {
  const pieces = [...splitValue(value)]
  const assembly = new ValueAssembler()
  for (const ops of pieces) assembly.add(structuredClone(ops))
  return { value: assembly.value, pieces }
}

const key = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', '1', ''))
const leaf = fc.oneof(
  fc.constantFrom(null, undefined, true, Number.NaN, -0, '\ud800'),
  fc.double(),
  fc.string(),
  fc.uint8Array(),
  fc.nat({ max: 3 * FRAGMENT_SIZE }).map((length) => 'x'.repeat(length)),
)
const { value: anything } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaf,
    fc.array(tie('value'), { maxLength: 6 }),
    fc.array(fc.tuple(key, tie('value')), { maxLength: 6 }).map((entries) => Object.fromEntries(entries)),
    // Long lists and objects.
    fc
      .tuple(tie('value'), fc.nat({ max: 9_000 }))
      .map(([one, count]) => Array.from({ length: count % 7_000 }, () => one)),
    fc.nat({ max: 5_000 }).map((count) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at]))),
  ),
}))

describe('fragments of a value', () => {
  test('restore the same value with the same measure', () => {
    fc.assert(
      fc.property(anything, (value) => {
        if (estimateSize(value) > 20_000_000) return
        const made = crossed(value).value
        assert.deepStrictEqual(made, value)
        assert.deepEqual(measureValue(made), measureValue(structuredClone(value)))
      }),
      { numRuns: scaled(60) },
    )
  })

  test('are small, however large the value is', () => {
    const rows = Array.from({ length: 50_000 }, (_, at) => ({ at, name: `row ${at}`, list: [at, [at]] }))
    const dict = Object.fromEntries(rows.map((row) => [row.name, row]))
    const value = { rows, dict, many: [rows, dict] }
    const { value: made, pieces } = crossed(value)
    assert.deepStrictEqual(made, value)
    assert.ok(pieces.length > 50)
    for (const ops of pieces)
      assert.ok(ops.reduce((sum, [, inside]) => sum + estimateSize(inside), 0) < 2 * FRAGMENT_SIZE)
  })

  test('keep shared parts shared, so that they stay small', () => {
    const items = Array.from({ length: 10_000 }, (_, at) => at)
    let doubled: unknown[] = items
    for (let level = 0; level < 8; level++) doubled = [doubled, doubled]
    const { value, pieces } = crossed({ doubled, items })
    const made = value as { doubled: unknown[]; items: unknown[] }
    assert.equal(made.doubled[0], made.doubled[1])
    assert.deepStrictEqual(made.items, items)
    assert.ok(pieces.length < 10)
  })

  test('contain a limited number of empty texts each', () => {
    for (const value of [Array(200_000).fill(''), [Array(200_000).fill('')]]) {
      const { value: made, pieces } = crossed(value)
      assert.deepEqual(made, value)
      const longest = Math.max(...pieces.flatMap((ops) => ops.map(([, of]) => (Array.isArray(of) ? of.length : 0))))
      assert.ok(longest <= FRAGMENT_SIZE, String(longest))
    }
  })
})
