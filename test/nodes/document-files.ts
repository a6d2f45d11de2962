// Documents for tests, built from bytes: valid ones, and hostile ones.
import { crc32, deflateRawSync } from 'node:zlib'
import type { TableRow } from '../../src/nodes/shared/table-rows.ts'

/** A PDF of these objects, the first of which is its catalog. */
export function pdfOf(objects: readonly string[], trailer = ''): Buffer {
  let text = '%PDF-1.4\n'
  const places = objects.map((object, at) => {
    const place = text.length
    text += `${at + 1} 0 obj\n${object}\nendobj\n`
    return `${String(place).padStart(10, '0')} 00000 n \n`
  })
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${places.join('')}`
  const end = `trailer <</Size ${objects.length + 1}/Root 1 0 R${trailer}>>\nstartxref\n${text.length}\n%%EOF`
  return Buffer.from(`${text}${table}${end}`, 'latin1')
}

export function pdfStream(content: string | Buffer, entries = ''): string {
  const bytes = Buffer.from(content as string, 'latin1')
  return `<</Length ${bytes.length}${entries}>>\nstream\n${bytes.toString('latin1')}\nendstream`
}

export interface PdfPage {
  readonly content: string
  readonly width?: number
  readonly height?: number
  /** Other entries of the page. */
  readonly more?: string
}

/** A PDF of these pages, with Helvetica as `/F`. */
export function pdf(...pages: readonly PdfPage[]): Buffer {
  const kids = pages.map((_, at) => `${4 + at * 2} 0 R`).join(' ')
  return pdfOf([
    '<</Type/Catalog/Pages 2 0 R>>',
    `<</Type/Pages/Kids[${kids}]/Count ${pages.length}>>`,
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>',
    ...pages.flatMap(({ content, width = 200, height = 100, more = '' }, at) => [
      `<</Type/Page/Parent 2 0 R/MediaBox[0 0 ${width} ${height}]/Contents ${5 + at * 2} 0 R/Resources<</Font<</F 3 0 R>>>>${more}>>`,
      pdfStream(content),
    ]),
  ])
}

export interface ZipEntry {
  readonly name: string
  readonly data: string | Buffer
  /** The size that the archive claims, if it is false. */
  readonly size?: number
  readonly crc?: number
  readonly flags?: number
  /** Whether the entry shares the bytes of the entry before. */
  readonly shared?: boolean
}

/** A ZIP archive, whose claims may be false. */
export function zipOf(entries: readonly ZipEntry[]): Buffer {
  const pieces: Buffer[] = []
  const directory: Buffer[] = []
  let [at, last] = [0, 0]
  for (const { name, data, size, crc, flags = 0, shared = false } of entries) {
    const bytes = Buffer.from(data as string)
    const packed = deflateRawSync(bytes, { level: 9 })
    const label = Buffer.from(name)
    const facts = Buffer.alloc(26)
    facts.writeUInt16LE(20, 0)
    facts.writeUInt16LE(flags, 2)
    facts.writeUInt16LE(8, 4)
    facts.writeUInt32LE(crc ?? crc32(bytes), 10)
    facts.writeUInt32LE(packed.length, 14)
    facts.writeUInt32LE(size ?? bytes.length, 18)
    facts.writeUInt16LE(label.length, 22)
    if (!shared) {
      last = at
      const local = [Buffer.from('PK\u0003\u0004'), facts, label, packed]
      pieces.push(...local)
      at += local.reduce((length, piece) => length + piece.length, 0)
    }
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE(last, 10)
    directory.push(Buffer.from('PK\u0001\u0002\u0014\u0000'), facts, rest, label)
  }
  const central = Buffer.concat(directory)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(entries.length, 4)
  end.writeUInt16LE(entries.length, 6)
  end.writeUInt32LE(central.length, 8)
  end.writeUInt32LE(at, 12)
  return Buffer.concat([...pieces, central, Buffer.from('PK\u0005\u0006'), end])
}

const OFFICE = 'http://schemas.openxmlformats.org'
const HEAD = '<?xml version="1.0" encoding="UTF-8"?>'

const TYPES: ZipEntry = {
  name: '[Content_Types].xml',
  data: `${HEAD}<Types xmlns="${OFFICE}/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/></Types>`,
}

function relations(name: string, ...all: readonly string[]): ZipEntry {
  const relation = `${OFFICE}/officeDocument/2006/relationships`
  const each = all.map((one) => `<Relationship ${one.replace('Type="', `Type="${relation}/`)}/>`)
  return {
    name,
    data: `${HEAD}<Relationships xmlns="${OFFICE}/package/2006/relationships">${each.join('')}</Relationships>`,
  }
}

/** The files of a Word document with this body, in WordprocessingML. `links` are the URLs of rId1, rId2 … */
export function docxEntries(body: string, links: readonly string[] = [], before = ''): ZipEntry[] {
  const names = `xmlns:w="${OFFICE}/wordprocessingml/2006/main" xmlns:r="${OFFICE}/officeDocument/2006/relationships"`
  return [
    TYPES,
    relations('_rels/.rels', 'Id="rId1" Type="officeDocument" Target="word/document.xml"'),
    relations(
      'word/_rels/document.xml.rels',
      ...links.map((link, at) => `Id="rId${at + 1}" Type="hyperlink" TargetMode="External" Target="${link}"`),
    ),
    { name: 'word/document.xml', data: `${HEAD}${before}<w:document ${names}><w:body>${body}</w:body></w:document>` },
  ]
}

/** The files of a workbook with these sheets, each the XML inside its `sheetData`. Style 1 is a date, style 2 a time. */
export function xlsxEntries(sheets: TableRow, strings: readonly string[] = [], before = ''): ZipEntry[] {
  const names = Object.keys(sheets)
  const main = `xmlns="${OFFICE}/spreadsheetml/2006/main"`
  const each = names.map((name, at) => `<sheet name="${name}" sheetId="${at + 1}" r:id="rId${at + 1}"/>`)
  return [
    TYPES,
    relations('_rels/.rels', 'Id="rId1" Type="officeDocument" Target="xl/workbook.xml"'),
    relations(
      'xl/_rels/workbook.xml.rels',
      ...names.map((_, at) => `Id="rId${at + 1}" Type="worksheet" Target="worksheets/sheet${at + 1}.xml"`),
      'Id="rId90" Type="sharedStrings" Target="sharedStrings.xml"',
      'Id="rId91" Type="styles" Target="styles.xml"',
    ),
    {
      name: 'xl/workbook.xml',
      data: `${HEAD}<workbook ${main} xmlns:r="${OFFICE}/officeDocument/2006/relationships"><sheets>${each.join('')}</sheets></workbook>`,
    },
    {
      name: 'xl/sharedStrings.xml',
      data: `${HEAD}${before}<sst ${main}>${strings.map((text) => `<si><t>${text}</t></si>`).join('')}</sst>`,
    },
    {
      name: 'xl/styles.xml',
      data: `${HEAD}<styleSheet ${main}><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="21"/></cellXfs></styleSheet>`,
    },
    ...names.map((name, at) => ({
      name: `xl/worksheets/sheet${at + 1}.xml`,
      data: `${HEAD}<worksheet ${main}><sheetData>${sheets[name]}</sheetData></worksheet>`,
    })),
  ]
}
