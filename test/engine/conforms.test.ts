// Large values are checked against their type like small ones.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { conforms } from '../../src/engine/node-api/values/type-conformance.ts'
import {
  checkConformanceSteps,
  needsConformanceSteps,
} from '../../src/engine/node-api/values/type-conformance-steps.ts'
import { parseType, readTypeMetadata } from '../../src/engine/node-api/values/type-metadata.ts'
import { takesLess } from '../helpers/patience.ts'

const many = (item: unknown, last: unknown) => [...Array(100).fill(item), last]

test('items of many lists are checked like items of few', () => {
  for (const [type, good, bad] of [
    ['list[list[float]]', [1.5], [1, 'a']],
    ['list[dict[str,int]]', { a: 1 }, { a: 1.5 }],
    ['list[list[dict[str,list[bool]]]]', [{ a: [true] }], [{ a: [1] }]],
    ['list[list[any]]', [{}], {}],
    ['list[dict[str,any]]', {}, []],
    ['list[list[str]?]', null, 1],
  ] as const) {
    for (const last of [good, bad])
      for (const value of [[last], many(good, last)])
        assert.equal(conforms(value, parseType(type)), last === good, type)
  }
})

const choice = (values: unknown[], optional = false) => ({ type: 'enum', values, optional })

test('many items are checked against many choices by lookup', async () => {
  const values = (from: string) => Array.from({ length: 256 }, (_, at) => from + at)
  const choices = Array.from('abcdefghijklm', (from) => choice(values(from)))
  const type = readTypeMetadata({ type: 'list', type_args: [{ type: 'union', type_args: choices }] })
  const list = Array(300_000).fill('m255')
  await takesLess(100, async () => assert.ok(conforms(list, type)))
  assert.equal(conforms([...list, 'm256'], type), false)
})

test('a list of few lists of many items takes no longer than its items, whatever choices their type lists', async () => {
  const values = (from: string) => Array.from({ length: 255 }, (_, at) => `${from}${at}`.padEnd(2_000, 'z'))
  const choices = Array.from('abcdefghijklm', (from) => choice([...values(from), from]))
  const list = (inner: unknown) => ({ type: 'list', type_args: [inner] })
  const type = readTypeMetadata(list(list({ type: 'union', type_args: choices })))
  const lists = Array.from({ length: 60 }, () => Array(64).fill('m'))
  await takesLess(100, () => assert.ok(conforms(lists, type)))
  assert.equal(conforms([...lists, Array(64).fill('n')], type), false)
})

test('many items are checked against each choice of a union', () => {
  const members = [choice(['a', 1], true), choice(['b']), { type: 'float' }, { type: 'list' }]
  const type = readTypeMetadata({ type: 'list', type_args: [{ type: 'union', type_args: members }] })
  for (const good of ['a', 'b', 1, 1.5, null, []]) assert.ok(conforms(many('a', good), type), String(good))
  for (const bad of ['c', true, {}]) assert.equal(conforms(many('a', bad), type), false, String(bad))
})

test('an enum with a very long value lists no values', () => {
  const lists = (value: string) => readTypeMetadata(choice(['a', value])).values.length
  assert.deepEqual([lists('b'.repeat(2_000)), lists('b'.repeat(2_001))], [2, 0])
})

test('many items are checked against each fitting member of a union once', async () => {
  const media = ['image', 'audio', 'video', 'document']
  const type = readTypeMetadata({
    type: 'list',
    type_args: [{ type: 'union', type_args: [...media, ...media, ...media, 'dict'].map((name) => ({ type: name })) }],
  })
  const list = Array.from({ length: 1_000_000 }, () => ({}))
  await takesLess(60, async () => assert.ok(conforms(list, type)))
  for (const good of [{ type: 'audio' }, { a: 1 }]) assert.ok(conforms(many({}, good), type), String(good))
  for (const bad of [[], 'a', 1, null]) assert.equal(conforms(many({}, bad), type), false, String(bad))
  const nullable = readTypeMetadata({
    type: 'list',
    type_args: [{ type: 'union', type_args: [{ type: 'list', optional: true }, { type: 'str' }] }],
  })
  for (const good of [[], 'a', null]) assert.ok(conforms(many('a', good), nullable), String(good))
  assert.equal(conforms(many('a', {}), nullable), false)
})

test('large values are checked in steps, and the result is cached', () => {
  const type = parseType('list[union[list[str],dict[str,list[float]]]]')
  for (const last of [['a'], [1], { a: [1] }, { a: ['a'] }]) {
    const value = [{ a: Array(20_000).fill(1.5) }, ...Array.from({ length: 20_000 }, () => ['a']), last]
    const fits = conforms(value, type)
    assert.ok(needsConformanceSteps(value, type))
    assert.ok([...checkConformanceSteps(value, type)].length > 10)
    assert.equal(conforms(value, type), fits)
    assert.equal(needsConformanceSteps(value, type), false)
    // A second check uses the cached result.
    value[1] = [1]
    assert.equal(conforms(value, type), fits)
  }
  assert.equal(needsConformanceSteps([{ a: [1] }], type), false)
  assert.equal(needsConformanceSteps(Array(20_000).fill(1), parseType('list[any]')), false)
})
