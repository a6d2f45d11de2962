// Reading and writing Word documents and Excel workbooks; and invalid files.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { docxEntries, xlsxEntries, type ZipEntry, zipOf } from './document-files.ts'
import { failsAs } from './fails-as.ts'
import { mediaNodes } from './with-media.ts'

const nodes = mediaNodes()
after(() => nodes[Symbol.asyncDispose]())

const run = (text: string) => `<w:r><w:t xml:space="preserve">${text}</w:t></w:r>`
const paragraph = (...runs: readonly string[]) => `<w:p>${runs.join('')}</w:p>`
const cellOf = (text: string) => `<w:tc>${paragraph(run(text))}</w:tc>`

const BODY = [
  `<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr>${run('Invoice &amp; more')}</w:p>`,
  paragraph(run('First line'), '<w:r><w:br/></w:r>', run('second'), '<w:r><w:tab/></w:r>', run('line')),
  `<w:tbl><w:tr>${cellOf('Item')}${cellOf('Price')}</w:tr><w:tr>${cellOf('Tea')}${cellOf('3 €')}</w:tr></w:tbl>`,
  paragraph(
    `<w:hyperlink r:id="rId1">${run('a link')}</w:hyperlink>`,
    `<w:hyperlink r:id="rId2">${run(' a trap')}</w:hyperlink>`,
  ),
].join('')

const LETTER = zipOf(docxEntries(BODY, ['https://example.com/?a=1&amp;b=2', 'javascript:alert(1)']))

const text = (at: string, value: string) => `<c r="${at}" t="inlineStr"><is><t>${value}</t></is></c>`
const number = (at: string, value: number | string, style = 0) => `<c r="${at}" s="${style}"><v>${value}</v></c>`

const SHEETS = {
  Prices: `<row r="1">${text('A1', 'item')}${text('B1', 'price')}${text('D1', 'item')}</row>
    <row r="2"><c r="A2" t="s"><v>0</v></c>${number('B2', 2.5)}<c r="C2" t="b"><v>1</v></c><c r="D2" t="e"><v>#DIV/0!</v></c></row>
    <row r="4">${number('A4', 45351, 1)}${number('B4', 45351.520833333336, 1)}${number('C4', 0.5208333333, 2)}<c r="D4" t="str"><f>A1</f><v>a&lt;b</v></c></row>`,
  'Second & last': `<row r="1">${number('A1', 7)}</row>`,
}

const BOOK = zipOf(
  xlsxEntries({ Prices: SHEETS.Prices, 'Second &amp; last': SHEETS['Second & last'] }, ['Tee &amp; Café']),
)

function changed(entries: readonly ZipEntry[], name: string, change: Partial<ZipEntry>): Buffer {
  return zipOf(entries.map((entry) => (entry.name === name ? { ...entry, ...change } : entry)))
}

const readDocx = (document: unknown) => nodes.fire('document.DocxText', { document })
const readXlsx = (document: unknown, more = {}) => nodes.fire('document.ReadXlsx', { document, ...more })

