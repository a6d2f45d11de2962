// PDF files: their pages, text and appearance; and invalid files.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { deflateSync } from 'node:zlib'
import sharp from 'sharp'
import { pdf, pdfOf, pdfStream } from './document-files.ts'
import { failsAs } from './fails-as.ts'
import { mediaNodes } from './with-media.ts'

const nodes = mediaNodes()
after(() => nodes[Symbol.asyncDispose]())

const line = (text: string, y = 50) => `BT /F 12 Tf 10 ${y} Td (${text}) Tj ET\n`

const BOOK = pdf(
  { content: `${line('Invoice \\(1\\)', 70)}${line('Caf\\351', 40)}` },
  { content: '' },
  { content: line('The end'), width: 595.276, height: 841.89 },
)

interface Picture {
  data: Uint8Array
  content_type: string
  name?: string
  width: number
  height: number
}

/** The pixel at a position, as hexadecimal digits. */
async function pixel({ data, width }: Picture, x: number, y: number): Promise<string> {
  const raw = await sharp(data).removeAlpha().raw().toBuffer()
  return raw.subarray((y * width + x) * 3, (y * width + x) * 3 + 3).toString('hex')
}

async function healthy(): Promise<void> {
  const { text } = await nodes.fire('document.PdfText', { document: BOOK, from_page: 3 })
  assert.equal(text, 'The end')
}

