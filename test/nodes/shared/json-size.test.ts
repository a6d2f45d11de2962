// How much a JSON text holds: the scan agrees with what reading it gives, and ends long before reading would.
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

/** So many members whose keys differ from each other, and from those of arbitrary values. */
function keys(count: number): string {
  return Array.from({ length: count }, (_, at) => `"key number ${at}":1`).join()
}

describe('a JSON text', () => {
  test('with as much as is allowed passes, with one more it does not', () => {
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

  test('counts for nothing within quotation marks', () => {
    const inside = ',:[{'.repeat(300_000)
    guardJsonText(`["${inside}", "\\"${inside}\\\\", "\\\\\\"${inside}"]`)
    assert.throws(() => guardJsonText(`["\\\\", ${list(MOST_JSON_VALUES, '1')}]`), refused(/values/))
  })

  test('counts as many values and keys as reading it gives', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(0, 2), (given, indent) => {
        const text = JSON.stringify(given, null, indent)
        const value: unknown = JSON.parse(text)
        // Filled up to the most that is allowed: so one more is too many exactly if all before were counted right.
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

  test('that is none is left to its reader', () => {
    for (const text of ['', '"', '"\\', '[', '}', '[}', ',', 'nothing', '\\"']) guardJsonText(text)
  })
})
