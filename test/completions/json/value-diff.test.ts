// Changes of values as edits of their text.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { applyEdits, findItems } from '../../../src/completions/json/text-ranges.ts'
import { AS_JSON_TEXT, diffAsEdits } from '../../../src/completions/json/value-diff.ts'

/** Applies the edits from `given` to `wanted` to the text of `given`. */
function changed(text: string, wanted: (given: unknown) => unknown): string {
  const bytes = Buffer.from(text)
  const given: unknown = JSON.parse(text)
  return applyEdits(bytes, diffAsEdits(bytes.toString('latin1'), given, wanted(given))).toString()
}

/** A copy with some changed values and some new members. */
function otherwise(value: unknown, at: number): unknown {
  if (Array.isArray(value) && value.length > 0)
    return value.map((one, index) => (index === at % value.length ? otherwise(one, at + 1) : one))
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return `other ${at}`
  const entries = Object.entries(value).filter(([key]) => key !== '__proto__' && /^[ -~]*$/.test(key))
  const [key, one] = entries[at % Math.max(1, entries.length)] ?? []
  return { ...value, ...(key === undefined ? {} : { [key]: otherwise(one, at + 1) }), 'added here': at }
}

describe('the changes of a value', () => {
  test('turn its text into the text of the other value, in any notation', () => {
    const space = fc.constantFrom(undefined, 1, '\t', '\r\n ')
    fc.assert(
      fc.property(fc.jsonValue(), space, fc.nat(5), (value, indent, at) => {
        const text = JSON.stringify(value, null, indent)
        const wanted = otherwise(JSON.parse(text), at)
        assert.deepEqual(JSON.parse(changed(text, (given) => otherwise(given, at))), JSON.parse(JSON.stringify(wanted)))
      }),
    )
  })

  test('are empty for an equal value', () => {
    assert.equal(
      changed('{"a":[1, {"b":2}]}', (given) => given),
      '{"a":[1, {"b":2}]}',
    )
  })

  test('keep every byte of unchanged parts', () => {
    const text = '{ "é": 1.0, "list" : [ {}, 1e400 ,{"a":-0, "b":"x"} ], "n":1152921504606846976 }'
    const wanted = (given: unknown) => {
      const { list, ...rest } = given as { list: unknown[] }
      return { ...rest, list: [{ c: 'ü' }, list[1], { ...(list[2] as object), b: null, d: 2, e: [] }] }
    }
    const expected =
      '{ "é": 1.0, "list" : [ {"c":"ü"}, 1e400 ,{"a":-0, "b":null,"d":2,"e":[]} ], "n":1152921504606846976 }'
    assert.equal(changed(text, wanted), expected)
  })

  test('can encode a value as text without losing a digit', () => {
    const text = '{"arguments": { "id": 1152921504606846976, "é":"\\n" } }'
    const made = changed(text, () => ({ arguments: AS_JSON_TEXT }))
    assert.equal(JSON.parse(made).arguments, '{ "id": 1152921504606846976, "é":"\\n" }')
  })

  test('apply to the last of duplicate members', () => {
    assert.equal(
      changed('{"a":1,"a":2}', () => ({ a: 3 })),
      '{"a":1,"a":3}',
    )
  })
})

test('the items of a list are those that JSON.parse finds, and a list that is cut off has none', () => {
  const text = ' [1, {"b": "}\\""} ,"c]", [ ], null ]'
  const items = findItems(text)
  assert.deepEqual(
    items?.map(({ start, end }) => JSON.parse(text.slice(start, end))),
    JSON.parse(text),
  )
  assert.deepEqual(findItems('[]'), [])
  for (let length = 0; length < text.length; length++) assert.equal(findItems(text.slice(0, length)), null)
  for (const other of ['{}', '1', '[1 2]', '[,1]', '[1,]']) assert.equal(findItems(other), null, other)
})