describe('document.Pdf*', () => {
  test('PdfInfo gives pages and sizes, rotated as they are shown', async () => {
    const turned = pdf({ content: '', more: '/Rotate 90' }, { content: '', width: 841.89, height: 595.276 })
    assert.deepEqual(await nodes.fire('document.PdfInfo', { document: turned }), {
      page_count: 2,
      pages: [
        { page: 1, width: 100, height: 200 },
        { page: 2, width: 841.89, height: 595.276 },
      ],
    })
  })

  test('PdfText reads a range of pages, separately and as one text', async () => {
    assert.deepEqual(await nodes.fire('document.PdfText', { document: BOOK }), {
      text: 'Invoice (1)\nCafé\n\nThe end',
      pages: ['Invoice (1)\nCafé', '', 'The end'],
      page_count: 3,
    })
    const some = await nodes.fire('document.PdfText', { document: { data: BOOK }, from_page: 2, to_page: 99 })
    assert.deepEqual(some.pages, ['', 'The end'])
    await assert.rejects(
      nodes.fire('document.PdfText', { document: BOOK, from_page: 4 }),
      failsAs('bad_input', /3 pages, and no page 4/),
    )
    await assert.rejects(
      nodes.fire('document.PdfText', { document: BOOK, from_page: 3, to_page: 2 }),
      failsAs('bad_input', /before the first/),
    )
  })

  test('PdfText joins words that a hyphen splits at the end of a line', async () => {
    const broken = pdf({ content: 'BT /F 12 Tf 10 50 Td (A hy-) Tj 0 -14 Td (phen) Tj ET' })
    assert.equal((await nodes.fire('document.PdfText', { document: broken })).text, 'A hyphen')
  })

  test('PdfPages draws pages, always the same', async () => {
    const flag = pdf({ content: '1 0 0 rg 0 0 100 100 re f 0 0 1 rg 100 50 100 50 re f' }, { content: '' })
    const draw = () => nodes.fire('document.PdfPages', { document: { data: flag, name: 'flag.pdf' }, dpi: 36 })
    const { images, page_count } = await draw()
    const [first, second] = images as [Picture, Picture]
    assert.equal(page_count, 2)
    assert.deepEqual([first.width, first.height, first.content_type, first.name], [100, 50, 'image/png', 'flag-1.png'])
    assert.deepEqual(await Promise.all([pixel(first, 10, 10), pixel(first, 40, 45)]), ['ff0000', 'ff0000'])
    assert.deepEqual(await Promise.all([pixel(first, 90, 10), pixel(first, 90, 40)]), ['0000ff', 'ffffff'])
    assert.equal(await pixel(second, 50, 25), 'ffffff')
    const again = ((await draw()).images as Picture[])[0]!
    assert.deepEqual(Buffer.from(again.data), Buffer.from(first.data))
    const { images: jpeg } = await nodes.fire('document.PdfPages', { document: flag, from_page: 2, format: 'jpeg' })
    assert.deepEqual(
      (jpeg as Picture[]).map(({ content_type, width }) => [content_type, width]),
      [['image/jpeg', 417]],
    )
  })

  for (const [what, document, type, message] of [
    ['no PDF', Buffer.from('PK not a PDF'), 'unsupported', /no PDF/],
    ['nothing', Buffer.alloc(0), 'unsupported', /no PDF/],
    ['a number', 7, 'bad_input', /The PDF is neither/],
    [
      'a PDF without pages',
      pdfOf(['<</Type/Catalog/Pages 2 0 R>>', '<</Type/Pages/Kids[]/Count 0>>']),
      'bad_file',
      /no pages/,
    ],
    [
      'a tree of pages that holds itself',
      pdfOf(['<</Type/Catalog/Pages 2 0 R>>', '<</Type/Pages/Kids[2 0 R]/Count 1>>']),
      'bad_file',
      /damaged/,
    ],
    [
      'lists in lists without end',
      pdfOf(['<</Type/Catalog/Pages 2 0 R>>', `<</Type/Pages/Count 1/Kids ${'['.repeat(100_000)}>>`]),
      'bad_file',
      /PDF/,
    ],
    [
      'one that needs a password',
      pdfOf(
        [
          '<</Type/Catalog/Pages 2 0 R>>',
          '<</Type/Pages/Kids[]/Count 0>>',
          `<</Filter/Standard/V 1/R 2/P -4/O<${'41'.repeat(32)}>/U<${'42'.repeat(32)}>>>`,
        ],
        '/Encrypt 3 0 R/ID[<00><00>]',
      ),
      'unsupported',
      /encrypted/,
    ],
    [
      'one that is encrypted otherwise',
      pdfOf(
        ['<</Type/Catalog/Pages 2 0 R>>', '<</Type/Pages/Kids[]/Count 0>>', '<</Filter/Other>>'],
        '/Encrypt 3 0 R/ID[<00><00>]',
      ),
      'unsupported',
      /encrypted/,
    ],
  ] as const)
    test(`refuses ${what}`, async () => {
      await assert.rejects(nodes.fire('document.PdfText', { document }), failsAs(type, message))
      await healthy()
    })

  test('refuses files that are cut off, and reads files with a wrong object table', async () => {
    for (const part of [10, 60, 120, BOOK.indexOf('xref'), BOOK.indexOf('trailer')]) {
      const document = BOOK.subarray(0, part)
      await assert.rejects(nodes.fire('document.PdfText', { document }), failsAs('bad_file', /PDF is damaged/))
    }
    const document = Buffer.from(BOOK.toString('latin1').replaceAll(/\d{10} 00000 n/g, '0000000007 00000 n'), 'latin1')
    assert.equal((await nodes.fire('document.PdfText', { document, from_page: 3 })).text, 'The end')
    await healthy()
  })

  test('refuses pages of too many pixels before they are drawn', async () => {
    const poster = pdf({ content: '', width: 5_000, height: 5_000 })
    await assert.rejects(
      nodes.fire('document.PdfPages', { document: poster, dpi: 1_200 }),
      failsAs('too_large', /Take fewer dpi/),
    )
    const long = pdf({ content: '', width: 14_400, height: 3 })
    await assert.rejects(nodes.fire('document.PdfPages', { document: long }), failsAs('too_large', /fewer dpi/))
    const many = pdf(...Array.from({ length: 101 }, () => ({ content: '' })))
    await assert.rejects(nodes.fire('document.PdfPages', { document: many }), failsAs('too_large', /100 pages/))
    await healthy()
  })

  test('survives false numbers of pages and pictures, and contents that expand', async () => {
    const lies = pdfOf([
      '<</Type/Catalog/Pages 2 0 R>>',
      '<</Type/Pages/Kids[3 0 R]/Count 2000000000>>',
      '<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]/Contents 4 0 R/Resources<</XObject<</I 5 0 R>>>>>>',
      pdfStream(`200 0 0 100 0 0 cm /I Do ${' '.repeat(10)}`),
      pdfStream(
        deflateSync(Buffer.alloc(1_000)),
        '/Type/XObject/Subtype/Image/Width 60000/Height 60000/BitsPerComponent 8/ColorSpace/DeviceRGB/Filter/FlateDecode',
      ),
    ])
    const { images } = await nodes.fire('document.PdfPages', { document: lies, dpi: 36 })
    assert.deepEqual(
      (images as Picture[]).map(({ width, height }) => [width, height]),
      [[100, 50]],
    )
    const bomb = deflateSync(deflateSync(Buffer.alloc(20_000_000, ' '), { level: 9 }))
    assert.ok(bomb.length < 1_000)
    const folded = pdfOf([
      '<</Type/Catalog/Pages 2 0 R>>',
      '<</Type/Pages/Kids[3 0 R]/Count 1>>',
      '<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]/Contents 4 0 R>>',
      pdfStream(bomb, '/Filter[/FlateDecode/FlateDecode]'),
    ])
    assert.equal((await nodes.fire('document.PdfText', { document: folded })).text, '')
    await healthy()
  })
})