describe('document.DocxText', () => {
  test('reads text, tables and line ends, and writes harmless HTML', async () => {
    const read = await readDocx(LETTER)
    assert.equal(read.text, 'Invoice & more\n\nFirst line\nsecond\tline\n\nItem\tPrice\nTea\t3 €\n\na link a trap')
    assert.equal(
      read.html,
      '<h1>Invoice &amp; more</h1><p>First line<br />second\tline</p>' +
        '<table><tr><td><p>Item</p></td><td><p>Price</p></td></tr><tr><td><p>Tea</p></td><td><p>3 €</p></td></tr></table>' +
        '<p><a href="https://example.com/?a=1&amp;b=2">a link</a> a trap</p>',
    )
  })

  test('reads UTF-16, and ignores comments and styles', async () => {
    const entries = docxEntries(paragraph(run('gr<!-- not -->ün'), run('<![CDATA[<b>]]>')))
    const wide = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(entries[3]!.data as string, 'utf16le')])
    const map = { name: 'mammoth/style-map', data: 'p => script' }
    const read = await readDocx(zipOf([...with16(entries, wide), map]))
    assert.deepEqual(read, { text: 'grün<b>', html: '<p>grün&lt;b&gt;</p>' })
  })

  const entries = docxEntries(BODY)
  const entity = '<!DOCTYPE w [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
  for (const [what, document, type, message] of [
    ['no archive', Buffer.from('%PDF-1.4'), 'unsupported', /another kind/],
    [
      'an archive behind something else',
      Buffer.concat([Buffer.from('%PDF-1.4\n'), LETTER]),
      'unsupported',
      /another kind/,
    ],
    ['the format of before', Buffer.from('d0cf11e0a1b11ae10000', 'hex'), 'unsupported', /before 2007/],
    ['an archive of something else', zipOf([{ name: 'a.txt', data: 'a' }]), 'unsupported', /another kind/],
    ['a workbook', BOOK, 'unsupported', /another kind/],
    ['entities', zipOf(docxEntries(paragraph(run('&b;')), [], entity)), 'bad_file', /declares types or entities/],
    ['a wrong checksum', changed(entries, 'word/document.xml', { crc: 7 }), 'bad_file', /damaged/],
    ['a size that is too small', changed(entries, 'word/document.xml', { size: 100 }), 'bad_file', /damaged/],
    ['a size that is too large', changed(entries, 'word/document.xml', { size: 63_000_000 }), 'too_large', /250 times/],
    ['an encrypted part', changed(entries, 'word/document.xml', { flags: 1 }), 'unsupported', /encrypted/],
    ['two parts of one name', zipOf([...entries, entries[3]!]), 'bad_file', /two files of one name/],
    ['a path that leads outside', zipOf([...entries, { name: '../../a.xml', data: '<a/>' }]), 'bad_file', /damaged/],
    ['broken XML', changed(entries, 'word/document.xml', { data: '<w:document><w:body>' }), 'bad_file', /damaged/],
    [
      'no text at all',
      changed(entries, 'word/document.xml', { data: Buffer.from([0xc3, 0x28]) }),
      'bad_file',
      /damaged/,
    ],
    [
      'elements in each other without end',
      zipOf(docxEntries('<w:a>'.repeat(30_000) + '</w:a>'.repeat(30_000))),
      'bad_file',
      /damaged/,
    ],
    [
      'more files than any document has',
      zipOf([...entries, ...Array.from({ length: 10_001 }, (_, at) => ({ name: `${at}`, data: '' }))]),
      'too_large',
      /10,000 files/,
    ],
  ] as const)
    test(`refuses ${what}`, async () => {
      await assert.rejects(readDocx(document), failsAs(type, message))
    })

  test('refuses entity bombs in any file of the document', async () => {
    const bomb = { name: 'word/bomb.xml', data: Buffer.alloc(30_000_000, ' ') }
    await assert.rejects(readDocx(zipOf([...entries, bomb])), failsAs('too_large', /250 times/))
    const small = { name: 'word/a.xml', data: Buffer.alloc(9_000_000, ' ') }
    const many = Array.from({ length: 20 }, (_, at) => ({ ...small, name: `word/${at}.xml`, shared: at > 0 }))
    await assert.rejects(readDocx(zipOf([...entries, ...many])), failsAs('bad_file', /overlap/))
    const lying = { ...bomb, size: 10 }
    await assert.rejects(readDocx(zipOf([...entries, lying])), failsAs('bad_file', /damaged/))
    assert.match((await readDocx(LETTER)).text as string, /^Invoice/)
  })

  test('refuses files that are cut off', async () => {
    for (const part of [0.1, 0.5, 0.9, 0.99])
      await assert.rejects(readDocx(LETTER.subarray(0, LETTER.length * part)), failsAs('bad_file', /damaged/))
    await assert.rejects(readDocx(Buffer.alloc(0)), failsAs('unsupported', /another kind/))
  })
})

function with16(entries: readonly ZipEntry[], data: Buffer): ZipEntry[] {
  return entries.map((entry) => (entry.name === 'word/document.xml' ? { ...entry, data } : entry))
}

