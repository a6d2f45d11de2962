// text.ParseCsv and text.FormatCsv
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { scaled } from '../../helpers/scale.ts'
import { fire, outputOf } from '../fire.ts'

const parse = (text: string, more = {}) => fire('text.ParseCsv', { text, ...more })
const rowsOf = async (text: string, more = {}) => (await parse(text, more)).rows
const format = (rows: unknown[], more = {}) => outputOf('text.FormatCsv', { rows, ...more })

describe('text.ParseCsv', () => {
  test('reads rows by the names in the first line', async () => {
    assert.deepEqual(await fire('text.ParseCsv', { text: 'name,age\nAnn,31\nBo,7\n' }), {
      rows: [
        { name: 'Ann', age: '31' },
        { name: 'Bo', age: '7' },
      ],
      columns: ['name', 'age'],
    })
    assert.deepEqual(await parse(''), { rows: [], columns: [] })
    assert.deepEqual(await parse('name,age'), { rows: [], columns: ['name', 'age'] })
    await assert.rejects(fire('text.ParseCsv', { text: 5 }), /type_mismatch/)
  })

  test('reads quotes, all line endings, and byte order marks like other readers of RFC 4180', async () => {
    assert.deepEqual(await rowsOf('\uFEFFa,b\r\n"x ""y""\nz",\r\n\r\n"","1,2"\r5" pipe,end'), [
      { a: 'x "y"\nz', b: '' },
      { a: '', b: '1,2' },
      { a: '5" pipe', b: 'end' },
    ])
    assert.deepEqual(await rowsOf('a;b\n1;2', { separator: ';' }), [{ a: '1', b: '2' }])
    assert.deepEqual(await rowsOf('a\n""\n\n'), [{ a: '' }])
  })

  test('names every column, and fills up short rows', async () => {
    assert.deepEqual(await parse('a,,a,a_2\n1', { convert: true }), {
      rows: [{ a: 1, column2: null, a_3: null, a_2: null }],
      columns: ['a', 'column2', 'a_3', 'a_2'],
    })
    assert.deepEqual(await parse('1,2\n3', { header: false }), {
      rows: [
        { column1: '1', column2: '2' },
        { column1: '3', column2: '' },
      ],
      columns: ['column1', 'column2'],
    })
    const { rows } = await parse('__proto__,b\n1,2')
    assert.deepEqual(Object.entries((rows as object[])[0]!), [
      ['__proto__', '1'],
      ['b', '2'],
    ])
    assert.equal(Object.getPrototypeOf((rows as object[])[0]), Object.prototype)
  })

  test('converts numbers and booleans, and keeps codes', async () => {
    const cells = ['1', '-2.5', '1e3', '007', '+1', '.5', 'true', 'False', '', '9007199254740993', '1e999', ' 1']
    const [row] = (await rowsOf(`${cells.map((_, at) => `c${at}`)}\n${cells}`, { convert: true })) as object[]
    assert.deepEqual(Object.values(row!), [
      ...[1, -2.5, 1000, '007', '+1', '.5', true, 'False', null],
      ...['9007199254740993', '1e999', ' 1'],
    ])
  })

  test('says what is wrong, and where', async () => {
    await assert.rejects(parse('a\nb\n"x"y'), /bad_csv: .* something follows a closing quote in line 3/)
    await assert.rejects(parse('a\r\n"x\n'), /bad_csv: .* a quoted cell is not closed, which begins in line 2/)
    await assert.rejects(parse('a\n1,2'), /bad_csv: Row 1 has 2 cells, but the table has 1 columns/)
    for (const separator of ['', ';;', '"', '\n'])
      await assert.rejects(parse('a', { separator }), /bad_input: The separator must be one character/)
  })

  test('refuses tables that are too large before they are made', async () => {
    await assert.rejects(parse(','.repeat(10_001)), /too_large: A row has more than 10,000 cells/)
    await assert.rejects(parse('a\n'.repeat(1_000_002)), /too_large: The table has more than 1,000,000 rows/)
    const wide = `${Array.from({ length: 5001 }, (_, at) => at)}\n${'x\n'.repeat(1000)}`
    await assert.rejects(parse(wide), /too_large: The table would have more than 2,000,000 cells/)
    assert.equal(((await parse(`${','.repeat(9999)}\n`)) as { columns: string[] }).columns.length, 10_000)
  })
})

describe('text.FormatCsv', () => {
  test('writes rows by column', async () => {
    assert.equal(
      await outputOf('text.FormatCsv', {
        rows: [
          { a: 1, b: 'x' },
          { b: null, c: [1] },
        ],
      }),
      'a,b,c\n1,x,\n,,[1]\n',
    )
    assert.equal(await format([{ a: 1, b: 2 }], { columns: ['b', 'none'], header: false }), '2,\n')
    assert.equal(await format([]), '')
    assert.equal(await format([], { columns: ['a', 'b'] }), 'a,b\n')
    await assert.rejects(format([1]), /type_mismatch|bad_input/)
    await assert.rejects(format([], { separator: '\r' }), /bad_input/)
  })

  test('quotes what must be quoted, and nothing else', async () => {
    const rows = [{ a: 'x,y', b: 'say "hi"', c: 'two\nlines', d: 'cr\r', e: ' plain; ' }]
    assert.equal(
      await format(rows, { header: false, line_end: 'crlf' }),
      '"x,y","say ""hi""","two\nlines","cr\r", plain; \r\n',
    )
    assert.equal(await format(rows, { header: false, columns: ['a', 'e'], separator: ';' }), 'x,y;" plain; "\n')
    assert.equal(await format([{ a: '' }, { a: null }], { header: false }), '""\n""\n')
  })

  test('refuses results that would be too long before they are made', async () => {
    const rows = Array.from({ length: 4000 }, (_, at) => ({ [`c${at}`]: 1 }))
    await assert.rejects(format(rows), /too_large: The text would have more than/)
    await assert.rejects(format(Array(1000).fill({ a: 'x'.repeat(100_000) })), /too_large/)
  })

  test('writes CSV that ParseCsv reads back unchanged', async () => {
    const cell = fc.oneof(fc.string(), fc.stringMatching(/^[",;\r\n a]{0,6}$/))
    const table = fc.integer({ min: 1, max: 4 }).chain((width) =>
      fc.record({
        rows: fc.array(fc.array(cell, { minLength: width, maxLength: width }), { maxLength: 6 }),
        separator: fc.constantFrom(',', ';', '\t'),
        line_end: fc.constantFrom('lf', 'crlf'),
      }),
    )
    const property = fc.asyncProperty(table, async ({ rows, separator, line_end }) => {
      const dicts = rows.map((cells) => Object.fromEntries(cells.map((text, at) => [`column${at + 1}`, text])))
      const text = await format(dicts, { separator, line_end })
      assert.deepEqual(await rowsOf(text as string, { separator }), dicts)
    })
    await fc.assert(property, { numRuns: scaled(300) })
  })
})
