// Documents of an office that there is not: an invoice, a handbook, a price list and a page of a web site.
import writeExcelFile from 'write-excel-file/node'
import { type PdfPage, pdf, type ZipEntry, zipOf } from '../nodes/document-files.ts'
import { mediaNodes } from '../nodes/with-media.ts'

/** From left to right: number, what it is, how many, the price of one and of all. */
const ITEMS = [
  ['1', 'Oak shelf, 120 cm', '4', '89.00'],
  ['2', 'Wall bracket, pair', '8', '12.50'],
  ['3', 'Reading lamp', '3', '54.90'],
  ['4', 'Felt pads, 20 pieces', '5', '3.20'],
  ['5', 'Delivery and assembly', '1', '75.00'],
] as const

interface Line {
  readonly x: number
  readonly y: number
  readonly text: string
  readonly size?: number
}

function shown({ x, y, text, size = 10 }: Line): string {
  return `BT /F ${size} Tf ${x} ${y} Td (${text.replace(/[()\\]/g, '\\$&')}) Tj ET`
}

/** One page of A4 with the lines of an invoice. */
export function invoice(): Buffer {
  const columns = [56, 84, 330, 400, 480]
  const rows = [
    ['No', 'Item', 'Quantity', 'Price', 'Amount'],
    ...ITEMS.map(([number, item, quantity, price]) => [
      number,
      item,
      quantity,
      price,
      (Number(quantity) * Number(price)).toFixed(2),
    ]),
  ]
  const net = ITEMS.reduce((sum, [, , quantity, price]) => sum + Number(quantity) * Number(price), 0)
  const ends = [
    ['Net', net],
    ['VAT 20 %', net * 0.2],
    ['Total EUR', net * 1.2],
  ] as const
  const lines: Line[] = [
    { x: 56, y: 770, text: 'Larch & Linden Joinery', size: 18 },
    { x: 56, y: 752, text: '12 Mill Lane, 1000 Somewhere' },
    { x: 56, y: 708, text: 'Invoice LL-2026-0117', size: 14 },
    { x: 56, y: 690, text: 'Date: 2026-03-14' },
    { x: 56, y: 676, text: 'Due: 2026-04-13' },
    { x: 56, y: 648, text: 'To: Paper Boat Books, 3 Harbour Street, 2000 Elsewhere' },
    ...rows.flatMap((row, at) => row.map((text, column) => ({ x: columns[column]!, y: 610 - at * 20, text }))),
    ...ends.flatMap(([text, amount], at) => [
      { x: 400, y: 480 - at * 18, text },
      { x: 480, y: 480 - at * 18, text: amount.toFixed(2) },
    ]),
    { x: 56, y: 400, text: 'Payable within 30 days. Thank you.' },
  ]
  const rules = '0.5 w 56 604 m 540 604 l S 400 494 m 540 494 l S'
  const page: PdfPage = { width: 595, height: 842, content: `${rules}\n${lines.map(shown).join('\n')}` }
  return pdf(page)
}

const HANDBOOK: readonly (readonly [heading: string, ...paragraphs: string[]])[] = [
  [
    'Opening the shop',
    'The first person in unlocks the back door, switches the alarm off within thirty seconds and turns on the lights of the sales room. The front door stays locked until nine.',
    'Count the cash drawer against the note of the evening before. A difference of more than five euro is written into the log and told to Ada on the same day.',
  ],
  [
    'Orders',
    'An order is taken with a name, a way to reach the customer and the number of the book. Orders before noon go out the same day, and usually arrive within two working days.',
    'Books that were ordered and not fetched wait on the shelf behind the till for three weeks. After that they go into the sales room, and the customer gets a note.',
  ],
  [
    'Returns',
    'Unread books are taken back within fourteen days with the receipt. Without a receipt we give a voucher. Calendars and maps of last year are not taken back.',
  ],
  [
    'Closing',
    'Close the front door at six, count the drawer, leave one hundred euro in it and put the rest into the safe. The last person out switches the alarm on.',
  ],
]

const OFFICE = 'http://schemas.openxmlformats.org'
const WORD = `xmlns:w="${OFFICE}/wordprocessingml/2006/main"`
const RELATION = `${OFFICE}/officeDocument/2006/relationships`
const DOCUMENT_TYPE = 'application/vnd.openxmlformats-officedocument.wordprocessingml'

function part(name: string, xml: string): ZipEntry {
  return { name, data: `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n${xml}` }
}

function style(id: string, name: string, size: number): string {
  const look = `<w:pPr><w:spacing w:before="240" w:after="120"/></w:pPr><w:rPr><w:b/><w:sz w:val="${size}"/></w:rPr>`
  return `<w:style w:type="paragraph" w:styleId="${id}"><w:name w:val="${name}"/>${look}</w:style>`
}