describe('document.ReadXlsx', () => {
  test('reads the first sheet by its first row', async () => {
    assert.deepEqual(await readXlsx(BOOK), {
      columns: ['item', 'price', 'column3', 'item_2'],
      rows: [
        { item: 'Tee & Café', price: 2.5, column3: true, item_2: null },
        { item: '2024-02-29', price: '2024-02-29T12:30:00', column3: '12:30:00', item_2: 'a<b' },
      ],
      sheet: 'Prices',
      sheets: ['Prices', 'Second & last'],
    })
  })

  test('reads a sheet by its name or number, with column names further down or without them', async () => {
    for (const sheet of ['Second & last', 2]) {
      const { rows } = await readXlsx(BOOK, { sheet, header_row: null })
      assert.deepEqual(rows, [{ column1: 7 }])
    }
    const { columns, rows } = await readXlsx(BOOK, { header_row: 2 })
    assert.deepEqual(columns, ['Tee & Café', '2.5', 'true', 'column4'])
    assert.equal((rows as unknown[]).length, 1)
    for (const sheet of ['No', 3, 0, -1])
      await assert.rejects(readXlsx(BOOK, { sheet }), failsAs('bad_input', /no such sheet. It has: "Prices"/))
  })

  test('reads dates that are written as texts', async () => {
    const date = '<c r="A1" t="d"><v>2021-06-10T23:30:00</v></c><c r="B1" t="d"><v>2021-06-10</v></c>'
    const { rows } = await readXlsx(zipOf(xlsxEntries({ A: `<row r="1">${date}</row>` })), { header_row: null })
    assert.deepEqual(rows, [{ column1: '2021-06-10T23:30:00', column2: '2021-06-10' }])
  })

  test('reads elapsed times, also beyond a day', async () => {
    const style = { numFmts: '<numFmts><numFmt numFmtId="164" formatCode="[hh]:mm &quot;h&quot;"/></numFmts>' }
    const cells = ['1.5', '2.000005787', '-0.25', '1e300', '0.5', '1.5']
    const row = cells.map((value, at) =>
      number(`${'ABCDEF'[at]}2`, value, at === 0 ? 3 : at === 4 ? 2 : at === 5 ? 0 : 4),
    )
    const entries = xlsxEntries({ A: `<row r="2">${row.join('')}</row>` }).map((entry) =>
      entry.name === 'xl/styles.xml'
        ? {
            ...entry,
            data: (entry.data as string)
              .replace('<cellXfs>', `${style.numFmts}<cellStyleXfs><xf numFmtId="164"/></cellStyleXfs><cellXfs>`)
              .replace('</cellXfs>', '<xf numFmtId="46"/><xf numFmtId="164"/></cellXfs>'),
          }
        : entry,
    )
    const plain = entries.map((entry) => ({ ...entry, data: String(entry.data).replace(/<c r="D2".*?<\/c>/, '') }))
    const { rows } = await readXlsx(zipOf(plain), { header_row: null })
    assert.deepEqual(Object.values((rows as object[])[0]!), [
      '36:00:00',
      '48:00:00.500',
      '-06:00:00',
      null,
      '12:00:00',
      1.5,
    ])
    await assert.rejects(readXlsx(zipOf(entries)), failsAs('bad_file', /damaged/))
  })

  test('reads texts that comments and CDATA interrupt', async () => {
    const book = zipOf(xlsxEntries({ A: `<row r="1">${text('A1', 'a<!-- x -->b<![CDATA[<&]]>')}</row>` }))
    assert.deepEqual((await readXlsx(book)).columns, ['ab<&'])
  })

  test('reads content that spans many chunks of the reader', async () => {
    const row = (at: number) =>
      `<row r="${at}">${number(`A${at}`, at)}${text(`B${at}`, `${'ä'.repeat(at % 50)}${at}`)}</row>`
    const sheet = Array.from({ length: 3_000 }, (_, at) => row(at + 1)).join('')
    const { rows } = await readXlsx(zipOf(xlsxEntries({ A: sheet })), { header_row: null })
    assert.deepEqual(
      rows,
      Array.from({ length: 3_000 }, (_, at) => ({ column1: at + 1, column2: `${'ä'.repeat((at + 1) % 50)}${at + 1}` })),
    )
  })

  const entity = '<!DOCTYPE s [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
  const entries = xlsxEntries({ A: SHEETS.Prices }, ['a'])
  const sheetOf = (data: string) => zipOf(xlsxEntries({ A: data }))
  for (const [what, document, type, message] of [
    ['a Word document', LETTER, 'unsupported', /another kind/],
    ['entities', zipOf(xlsxEntries({ A: SHEETS.Prices }, ['&a;'], entity)), 'bad_file', /declares types or entities/],
    [
      'a cell at the end of the largest sheet',
      sheetOf(`<row r="1048576">${number('XFD1048576', 1)}</row>`),
      'too_large',
      /1,000,000 cells/,
    ],
    ['a cell beyond', sheetOf(`<row r="1">${number('ZZZZZZZZ1', 1)}</row>`), 'bad_file', /beyond the last/],
    ['a row beyond', sheetOf(`<row r='99999999999'>${number('A1', 1)}</row>`), 'bad_file', /beyond the last/],
    ['a text that is not there', sheetOf('<row r="1"><c r="A1" t="s"><v>9</v></c></row>'), 'bad_file', /damaged/],
    ['a number that is none', sheetOf(`<row r="1">${number('A1', 'x')}</row>`), 'bad_file', /damaged/],
    ['cells in no order', sheetOf(`<row r="1">${number('B1', 1)}${number('A1', 1)}</row>`), 'bad_file', /damaged/],
    [
      'a sheet that is missing',
      zipOf(entries.filter(({ name }) => !name.includes('sheet1'))),
      'unsupported',
      /no cells/,
    ],
    [
      'a sheet that is a chart',
      changed(entries, 'xl/worksheets/sheet1.xml', {
        data: '<?xml version="1.0"?><chartsheet><sheetViews/></chartsheet>',
      }),
      'unsupported',
      /"A" has no cells/,
    ],
    ['a wrong checksum', changed(entries, 'xl/workbook.xml', { crc: 7 }), 'bad_file', /damaged/],
    ['what is cut off', BOOK.subarray(0, BOOK.length - 30), 'bad_file', /damaged/],
  ] as const)
    test(`refuses ${what}`, async () => {
      await assert.rejects(readXlsx(document), failsAs(type, message))
    })

  test('refuses a text that is in too many cells', async () => {
    const long = 'a'.repeat(30_000)
    const rows = Array.from({ length: 400 }, (_, at) => `<row r="${at + 1}"><c r="A${at + 1}" t="s"><v>0</v></c></row>`)
    const book = zipOf(xlsxEntries({ A: rows.join('') }, [long]))
    await assert.rejects(readXlsx(book), failsAs('too_large', /10,000,000 characters/))
    assert.equal((await readXlsx(BOOK)).sheet, 'Prices')
  })
})

