// data.*: groups and pivots. Joins are in join-node.test.ts.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { scaled } from '../../helpers/scale.ts'
import { fire, outputOf } from '../fire.ts'

type Row = Record<string, unknown>

const rows = [
  { city: 'Bonn', year: 2023, total: 10 },
  { city: 'Köln', year: 2023, total: 5 },
  { city: 'Bonn', year: 2024, total: null },
  { city: 'Bonn', year: 2023, total: 1.5 },
]

describe('data.Group', () => {
  const of = (data: object) => outputOf('data.Group', { rows, ...data })

  test('aggregates groups in order of first appearance', async () => {
    assert.deepEqual(
      await of({ by: ['city'], aggregate: { total: ['sum', 'mean', 'deviation', 'list'], year: 'max' } }),
      [
        {
          ...{ city: 'Bonn', count: 3, total_sum: 11.5, total_mean: 5.75, total_deviation: Math.sqrt(36.125) },
          ...{ total_list: [10, 1.5], year: 2024 },
        },
        { city: 'Köln', count: 1, total_sum: 5, total_mean: 5, total_deviation: null, total_list: [5], year: 2023 },
      ],
    )
    assert.deepEqual(
      await of({ aggregate: { city: ['distinct', 'min', 'first', 'last'], total: 'median' }, count_as: '' }),
      [{ city_distinct: 2, city_min: 'Bonn', city_first: 'Bonn', city_last: 'Bonn', total: 5 }],
    )
    assert.deepEqual(await of({ by: ['year', 'city'], aggregate: { city: 'count' }, count_as: 'n' }), [
      { year: 2023, city: 'Bonn', n: 2, city_count: 2 },
      { year: 2023, city: 'Köln', n: 1, city_count: 1 },
      { year: 2024, city: 'Bonn', n: 1, city_count: 1 },
    ])
  })

  test('groups a table without rows', async () => {
    assert.deepEqual(await of({ rows: [], by: ['city'], aggregate: { total: 'sum' } }), [])
    const none = await of({ rows: [], aggregate: { total: ['sum', 'mean', 'max'] } })
    assert.deepEqual(none, [{ count: 0, total_sum: 0, total_mean: null, total_max: null }])
    const empty = await of({ rows: [{ a: null }], aggregate: { a: ['sum', 'mean', 'min', 'first', 'list', 'count'] } })
    assert.deepEqual(empty, [{ count: 1, a_sum: 0, a_mean: null, a_min: null, a_first: null, a_list: [], a_count: 0 }])
  })

  test('refuses values that it cannot aggregate', async () => {
    await assert.rejects(of({ by: ['town'] }), /unknown_column/)
    await assert.rejects(of({ aggregate: { total: 'summ' } }), /unknown_aggregate: "summ" .* Did you mean "sum"/)
    await assert.rejects(of({ aggregate: { total: 3 } }), /unknown_aggregate/)
    await assert.rejects(
      of({ aggregate: { city: 'sum' } }),
      /Column "city" holds str, where numbers are needed\. data\.Convert/,
    )
    await assert.rejects(of({ by: ['city'], count_as: 'city' }), /duplicate_column/)
    await assert.rejects(
      of({ rows: [{ a: 1e308 }, { a: 1e308 }], aggregate: { a: 'sum' } }),
      /The sum of column "a" is Infinity/,
    )
    await assert.rejects(of({ rows: [1] }), /type_mismatch/)
  })
})

test('data.Describe', async () => {
  const none = { min: null, max: null, mean: null, median: null, deviation: null }
  const described = await fire('data.Describe', { rows: [...rows, { total: 5.5, odd: {} }, { odd: 1 }] })
  assert.equal(described.rows, 6)
  const [city, year, total, odd] = described.output as Row[]
  assert.deepEqual(city, { column: 'city', kind: 'str', count: 4, missing: 2, ...none, min: 'Bonn', max: 'Köln' })
  const years = { min: 2023, max: 2024, mean: 2023.25, median: 2023, deviation: 0.5 }
  assert.deepEqual(year, { column: 'year', kind: 'int', count: 4, missing: 2, ...years })
  assert.deepEqual([total!.kind, total!.count, total!.mean], ['float', 4, 5.5])
  assert.deepEqual(odd, { column: 'odd', kind: 'mixed', count: 2, missing: 4, ...none })
  assert.deepEqual(await fire('data.Describe', { rows: [] }), { output: [], rows: 0 })
  await assert.rejects(fire('data.Describe', { rows: ['x'] }), /type_mismatch/)
})

