// The cost limits of one firing on values, lists and tables, however large they are and whatever they share.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ItemRequest } from '../../src/engine/node-api/firing-forms.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { atRealSize } from '../helpers/scale.ts'
import { context } from './context.ts'
import { fire, outputOf } from './fire.ts'
import { soon } from './soon.ts'

const a = (length: number) => 'a'.repeat(length)

test('a formula is not evaluated more often than its length allows', { skip: atRealSize }, async () => {
  const list = Array.from({ length: 1_000_000 }, (_, at) => at)
  const rows = list.map((x) => ({ x }))
  const dict = Object.fromEntries(list.slice(0, 200_000).map((at) => [`k${at}`, at]))
  const long = Array(1600).fill('x').join('+')
  const refused = /too_large: The formula takes \d+ steps, which is too many for [\d,]+ values at once/
  await soon(() => assert.rejects(outputOf('list.Calculate', { list, formula: long }), refused))
  await soon(() => assert.rejects(outputOf('data.AddColumn', { rows, name: 'y', formula: long }), refused))
  await soon(() => assert.rejects(outputOf('data.Filter', { rows, formula: long }), refused))
  await soon(() => assert.rejects(outputOf('dict.MapValues', { dict, formula: long }), refused))
  const calls = Array(9).fill('hypot(x, i)').join('+')
  await assert.rejects(outputOf('list.Calculate', { list, formula: calls }), refused)
  const rounded = (await outputOf('list.Calculate', { list, formula: 'round(x / 3, 1)' })) as number[]
  assert.equal(rounded[500_000], 166_666.7)
})

describe('long texts', () => {
  const long = a(10_000_000)
  const refused = /too_large: The node would have to process more than [\d,]+ values/

  test('are not compared without end', { skip: atRealSize }, async () => {
    const list = Array(4096).fill(long)
    const value = `${long.slice(1)}b`
    const rows = list.map((x) => ({ x }))
    await soon(() => assert.rejects(outputOf('list.Unique', { list }), refused))
    await soon(() => assert.rejects(outputOf('list.GroupBy', { list }), refused))
    await soon(() => assert.rejects(outputOf('list.Sort', { list }), refused))
    await soon(() => assert.rejects(outputOf('list.Contains', { list, value }), refused))
    await soon(() => assert.rejects(outputOf('list.Filter', { list, value }), refused))
    await soon(() => assert.rejects(outputOf('list.Filter', { list, op: '<', value }), refused))
    await soon(() => assert.rejects(outputOf('data.Filter', { rows, where: { x: value } }), refused))
    await soon(() => assert.rejects(outputOf('data.Sort', { rows, by: ['x'] }), refused))
    await soon(() => assert.rejects(outputOf('data.Group', { rows, aggregate: { x: 'min' } }), refused))
    await soon(() => assert.rejects(outputOf('data.Describe', { rows }), refused))
    const wide = Array(50).fill(Array(500_000).fill([]))
    await soon(() => assert.rejects(outputOf('list.Unique', { list: wide }), refused))
  })

  test('of the same length are compared quickly', async () => {
    const list = Array.from({ length: 4000 }, (_, at) => a(20_000) + String(at).padStart(4, '0'))
    assert.deepEqual(await soon(() => outputOf('list.Unique', { list: [...list, ...list.slice(0, 500)] })), list)
    assert.deepEqual(await soon(() => outputOf('list.Sort', { list: list.toReversed() })), list)
  })

  test('can be sorted and compared if there are few', async () => {
    const [b, c] = [`b${long.slice(1)}`, `${long.slice(1)}c`]
    const lone = ['\ud800', '\ud801'].map((unit) => a(20_000) + unit)
    assert.deepEqual(await outputOf('list.Unique', { list: [b, long, c, long, b] }), [b, long, c])
    assert.deepEqual(await outputOf('list.Sort', { list: [b, null, c, long, b], descending: true }), [
      b,
      b,
      c,
      long,
      null,
    ])
    assert.deepEqual(await outputOf('list.Unique', { list: [...lone, [lone[0]], ...lone] }), [...lone, [lone[0]]])
    assert.deepEqual(await outputOf('list.Unique', { list: ['[1]', [1], '1', 1, [1]] }), ['[1]', [1], '1', 1])
    assert.deepEqual(await fire('list.Contains', { list: [b, c, long], value: `${a(9_999_999)}a` }), {
      output: true,
      index: 2,
    })
  })
})

describe('the text that is gathered from a stream', () => {
  const refused = /more than 100,000,000 characters together/
  const large = [{ of: [a(10_000_000)] }]

  test('is counted at any depth of an item by control.Collect', () => {
    const collect = builtinRegistry.get('control.Collect')!.open!({}, context)
    for (let count = 0; count < 9; count++) collect.push(large)
    assert.throws(() => collect.push(large), refused)
  })

  for (const [type, inputs] of [
    ['control.Batch', { size: 1000 }],
    ['control.Cross', {}],
  ] as const) {
    test(`and by ${type}`, () => {
      const operator = builtinRegistry.get(type)!.streamOperator!(inputs, context)
      assert.ok(operator.next().value instanceof ItemRequest)
      for (let count = 0; count < 9; count++) assert.ok(operator.next(large).value instanceof ItemRequest)
      assert.throws(() => operator.next(large), refused)
    })
  }

  test('may have many small items', async () => {
    const collect = builtinRegistry.get('control.Collect')!.open!({}, context)
    for (let at = 0; at < 1_000_000; at++) collect.push({ a: at, b: 'text' })
    assert.equal(((await collect.end()).list as unknown[]).length, 1_000_000)
  })
})

test('large tables are refused if their rows are keys or are aggregated', async () => {
  const rows = Array.from({ length: 1_000_000 }, (_, at) => ({ a: at % 250_000, b: at % 19, c: at, d: at % 100_000 }))
  const refused = /too_large: The node would have to process more than 3,000,000 values/
  const pivot = { rows, index: ['a'], columns: 'b', values: 'c' }
  await soon(() => assert.rejects(outputOf('data.Pivot', pivot), refused))
  await soon(() => assert.rejects(outputOf('data.Describe', { rows }), refused))
  await soon(() => assert.rejects(outputOf('data.Distinct', { rows }), refused))
  await soon(() => assert.rejects(outputOf('data.Group', { rows, by: ['a', 'b', 'c'] }), refused))
  const many = /too_large: The object would have more than 100,000 keys/
  await soon(() => assert.rejects(outputOf('list.IndexBy', { list: rows, by: 'c' }), many))
  await soon(() => assert.rejects(outputOf('list.IndexBy', { list: rows, by: 'a', value: 'b' }), many))
  const indexed = await soon(() => outputOf('list.IndexBy', { list: rows, by: 'd', value: 'b' }))
  assert.equal(Object.keys(indexed as object).length, 100_000)
})
