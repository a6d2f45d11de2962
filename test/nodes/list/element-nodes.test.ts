// list.*
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fire, outputOf } from '../fire.ts'

const people = [
  { name: 'Ann', age: 30, city: { name: 'Bonn' } },
  { name: 'Bo', age: 25, city: { name: 'Köln' } },
  { name: 'Cy', age: 30, city: { name: 'Bonn' } },
]

/** Every list node refuses values that are not lists. (A single value would become a list if the type of the items were narrower.) */
const refuses = (type: string, data = {}) => assert.rejects(outputOf(type, { list: null, ...data }), /missing_property/)

describe('list', () => {
  test('Length', async () => {
    assert.equal(await outputOf('list.Length', { list: [1, 2] }), 2)
    assert.equal(await outputOf('list.Length', { list: [] }), 0)
    await refuses('list.Length')
  })

  test('Get', async () => {
    assert.equal(await outputOf('list.Get', { list: ['a', 'b'], index: -1 }), 'b')
    assert.equal(await outputOf('list.Get', { list: [], index: 0, default: 'none' }), 'none')
    await assert.rejects(
      outputOf('list.Get', { list: ['a'], index: 3 }),
      /out_of_range: A list of 1 items has no item 3/,
    )
  })

  test('Get may give null', async () => {
    assert.equal(await outputOf('list.Get', { list: [], or_null: true }), null)
    assert.equal(await outputOf('list.Get', { list: [], or_null: true, default: 1 }), 1)
    assert.equal(await outputOf('list.Get', { list: [7], or_null: true, default: 1 }), 7)
  })

  test('Slice', async () => {
    assert.deepEqual(await outputOf('list.Slice', { list: [1, 2, 3, 4], start: 1, end: -1 }), [2, 3])
    assert.deepEqual(await outputOf('list.Slice', { list: [], start: 5 }), [])
    assert.deepEqual(await outputOf('list.Slice', { list: [1, 2], start: 1, end: null }), [2])
    await assert.rejects(outputOf('list.Slice', { list: [1], start: 'x' }), /type_mismatch/)
  })

  test('Sort', async () => {
    assert.deepEqual(await outputOf('list.Sort', { list: [10, 9, 1] }), [1, 9, 10])
    assert.deepEqual(await outputOf('list.Sort', { list: ['b', 'a'], descending: true }), ['b', 'a'])
    const sorted = (await outputOf('list.Sort', { list: people, by: 'age' })) as typeof people
    assert.deepEqual(
      sorted.map((one) => one.name),
      ['Bo', 'Ann', 'Cy'],
    )
    assert.deepEqual(await outputOf('list.Sort', { list: [] }), [])
    for (const descending of [false, true])
      assert.deepEqual(await outputOf('list.Sort', { list: [null, 3, null, 3], descending }), [3, 3, null, null])
    const gaps = [{ n: 0 }, { v: 2 }, { v: null, n: 1 }, { v: 1 }]
    assert.deepEqual(await outputOf('list.Sort', { list: gaps, by: 'v' }), [gaps[3], gaps[1], gaps[0], gaps[2]])
    const mixed = outputOf('list.Sort', { list: [null, 1, 'a'] })
    await assert.rejects(mixed, /no_order: The list can't be ordered: item 2 is str, and item 1 int\./)
    await assert.rejects(outputOf('list.Sort', { list: [[1]] }), /no_order: .* item 0 is list\. All items must/)
  })

  test('Unique', async () => {
    assert.deepEqual(await outputOf('list.Unique', { list: [1, '1', 1, { a: 1, b: 2 }, { b: 2, a: 1 }] }), [
      1,
      '1',
      { a: 1, b: 2 },
    ])
    assert.equal(((await outputOf('list.Unique', { list: people, by: 'city.name' })) as unknown[]).length, 2)
    assert.deepEqual(await outputOf('list.Unique', { list: [] }), [])
    await refuses('list.Unique')
  })

  test('Range', async () => {
    assert.deepEqual(await outputOf('list.Range', { stop: 3 }), [0, 1, 2])
    assert.deepEqual(await outputOf('list.Range', { start: 3, stop: 0, step: -2 }), [3, 1])
    assert.deepEqual(await outputOf('list.Range', { start: 0, stop: 0.3, step: 0.1 }), [0, 0.1, 0.2])
    assert.deepEqual(await outputOf('list.Range', { stop: -1 }), [])
    await assert.rejects(outputOf('list.Range', { stop: 1, step: 0 }), /would never end/)
    await assert.rejects(outputOf('list.Range', { stop: 1e12 }), /too_large/)
  })

  test('Reverse', async () => {
    const list = [1, 2, 3]
    assert.deepEqual(await outputOf('list.Reverse', { list }), [3, 2, 1])
    assert.deepEqual(list, [1, 2, 3])
    assert.deepEqual(await outputOf('list.Reverse', { list: [] }), [])
    await refuses('list.Reverse')
  })

  test('Flatten', async () => {
    assert.deepEqual(await outputOf('list.Flatten', { list: [1, [2, [3]]] }), [1, 2, [3]])
    assert.deepEqual(await outputOf('list.Flatten', { list: [1, [2, [3]]], depth: 5 }), [1, 2, 3])
    assert.deepEqual(await outputOf('list.Flatten', { list: [[], []] }), [])
    await assert.rejects(outputOf('list.Flatten', { list: [], depth: 0 }), /must be at least 1/)
  })

  test('Concat', async () => {
    assert.deepEqual(await outputOf('list.Concat', { a: [1], b: [2, 3] }), [1, 2, 3])
    assert.deepEqual(await outputOf('list.Concat'), [])
    assert.deepEqual(await outputOf('list.Concat', { a: 'one' }), ['one'])
  })

  test('Append', async () => {
    assert.deepEqual(await outputOf('list.Append', { list: [1], value: [2] }), [1, [2]])
    assert.deepEqual(await outputOf('list.Append', { value: 1 }), [1])
    assert.deepEqual(await outputOf('list.Append', { list: [] }), [null])
    await assert.rejects(outputOf('list.Append', { list: Array(1_000_000).fill(0), value: 1 }), /too_large/)
  })

  test('Insert', async () => {
    const of = (index: number) => outputOf('list.Insert', { list: ['a', 'b'], index, value: ['x'] })
    assert.deepEqual(await of(0), [['x'], 'a', 'b'])
    assert.deepEqual(await of(2), ['a', 'b', ['x']])
    assert.deepEqual(await of(-1), ['a', ['x'], 'b'])
    assert.deepEqual(await outputOf('list.Insert', { list: [], value: 1 }), [1])
    for (const index of [3, -3]) await assert.rejects(of(index), /out_of_range: A list of 2 items has no position -?3/)
    await assert.rejects(outputOf('list.Insert', { list: Array(1_000_000).fill(0), value: 1 }), /too_large/)
  })

  test('Chunk', async () => {
    assert.deepEqual(await outputOf('list.Chunk', { list: [1, 2, 3], size: 2 }), [[1, 2], [3]])
    assert.deepEqual(await outputOf('list.Chunk', { list: [] }), [])
    await assert.rejects(outputOf('list.Chunk', { list: [1], size: 0 }), /must be at least 1/)
  })

  test('Contains', async () => {
    assert.deepEqual(await fire('list.Contains', { list: [1, { a: [2] }], value: { a: [2] } }), {
      output: true,
      index: 1,
    })
    assert.deepEqual(await fire('list.Contains', { list: [], value: 1 }), { output: false, index: -1 })
    await refuses('list.Contains')
  })

  test('Pluck', async () => {
    assert.deepEqual(await outputOf('list.Pluck', { list: people, path: 'city.name' }), ['Bonn', 'Köln', 'Bonn'])
    assert.deepEqual(await outputOf('list.Pluck', { list: [{}, 5], path: 'x', default: 0 }), [0, 0])
    assert.deepEqual(await outputOf('list.Pluck', { list: [], path: 'x' }), [])
    await assert.rejects(outputOf('list.Pluck', { list: [] }), /missing_property/)
  })

  test('GroupBy', async () => {
    const groups = (await outputOf('list.GroupBy', { list: people, by: 'city.name' })) as {
      key: unknown
      count: number
    }[]
    assert.deepEqual(
      groups.map(({ key, count }) => [key, count]),
      [
        ['Bonn', 2],
        ['Köln', 1],
      ],
    )
    assert.deepEqual(await outputOf('list.GroupBy', { list: ['a', 'b', 'a'] }), [
      { key: 'a', count: 2, items: ['a', 'a'] },
      { key: 'b', count: 1, items: ['b'] },
    ])
    assert.deepEqual(await outputOf('list.GroupBy', { list: [] }), [])
    await refuses('list.GroupBy')
  })

  test('Filter', async () => {
    const filtered = (await outputOf('list.Filter', { list: people, by: 'age', op: '>=', value: 30 })) as typeof people
    assert.deepEqual(
      filtered.map((one) => one.name),
      ['Ann', 'Cy'],
    )
    assert.deepEqual(await outputOf('list.Filter', { list: [1, null, 2], op: '!=' }), [1, 2])
    assert.deepEqual(await outputOf('list.Filter', { list: [] }), [])
    const gaps = [{ v: 1 }, {}, { v: null }, { v: 5 }]
    assert.deepEqual(await outputOf('list.Filter', { list: gaps, by: 'v', op: '<', value: 3 }), [{ v: 1 }])
    assert.deepEqual(await outputOf('list.Filter', { list: gaps, by: 'v', op: '>=', value: 3 }), [{ v: 5 }])
    assert.deepEqual(await outputOf('list.Filter', { list: gaps, by: 'v', op: '==' }), [{}, { v: null }])
    const mixed = outputOf('list.Filter', { list: [1, 'a'], op: '<', value: 3 })
    await assert.rejects(mixed, /no_order: Item 1 is str, which is neither less nor greater than int/)
    await assert.rejects(outputOf('list.Filter', { list: ['a'], op: '~' }), /type_mismatch/)
  })
})
