// Whether large values are of their type: looked at as small ones are.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { t } from '../../src/engine/types.ts'
import { conforms } from '../../src/engine/values.ts'

const many = (item: unknown, last: unknown) => [...Array(100).fill(item), last]

test('of many items the inner ones count as those of few do', () => {
  for (const [type, good, bad] of [
    ['list[list[float]]', [1.5], [1, 'a']],
    ['list[dict[str,int]]', { a: 1 }, { a: 1.5 }],
    ['list[list[dict[str,list[bool]]]]', [{ a: [true] }], [{ a: [1] }]],
    ['list[list[any]]', [{}], {}],
    ['list[dict[str,any]]', {}, []],
    ['list[list[str]?]', null, 1],
  ] as const) {
    for (const last of [good, bad])
      for (const value of [[last], many(good, last)]) assert.equal(conforms(value, t(type)), last === good, type)
  }
})