/** A Word document of these paragraphs, each with the id of its style, or none. */
function docx(paragraphs: readonly (readonly [text: string, style?: string])[]): Buffer {
  const each = paragraphs.map(
    ([text, id]) =>
      `<w:p>${id ? `<w:pPr><w:pStyle w:val="${id}"/></w:pPr>` : ''}<w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`,
  )
  const page = '<w:sectPr><w:pgSz w:w="11906" w:h="16838"/></w:sectPr>'
  const overrides = ['document.main', 'styles'].map(
    (kind) => `<Override PartName="/word/${kind.split('.')[0]}.xml" ContentType="${DOCUMENT_TYPE}.${kind}+xml"/>`,
  )
  const relations = (target: string, kind: string) =>
    `<Relationships xmlns="${OFFICE}/package/2006/relationships"><Relationship Id="rId1" Type="${RELATION}/${kind}" Target="${target}"/></Relationships>`
  return zipOf([
    part(
      '[Content_Types].xml',
      `<Types xmlns="${OFFICE}/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>${overrides.join('')}</Types>`,
    ),
    part('_rels/.rels', relations('word/document.xml', 'officeDocument')),
    part('word/_rels/document.xml.rels', relations('styles.xml', 'styles')),
    part(
      'word/styles.xml',
      `<w:styles ${WORD}>${style('Title', 'Title', 48)}${style('Heading1', 'heading 1', 30)}</w:styles>`,
    ),
    part('word/document.xml', `<w:document ${WORD}><w:body>${each.join('')}${page}</w:body></w:document>`),
  ])
}

/** A title, and headings with their paragraphs. */
export function handbook(): Buffer {
  const parts = HANDBOOK.flatMap(([heading, ...texts]) => [
    [heading, 'Heading1'] as const,
    ...texts.map((text) => [text] as const),
  ])
  return docx([['Handbook of Paper Boat Books', 'Title'], ...parts])
}

const BOOKS = [
  ['B-101', 'A Field Guide to Clouds', 24.5, 12],
  ['B-102', 'The Patient Gardener', 18, 7],
  ['B-103', 'Bread, Slowly', 29.9, 4],
  ['B-104', 'Maps of Small Islands', 42, 2],
  ['B-105', 'How Bridges Stand', 33.25, 0],
  ['B-106', 'Letters from the Lighthouse', 16.8, 21],
] as const
const STATIONERY = [
  ['S-201', 'Notebook, dotted', 8.5, 60],
  ['S-202', 'Pencils, a dozen', 6.9, 35],
  ['S-203', 'Ink, blue', 11.2, 14],
] as const

function sheet(rows: readonly (readonly [string, string, number, number])[]) {
  const head = ['code', 'title', 'price', 'stock'].map((value) => ({ value, fontWeight: 'bold' as const }))
  return [head, ...rows.map((row) => row.map((value) => ({ value })))]
}

/** A workbook of two sheets. It is packed anew, without the time at which it was written. */
export async function priceList(): Promise<Buffer> {
  const archive = await writeExcelFile([
    { sheet: 'Books', data: sheet(BOOKS) },
    { sheet: 'Stationery', data: sheet(STATIONERY) },
  ]).toBuffer()
  await using nodes = mediaNodes()
  const { files, names } = (await nodes.fire('archive.Unzip', { archive })) as {
    files: { data: Buffer }[]
    names: string[]
  }
  return zipOf(files.map(({ data }, at) => ({ name: names[at]!, data })))
}

/** A page of a web site with links and a table, and without any script. */
export const FESTIVAL = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Harbour Book Festival</title>
  </head>
  <body>
    <h1>Harbour Book Festival</h1>
    <p>Three days of readings on boats and quays, <strong>5 to 7 June 2026</strong>. All readings are free.</p>
    <h2>Programme</h2>
    <table>
      <tr><th>Day</th><th>Time</th><th>Reading</th></tr>
      <tr><td>Friday</td><td>19:00</td><td><a href="https://festival.example/clouds">Clouds over the harbour</a></td></tr>
      <tr><td>Saturday</td><td>11:00</td><td><a href="https://festival.example/bread">Bread, slowly</a></td></tr>
      <tr><td>Saturday</td><td>16:00</td><td><a href="https://festival.example/islands">Maps of small islands</a></td></tr>
      <tr><td>Sunday</td><td>14:00</td><td><a href="https://festival.example/bridges">How bridges stand</a></td></tr>
    </table>
    <h2>How to get there</h2>
    <p>Take tram 4 to <em>Old Harbour</em>, or the <a href="https://festival.example/ferry">ferry</a> from the island.</p>
  </body>
</html>
`
