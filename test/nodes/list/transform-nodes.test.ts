// list.*: pairs of lists, windows, and calculations with items.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fire, outputOf } from '../fire.ts'

test('list.Zip', async () => {
  const of = (data: object) => outputOf('list.Zip', { a: [1, 2, 3], b: ['x', null], ...data })
  const pairs = [
    [1, 'x'],
    [2, null],
  ]
  assert.deepEqual(await of({}), pairs)
  assert.deepEqual(await of({ longest: true, fill: 0 }), [...pairs, [3, 0]])
  assert.deepEqual(await of({ b: [] }), [])
  await assert.rejects(of({ a: null }), /missing_property/)
})

test('list.Window', async () => {
  const of = (data: object) => outputOf('list.Window', { list: [1, 2, 3, 4, 5], ...data })
  assert.deepEqual(await of({ size: 3 }), [
    [1, 2, 3],
    [2, 3, 4],
    [3, 4, 5],
  ])
  assert.deepEqual(await of({ step: 2 }), [
    [1, 2],
    [3, 4],
  ])
  assert.deepEqual(await of({ list: [] }), [])
  assert.deepEqual(await of({ size: 6 }), [])
  await assert.rejects(of({ size: 0 }), /must be at least 1/)
  await assert.rejects(of({ list: Array(10_000).fill(1), size: 5000 }), /too_large/)
})

test('list.Compare', async () => {
  const of = (a: unknown[], b: unknown[], by = '') => fire('list.Compare', { a, b, by })
  assert.deepEqual(await of([1, 2, 2, 3], [2, 4, 4]), { both: [2], only_a: [1, 3], only_b: [4] })
  assert.deepEqual(await of([1, '1', [1], '[1]'], ['1', [1]]), { both: ['1', [1]], only_a: [1, '[1]'], only_b: [] })
  const ids = [{ id: 1, x: 'a' }, { id: 2 }]
  assert.deepEqual(await of(ids, [{ id: 1, x: 'b' }], 'id'), { both: [ids[0]], only_a: [ids[1]], only_b: [] })
  assert.deepEqual(await of([], []), { both: [], only_a: [], only_b: [] })
  await assert.rejects(of(['x'.repeat(20_000)], []), /too_large: A key has more than 10,000 characters/)
  await assert.rejects(fire('list.Compare', { a: [] }), /missing_property/)
})

test('list.IndexBy', async () => {
  const list = [
    { id: 1, user: { name: 'Ann' } },
    { id: 'b', user: { name: 'Bo' } },
    { id: 1, user: { name: 'Cy' } },
  ]
  const of = (data: object) => outputOf('list.IndexBy', { list, by: 'id', ...data })
  assert.deepEqual(await of({ value: 'user.name' }), { 1: 'Cy', b: 'Bo' })
  assert.deepEqual(await of({ duplicates: 'first' }), { 1: list[0], b: list[1] })
  assert.deepEqual(await of({ list: [] }), {})
  assert.deepEqual(Object.keys((await of({ list: [{ id: '__proto__' }] })) as object), ['__proto__'])
  await assert.rejects(of({ duplicates: 'fail' }), /duplicate_key: Two items have the key "1"/)
  await assert.rejects(of({ by: 'user' }), /bad_input: Item 0 has dict at "user"\. A key must be/)
  await assert.rejects(of({ by: 'nothing' }), /Item 0 has null/)
})

test('list.Calculate', async () => {
  const of = (list: unknown, formula: string) => outputOf('list.Calculate', { list, formula })
  assert.deepEqual(await of([1, 2, 3], 'x * 2 + i'), [2, 5, 8])
  assert.deepEqual(await of([], 'x'), [])
  await assert.rejects(of([1], 'y'), /unknown_name/)
  await assert.rejects(of([1, 0], '1 / x'), /not_finite: The result of the formula for number 1 is Infinity/)
  await assert.rejects(of(['a'], 'x'), /type_mismatch/)
})

test('list.Accumulate', async () => {
  const of = (list: unknown, how = 'sum') => outputOf('list.Accumulate', { list, how })
  assert.deepEqual(await of([1, 2, 3]), [1, 3, 6])
  assert.deepEqual(await of([2, -3, 4], 'product'), [2, -6, -24])
  assert.deepEqual(await of([2, 1, 3], 'min'), [2, 1, 1])
  assert.deepEqual(await of([2, 1, 3], 'max'), [2, 2, 3])
  assert.deepEqual(await of([]), [])
  await assert.rejects(of([1e308, 1e308]), /not_finite: The running sum is Infinity/)
})