describe('document.WriteXlsx', () => {
  const rows = [
    { item: 'Tea & <Café>', price: 2.5, sold: true },
    { item: '=1+1', price: null, tags: ['a', 'b'] },
    { item: ' 007 ', price: -0.1, sold: false },
  ]

  test('writes what ReadXlsx reads', async () => {
    const { document } = await nodes.fire('document.WriteXlsx', { rows, sheet: 'Größe', name: 'prices.csv' })
    const { name, content_type, type } = document as Record<string, unknown>
    assert.deepEqual([name, type], ['prices.xlsx', 'document'])
    assert.match(String(content_type), /spreadsheetml\.sheet$/)
    assert.deepEqual(await readXlsx(document), {
      columns: ['item', 'price', 'sold', 'tags'],
      rows: [
        { item: 'Tea & <Café>', price: 2.5, sold: true, tags: null },
        { item: '=1+1', price: null, sold: null, tags: '["a","b"]' },
        { item: ' 007 ', price: -0.1, sold: false, tags: null },
      ],
      sheet: 'Größe',
      sheets: ['Größe'],
    })
  })

  test('writes some columns, in their order, without names', async () => {
    const { document } = await nodes.fire('document.WriteXlsx', { rows, columns: ['price', 'item'], header: false })
    const read = await readXlsx(document, { header_row: null })
    assert.deepEqual((read.rows as unknown[])[0], { column1: 2.5, column2: 'Tea & <Café>' })
    const { document: empty } = await nodes.fire('document.WriteXlsx', { rows: [] })
    assert.deepEqual((await readXlsx(empty)).rows, [])
  })

  test('writes the same bytes at any time', async () => {
    const bytes = async () => {
      const { document } = await nodes.fire('document.WriteXlsx', { rows })
      return Buffer.from((document as { data: Uint8Array }).data)
    }
    const file = await bytes()
    assert.deepEqual(await bytes(), file)
    // The time and the day of the first file: midnight of the first of January 1980.
    assert.equal(file.readUInt32LE(10), 0x00210000)
  })

  test('refuses values that no sheet can hold', async () => {
    const write = (inputs: Record<string, unknown>) => nodes.fire('document.WriteXlsx', { rows, ...inputs })
    for (const sheet of ['', 'a/b', 'x'.repeat(32), "'a"])
      await assert.rejects(write({ sheet }), failsAs('bad_input', /1 to 31 characters/))
    await assert.rejects(write({ rows: [{ a: 'x'.repeat(32_768) }] }), failsAs('too_large', /32,767 characters/))
    await assert.rejects(write({ rows: new Array(500_000).fill({ a: 1 }) }), failsAs('too_large', /500,000 cells/))
    await assert.rejects(write({ rows: [7] }), failsAs('bad_input', /Row 1/))
    await assert.rejects(write({ columns: ['pric'] }), failsAs('unknown_column', /"pric"/))
  })
})