describe('data.Pivot', () => {
  const of = (data: object) => fire('data.Pivot', { rows, columns: 'year', values: 'total', ...data })

  test('makes columns of values', async () => {
    assert.deepEqual(await of({ index: ['city'], fill: '-' }), {
      output: [
        { city: 'Bonn', 2023: 11.5, 2024: 0 },
        { city: 'Köln', 2023: 5, 2024: '-' },
      ],
      columns: ['city', '2023', '2024'],
    })
    assert.deepEqual((await of({ aggregate: 'count' })).output, [{ 2023: 3, 2024: 0 }])
    assert.deepEqual(await of({ rows: [], index: ['city'] }), { output: [], columns: ['city'] })
    const proto = await of({ rows: [{ year: '__proto__', total: 1 }] })
    assert.equal(JSON.stringify(proto.output), '[{"__proto__":1}]')
  })

  test('refuses values that make no column names, and too many columns', async () => {
    await assert.rejects(of({ columns: 'town' }), /unknown_column/)
    await assert.rejects(
      of({ rows: [{ year: [1], total: 1 }] }),
      /Column "year" holds list, which cannot become column names/,
    )
    await assert.rejects(of({ rows: [{ year: 'city', city: 1, total: 1 }], index: ['city'] }), /duplicate_column/)
    const many = Array.from({ length: 3000 }, (_, year) => ({ city: year, year, total: 1 }))
    await assert.rejects(
      of({ rows: many, index: ['city'] }),
      /too_large: The table would have more than 5,000,000 cells/,
    )
    await assert.rejects(of({ rows: [1] }), /type_mismatch/)
  })
})

test('data.Unpivot', async () => {
  const wide = [
    { city: 'Bonn', a: 1, b: 2 },
    { city: 'Ulm', a: 3 },
  ]
  const of = (data: object) => outputOf('data.Unpivot', { rows: wide, ...data })
  const long = [
    { city: 'Bonn', column: 'a', value: 1 },
    { city: 'Bonn', column: 'b', value: 2 },
    { city: 'Ulm', column: 'a', value: 3 },
    { city: 'Ulm', column: 'b', value: null },
  ]
  assert.deepEqual(await of({ keep: ['city'] }), long)
  assert.deepEqual(await of({ columns: ['a', 'b'] }), long)
  assert.deepEqual(await of({ columns: ['b'], keep: ['a'], name_as: 'n', value_as: 'v' }), [
    { a: 1, n: 'b', v: 2 },
    { a: 3, n: 'b', v: null },
  ])
  assert.deepEqual(await of({ rows: [] }), [])
  await assert.rejects(of({ keep: ['city', 'a', 'b'] }), /No column is left/)
  await assert.rejects(of({ keep: ['city'], name_as: 'city' }), /duplicate_column/)
  await assert.rejects(of({ columns: ['c'] }), /unknown_column/)
  const flat = Object.fromEntries(Array.from({ length: 1001 }, (_, at) => [`c${at}`, at]))
  await assert.rejects(of({ rows: Array(1000).fill(flat) }), /too_large: The table would have more than 1,000,000 rows/)
  await assert.rejects(of({ rows: [1] }), /type_mismatch/)
})

test('a table comes back from unpivoting by a pivot', async () => {
  const row = fc.record({ a: fc.integer(), b: fc.integer(), c: fc.integer() })
  const property = fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 10 }), async (given) => {
    const table = given.map((row, id) => ({ id, ...row }))
    const long = await outputOf('data.Unpivot', { rows: table, keep: ['id'] })
    const back = { rows: long, index: ['id'], columns: 'column', values: 'value', aggregate: 'first' }
    assert.deepEqual(await outputOf('data.Pivot', back), table)
  })
  await fc.assert(property, { numRuns: scaled(50) })
})
