// The size of a JSON text: the scan agrees with the parsed value, and is much faster than parsing.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { NodeError } from '../../../src/engine/node-api/node-error.ts'
import { guardJsonText, MOST_JSON_KEYS, MOST_JSON_VALUES } from '../../../src/nodes/shared/json-size.ts'
import { scaled } from '../../helpers/scale.ts'

const refused = (what: RegExp) => (error: unknown) =>
  error instanceof NodeError && error.type === 'too_large' && what.test(error.message)

const list = (length: number, item: string) => `[${Array(length).fill(item).join()}]`

function valuesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, one) => sum + valuesIn(one), 1)
}

/** The different keys of all objects in a value. */
function keysIn(value: unknown, found = new Set<string>()): Set<string> {
  if (typeof value !== 'object' || value === null) return found
  if (!Array.isArray(value)) for (const key of Object.keys(value)) found.add(JSON.stringify(key))
  for (const one of Object.values(value)) keysIn(one, found)
  return found
}

/** Members with different keys, which also differ from those of arbitrary values. */
function keys(count: number): string {
  return Array.from({ length: count }, (_, at) => `"key number ${at}":1`).join()
}

describe('a JSON text', () => {
  test('passes at the limit, and fails with one value more', () => {
    guardJsonText(list(MOST_JSON_VALUES - 1, '1'))
    guardJsonText(list(MOST_JSON_VALUES - 1, '[ ]'))
    assert.throws(() => guardJsonText(list(MOST_JSON_VALUES, '1')), refused(/1,000,000 values/))
    assert.throws(() => guardJsonText(list(MOST_JSON_VALUES, '{}')), refused(/1,000,000 values/))
    guardJsonText(list(MOST_JSON_VALUES / 2 - 1, '{"a":1}'))
    guardJsonText(`{${keys(MOST_JSON_KEYS)}}`)
    assert.throws(() => guardJsonText(`{${keys(MOST_JSON_KEYS + 1)}}`), refused(/100,000 different keys/))
    guardJsonText(`"${'x'.repeat(9_999_998)}"`)
    assert.throws(() => guardJsonText(`"${'x'.repeat(9_999_999)}"`), refused(/10,000,000 characters/))
  })

  test('is not counted inside strings', () => {
    const inside = ',:[{'.repeat(300_000)
    guardJsonText(`["${inside}", "\\"${inside}\\\\", "\\\\\\"${inside}"]`)
    assert.throws(() => guardJsonText(`["\\\\", ${list(MOST_JSON_VALUES, '1')}]`), refused(/values/))
  })

  test('has as many counted values and keys as parsed ones', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(0, 2), (given, indent) => {
        const text = JSON.stringify(given, null, indent)
        const value: unknown = JSON.parse(text)
        // Filled up to the limit, so that one more value is too many exactly if all others were counted correctly.
        const values = MOST_JSON_VALUES - valuesIn(value) - 1
        guardJsonText(`[${text},${'1,'.repeat(values - 1)}1]`)
        assert.throws(() => guardJsonText(`[${text},${'1,'.repeat(values)}1]`), refused(/values/))
        const left = MOST_JSON_KEYS - keysIn(value).size
        guardJsonText(`[${text},{${keys(left)}}]`)
        assert.throws(() => guardJsonText(`[${text},{${keys(left + 1)}}]`), refused(/keys/))
      }),
      { numRuns: scaled(10) },
    )
  })

  test('that is invalid is left to the parser', () => {
    for (const text of ['', '"', '"\\', '[', '}', '[}', ',', 'nothing', '\\"']) guardJsonText(text)
  })
})
