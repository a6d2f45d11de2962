// Whether large values are of their type: looked at as small ones are.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readType, t } from '../../src/engine/types.ts'
import { conforms } from '../../src/engine/values.ts'
import { takesLess } from '../helpers/patience.ts'

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

const choice = (values: unknown[], optional = false) => ({ type: 'enum', values, optional })

test('of many items a choice among many values is looked up', async () => {
  const values = (from: string) => Array.from({ length: 256 }, (_, at) => from + at)
  const choices = Array.from('abcdefghijklm', (from) => choice(values(from)))
  const type = readType({ type: 'list', type_args: [{ type: 'union', type_args: choices }] })
  const list = Array(300_000).fill('m255')
  await takesLess(100, async () => assert.ok(conforms(list, type)))
  assert.equal(conforms([...list, 'm256'], type), false)
})

test('of many items each choice of a union counts', () => {
  const members = [choice(['a', 1], true), choice(['b']), { type: 'float' }, { type: 'list' }]
  const type = readType({ type: 'list', type_args: [{ type: 'union', type_args: members }] })
  for (const good of ['a', 'b', 1, 1.5, null, []]) assert.ok(conforms(many('a', good), type), String(good))
  for (const bad of ['c', true, {}]) assert.equal(conforms(many('a', bad), type), false, String(bad))
})

test('a choice that has a very long value among its own lists none', () => {
  const lists = (value: string) => readType(choice(['a', value])).values.length
  assert.deepEqual([lists('b'.repeat(2_000)), lists('b'.repeat(2_001))], [2, 0])
})
