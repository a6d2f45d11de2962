// data.Join: joins two tables.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { scaled } from '../../helpers/scale.ts'
import { outputOf } from '../fire.ts'

type Row = Record<string, unknown>

describe('data.Join', () => {
  const left = [
    { id: 1, city: 'Bonn' },
    { id: 2, city: 'Ulm' },
    { id: 3, city: 'Bonn' },
    { id: 4, city: null },
  ]
  const right = [{ city: 'Bonn', id: 10 }, { city: 'Köln', id: 11 }, { id: 12 }]
  const of = (data: object) => outputOf('data.Join', { left, right, ...data }) as Promise<Row[]>

  test('joins in each of the four ways', async () => {
    const inner = [
      { id: 1, city: 'Bonn', id_right: 10 },
      { id: 3, city: 'Bonn', id_right: 10 },
    ]
    assert.deepEqual(await of({ on: ['city'] }), inner)
    const lonely = { id: 2, city: 'Ulm', id_right: null }
    const fromLeft = [inner[0], lonely, inner[1], { id: 4, city: null, id_right: null }]
    assert.deepEqual(await of({ on: ['city'], how: 'left' }), fromLeft)
    const alone = [
      { id: null, city: 'Köln', id_right: 11 },
      { id: null, city: null, id_right: 12 },
    ]
    assert.deepEqual(await of({ on: ['city'], how: 'right' }), [...inner, ...alone])
    assert.deepEqual(await of({ on: ['city'], how: 'full' }), [...fromLeft, ...alone])
  })

  test('joins by columns with different names, and with an empty side', async () => {
    const towns = [{ town: 'Ulm', land: 'BW' }]
    const made = await of({ right: towns, left_on: ['city'], right_on: ['town'], how: 'inner' })
    assert.deepEqual(made, [{ id: 2, city: 'Ulm', land: 'BW' }])
    assert.deepEqual(await of({ right: [], on: ['city'] }), [])
    assert.deepEqual(await of({ left: [], right: towns, left_on: ['x'], right_on: ['town'], how: 'full' }), [
      { x: 'Ulm', land: 'BW' },
    ])
  })

  test('refuses keys and columns that do not fit', async () => {
    await assert.rejects(of({}), /bad_input: A join needs the same number of columns of both tables/)
    await assert.rejects(of({ left_on: ['city'] }), /1 of the left table and 0 of the right one/)
    await assert.rejects(of({ on: ['city'], left_on: ['city'] }), /Set either "on"/)
    await assert.rejects(of({ on: ['land'] }), /unknown_column/)
    await assert.rejects(of({ on: ['city'], suffix: '' }), /duplicate_column: Two columns would have the name "id"/)
    await assert.rejects(of({ on: ['city'], left: [1] }), /type_mismatch/)
  })

  test('counts its rows before it makes them', async () => {
    const same = Array(2000).fill({ a: 1 })
    await assert.rejects(
      of({ left: same, right: same, on: ['a'] }),
      /too_large: The table would have more than 1,000,000 rows/,
    )
    const wide = Object.fromEntries(Array.from({ length: 600 }, (_, at) => [`c${at}`, at]))
    const many = Array(100).fill({ ...wide, a: 1 })
    await assert.rejects(of({ left: many, right: many, on: ['a'] }), /more than 5,000,000 cells/)
  })

  test('gives the same as a plain loop over both tables', async () => {
    const key = fc.option(fc.constantFrom<unknown>(1, 2, '1', '2', true, 'true', [1], '[1]'))
    const tables = fc.array(fc.record({ k: key, l: fc.option(fc.nat(1)) }), { maxLength: 8 })
    const hows = fc.constantFrom('inner', 'left', 'right', 'full')
    const property = fc.asyncProperty(tables, tables, hows, async (a, b, how) => {
      const given = { left: a.map((row, x) => ({ ...row, x })), right: b.map((row, y) => ({ ...row, y })) }
      const same = (l: Row, r: Row) =>
        ['k', 'l'].every((c) => l[c] !== null && JSON.stringify(l[c]) === JSON.stringify(r[c]))
      const expected: unknown[] = []
      for (const l of given.left) {
        const met = given.right.filter((r) => same(l, r))
        for (const r of met) expected.push([l.x, r.y])
        if (met.length === 0 && (how === 'left' || how === 'full')) expected.push([l.x, null])
      }
      for (const r of given.right)
        if ((how === 'right' || how === 'full') && !given.left.some((l) => same(l, r))) expected.push([null, r.y])
      const made = await of({ ...given, on: ['k', 'l'], how })
      assert.deepEqual(
        made.map(({ x = null, y = null }) => [x, y]),
        expected,
      )
    })
    await fc.assert(property, { numRuns: scaled(100) })
  })
})
