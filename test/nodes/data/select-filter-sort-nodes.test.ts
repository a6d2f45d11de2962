// data.*: select, filter, sort, calculate with and clean tables. Groups and pivots are in pivot-nodes.test.ts.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { takesLess } from '../../helpers/patience.ts'
import { scaled } from '../../helpers/scale.ts'
import { fire, outputOf } from '../fire.ts'

const rows = [
  { city: 'Bonn', year: 2023, total: 10, 'unit price': 2 },
  { city: 'Köln', year: 2023, total: 5 },
  { city: 'Bonn', year: 2024, total: null, 'unit price': 3 },
  { city: 'Bonn', year: 2023, total: 1.5, 'unit price': 1 },
]
const [first, second, third, fourth] = rows

/** Every table node refuses values that are not tables. */
async function refuses(type: string, data: Record<string, unknown>): Promise<void> {
  await assert.rejects(fire(type, { ...data, rows: [1] }), /type_mismatch/)
  await assert.rejects(fire(type, { ...data, rows: null }), /missing_property/)
}

/** Columns with the names of inherited members stay columns. */
const odd: Record<string, unknown>[] = [JSON.parse('{"__proto__": 1, "constructor": 2}')]

test('data.Select', async () => {
  const of = (data: object) => outputOf('data.Select', { rows, ...data })
  assert.deepEqual(await of({ columns: ['total', 'city'], rename: { city: 'ort' } }), [
    { total: 10, ort: 'Bonn' },
    { total: 5, ort: 'Köln' },
    { total: null, ort: 'Bonn' },
    { total: 1.5, ort: 'Bonn' },
  ])
  assert.deepEqual(((await of({ columns: ['city'], invert: true })) as object[])[1], {
    year: 2023,
    total: 5,
    'unit price': null,
  })
  assert.deepEqual(await of({ rows: [], columns: ['x'] }), [])
  const kept = (await of({ rows: odd, columns: ['__proto__'] })) as object[]
  assert.deepEqual(JSON.stringify(kept), '[{"__proto__":1}]')
  await assert.rejects(of({ columns: ['totl'] }), /unknown_column: No row has a column "totl"\. Did you mean "total"/)
  await assert.rejects(of({ rename: { city: 'year' } }), /duplicate_column: Two columns would have the name "year"/)
  await assert.rejects(of({ rename: { city: 'x'.repeat(20_000) } }), /too_large/)
  await refuses('data.Select', {})
})

test('data.Filter', async () => {
  const of = (data: object) => fire('data.Filter', { rows, ...data })
  assert.deepEqual(await of({ where: { city: 'Bonn' }, formula: 'total * unit_price > 5' }), {
    output: [first],
    rest: [second, third, fourth],
  })
  assert.deepEqual((await of({ where: { city: ['Köln', 'Ulm'] } })).output, [second])
  assert.deepEqual((await of({ where: { total: null } })).output, [third])
  assert.deepEqual((await of({ present: ['unit price', 'total'] })).output, [first, fourth])
  assert.deepEqual((await of({ formula: 'year == 2023 && total < 6' })).output, [second, fourth])
  assert.deepEqual(await of({}), { output: rows, rest: [] })
  assert.deepEqual(await of({ rows: [], formula: 'x > 1' }), { output: [], rest: [] })
  await assert.rejects(
    of({ formula: 'totl > 1' }),
    /unknown_column: .* "totl", which is not a column\. Did you mean "total"/,
  )
  await assert.rejects(
    of({ formula: 'city > 1' }),
    /Column "city" of row 1 is str.* data\.Convert turns texts into numbers/,
  )
  await assert.rejects(of({ formula: '1 +' }), /bad_formula/)
  await assert.rejects(of({ rows: [], formula: '1 +' }), /bad_formula/)
  await assert.rejects(of({ where: { town: 'x' } }), /unknown_column/)
  const above = (least: unknown) => outputOf('data.Filter', { rows, formula: 'year > least' }, { least })
  assert.deepEqual(
    await above(2023),
    rows.filter(({ year }) => Number(year) > 2023),
  )
  await assert.rejects(above('2023'), /bad_input: Input "least" is str, but a formula takes numbers/)
  await refuses('data.Filter', {})
})

test('data.Filter by parts of texts and patterns', async () => {
  const rows = [
    { name: 'Ann Lee', code: 'A-1' },
    { name: 'Bo', code: 17 },
    { name: null, code: 'a-2' },
    { name: ['Ann'], code: 'A-3' },
  ]
  const of = async (data: object) =>
    ((await outputOf('data.Filter', { rows, ...data })) as unknown[]).map((row) => rows.indexOf(row as never))
  assert.deepEqual(await of({ contains: { name: 'Ann' } }), [0])
  assert.deepEqual(await of({ contains: { name: 'ann' } }), [])
  assert.deepEqual(await of({ contains: { name: 'ANN' }, ignore_case: true }), [0])
  assert.deepEqual(await of({ contains: { name: '' } }), [0, 1])
  assert.deepEqual(await of({ matches: { code: '^A-\\d$' } }), [0, 3])
  assert.deepEqual(await of({ matches: { code: '^A-\\d$' }, ignore_case: true }), [0, 2, 3])
  assert.deepEqual(await of({ matches: { code: '1' }, contains: { name: 'o' } }), [1])
  assert.deepEqual(await of({ rows: [], matches: { code: '1' } }), [])
  await assert.rejects(of({ matches: { code: '(' } }), /bad_pattern/)
  await assert.rejects(of({ contains: { nam: 'x' } }), /unknown_column: .* "nam".* Did you mean "name"/)
  const long = { name: 'x'.repeat(100_000) }
  const many = outputOf('data.Filter', { rows: Array(1001).fill(long), contains: { name: 'y' } })
  await assert.rejects(many, /too_large: .* more than 100,000,000 characters/)
  const near = { rows: Array(20).fill(long), contains: { name: `${'x'.repeat(10)}y${'x'.repeat(50_000)}` } }
  await takesLess(5000, async () => assert.deepEqual(await outputOf('data.Filter', near), []))
  const hostile = { rows: Array(1000).fill(long), matches: { name: '(?:(?:x?){31}){31}[yz]' } }
  await takesLess(10_000, () =>
    assert.rejects(outputOf('data.Filter', hostile), /too_large: The pattern takes too much work/),
  )
})

test('data.AddColumn', async () => {
  const of = (data: object) => outputOf('data.AddColumn', { rows, ...data }) as Promise<Record<string, unknown>[]>
  const made = await of({ name: 'value', formula: 'total * unit_price + pi * 0' })
  assert.deepEqual(made[0], { ...first, value: 20 })
  assert.deepEqual(
    made.map(({ value }) => value),
    [20, null, null, 1.5],
  )
  assert.equal((await of({ name: 'total', formula: 'if(year > 2023, 0, year)' }))[2]!.total, 0)
  assert.equal(
    JSON.stringify(await of({ rows: odd, name: '__proto__', formula: 'constructor + 1' })),
    '[{"__proto__":3,"constructor":2}]',
  )
  assert.equal((await of({ rows: [{ e5: 1, e: 2 }], name: 'x', formula: '1e5 * e5 + e' }))[0]!.x, 100_002)
  assert.deepEqual(await of({ rows: [], name: 'x', formula: 'y' }), [])
  await refuses('data.AddColumn', { name: 'x', formula: '1' })
})

test('data.AddColumn with inputs beside the columns', async () => {
  const of = (formula: string, inputs: object, rows: object[] = [{ a: 2, rate: 5 }, { a: 3 }]) =>
    outputOf('data.AddColumn', { rows, name: 'x', formula }, { ...inputs }) as Promise<Record<string, unknown>[]>
  assert.deepEqual(await of('a * factor', { factor: 10 }), [
    { a: 2, rate: 5, x: 20 },
    { a: 3, x: 30 },
  ])
  // An input takes precedence over a column of the same name.
  assert.deepEqual(
    (await of('a * rate', { rate: 1, unused: 'text' })).map(({ x }) => x),
    [2, 3],
  )
  assert.deepEqual(
    (await of('a * e', { e: true })).map(({ x }) => x),
    [2, 3],
  )
  assert.deepEqual(await of('factor', { factor: 1 }, []), [])
  await assert.rejects(of('factor', { factor: [] }, []), /bad_input: Input "factor" is list/)
  const unknown = /unknown_column: .* "facto", which is neither a column nor an input\. Did you mean "factor"/
  await assert.rejects(of('facto', { factor: 1 }), unknown)
})

test('data.AddColumn reports the row in which a formula gives no number, and why', async () => {
  const of = (formula: string, rows: object[]) => outputOf('data.AddColumn', { rows, name: 'x', formula })
  const rows = [
    { a: 1, total: 1 },
    { a: 0, total: 1 },
    { a: 0, total: 0 },
  ]
  await assert.rejects(of('a / total', rows), /^Error: not_finite: Row 3: the formula gives NaN: is `total` 0\?$/)
  await assert.rejects(of('a % ( total )', rows), /Row 3: the formula gives NaN: does it divide by 0\?/)
  await assert.rejects(of('total / abs(a)', rows), /Row 2: the formula gives Infinity: does it divide by 0\?/)
  await assert.rejects(of('total / 0', rows), /Row 1: the formula gives Infinity: does it divide by 0\?/)
  await assert.rejects(of('1 + ln(a - 1)', rows), /Row 1: the formula gives -Infinity, which is not a finite number\./)
  const guarded = (await of('if(total == 0, 0, a / total)', rows)) as { x: number }[]
  assert.deepEqual(
    guarded.map(({ x }) => x),
    [1, 0, 0],
  )
})

describe('data.Sort', () => {
  const of = (data: object) => outputOf('data.Sort', { rows, ...data }) as Promise<Record<string, unknown>[]>

  test('sorts by several columns in both directions, with missing values last', async () => {
    assert.deepEqual(await of({ by: ['-total'] }), [first, second, fourth, third])
    assert.deepEqual(await of({ by: ['total'] }), [fourth, second, first, third])
    assert.deepEqual(await of({ by: ['-city', '-year', 'total'] }), [second, third, fourth, first])
    assert.deepEqual(await of({ rows: [{ '-a': 2 }, { '-a': 1 }], by: ['+-a'] }), [{ '-a': 1 }, { '-a': 2 }])
    assert.deepEqual(await of({ rows: [{ a: true }, { a: false }], by: ['a'] }), [{ a: false }, { a: true }])
    assert.deepEqual(await of({ by: [] }), rows)
    assert.deepEqual(await of({ rows: [], by: ['x'] }), [])
  })

  test('refuses columns without an order', async () => {
    const mixed = of({ rows: [{ a: 1 }, { a: 'x' }], by: ['a'] })
    await assert.rejects(mixed, /no_order: Column "a" can't be ordered: it is str in row 2, and int in others/)
    await assert.rejects(of({ rows: [{ a: {} }], by: ['a'] }), /it is dict in row 1\./)
    await assert.rejects(of({ by: ['-town'] }), /unknown_column/)
    await refuses('data.Sort', { by: [] })
  })

  test('is stable, and the same as sorting by each column in turn', async () => {
    const row = fc.record({
      a: fc.option(fc.integer({ min: 0, max: 3 })),
      b: fc.option(fc.constantFrom('x', 'y', 'zz')),
    })
    const property = fc.asyncProperty(fc.array(row), fc.boolean(), async (list, isDown) => {
      const table = list.map((one, id) => ({ ...one, id }))
      const sign = isDown ? -1 : 1
      const order = <T extends string | number>(x: T | null, y: T | null, sign: number) =>
        x === y ? 0 : x === null ? 1 : y === null ? -1 : x < y ? -sign : sign
      const expected = table.toSorted((x, y) => order(x.b, y.b, 1)).sort((x, y) => order(x.a, y.a, sign))
      assert.deepEqual(await of({ rows: table, by: [isDown ? '-a' : 'a', 'b'] }), expected)
    })
    await fc.assert(property, { numRuns: scaled(50) })
  })
})

test('data.Distinct', async () => {
  const of = (data: object) => fire('data.Distinct', { rows, ...data })
  assert.deepEqual(await of({ by: ['city'] }), { output: [first, second], removed: 2 })
  assert.deepEqual(await of({ by: ['city', 'year'], keep: 'last' }), { output: [fourth, second, third], removed: 1 })
  const same = [
    { a: 1, b: [2] },
    { b: [2], a: 1 },
    { a: '1', b: [2] },
    { a: 1, b: '[2]' },
    { a: 1, b: ['[2]'] },
  ]
  assert.equal(((await of({ rows: same })).output as object[]).length, 4)
  assert.deepEqual(await of({ rows: [{ a: null }, {}] }), { output: [{ a: null }], removed: 1 })
  assert.deepEqual(await of({ rows: [] }), { output: [], removed: 0 })
  await assert.rejects(of({ by: ['town'] }), /unknown_column/)
  await assert.rejects(of({ rows: [{ a: 'x'.repeat(20_000) }] }), /too_large: A key has more than 10,000 characters/)
  await refuses('data.Distinct', {})
})

test('data.Convert', async () => {
  const of = (data: object) => fire('data.Convert', data as Record<string, unknown>)
  const text = { i: '12', f: ' 1.5e3 ', b: 'Yes', s: 7, d: '2024-02-29 10:00+01:00', n: '', other: '1' }
  const kinds = { i: 'int', f: 'float', b: 'bool', s: 'str', d: 'date', n: 'float' }
  assert.deepEqual(await of({ rows: [text, {}], kinds }), {
    output: [
      { i: 12, f: 1500, b: true, s: '7', d: '2024-02-29T10:00:00+01:00', n: null, other: '1' },
      { i: null, f: null, b: null, s: null, d: null, n: null },
    ],
    invalid: 0,
  })
  const bad = [{ a: '1.5' }, { a: 'x' }, { a: '1e999' }, { a: [1] }, { a: '2' }]
  assert.deepEqual(await of({ rows: bad, kinds: { a: 'int' }, invalid: 'missing' }), {
    output: [{ a: null }, { a: null }, { a: null }, { a: null }, { a: 2 }],
    invalid: 4,
  })
  assert.deepEqual(await of({ rows: [], kinds: { a: 'int' } }), { output: [], invalid: 0 })
  await assert.rejects(
    of({ rows: bad, kinds: { a: 'int' } }),
    /Column "a" of row 1 is "1\.5", which cannot be converted to int/,
  )
  await assert.rejects(of({ rows: [{ a: '2024-02-30' }], kinds: { a: 'date' } }), /which cannot be converted to date/)
  await assert.rejects(of({ rows: [{ a: 2 }], kinds: { a: 'bool' } }), /is int, which cannot be converted to bool/)
  await assert.rejects(of({ rows: [{ a: 2 }], kinds: { a: 'integer' } }), /unknown_kind/)
  await assert.rejects(
    of({ rows: Array(100_001).fill({ a: '' }), kinds: { a: 'date' } }),
    /too_large: .* 100,000 dates/,
  )
  const comma = {
    rows: [
      { a: '1,5', b: '1.234' },
      { a: '1 234,5', b: 2 },
    ],
    kinds: { a: 'float', b: 'int' },
    decimal: ',',
  }
  const read = [
    { a: 1.5, b: 1234 },
    { a: 1234.5, b: 2 },
  ]
  assert.deepEqual(await of(comma), { output: read, invalid: 0 })
  await assert.rejects(
    of({ ...comma, rows: [{ a: '1.5', b: 1 }] }),
    /row 1 is "1\.5", which cannot be converted to float/,
  )
  await assert.rejects(of({ ...comma, decimal: '.' }), /row 1 is "1,5"/)
  await assert.rejects(of({ ...comma, kinds: { a: 'number' } }), (error: Error) => {
    return (
      error.message.split('"int"').length === 2 && /unknown_kind: "number" is not a kind of cell\./.test(error.message)
    )
  })
  await refuses('data.Convert', { kinds: {} })
})

test('data.Fill', async () => {
  const of = (data: object) => outputOf('data.Fill', data as Record<string, unknown>)
  const gaps = [{ a: null }, { a: 1, b: 2 }, { b: null }, { a: 3 }]
  assert.deepEqual(await of({ rows: gaps, previous: ['a'], values: { a: 0, b: 9 } }), [
    { a: 0, b: 9 },
    { a: 1, b: 2 },
    { a: 1, b: 9 },
    { a: 3, b: 9 },
  ])
  assert.deepEqual(gaps[2], { b: null })
  assert.equal(JSON.stringify(await of({ rows: [{}], values: JSON.parse('{"__proto__": 1}') })), '[{"__proto__":1}]')
  assert.deepEqual(await of({ rows: [] }), [])
  await assert.rejects(of({ rows: gaps, previous: ['c'] }), /unknown_column/)
  await refuses('data.Fill', {})
})
