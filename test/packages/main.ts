// Makes the files of the bundled packages, and the index of what there is: `node src/launch/node.mjs test/packages/main.ts`.
// All of them are made up here, so that they are anybody's.
import { createHash } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { zipOf } from '../nodes/document-files.ts'
import { FESTIVAL, handbook, invoice, priceList } from './documents.ts'
import { pictures } from './pictures.ts'
import { melody } from './sounds.ts'
import { quarters, sales, weather } from './tables.ts'

const ROOT = join(import.meta.dirname, '../../src/packages')

type Bytes = string | Uint8Array
type Files = Readonly<Record<string, Bytes>>

interface Package {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly files: Files
}

const TYPES: Readonly<Record<string, string>> = {
  csv: 'text/csv; charset=utf-8',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  html: 'text/html; charset=utf-8',
  jpg: 'image/jpeg',
  parquet: 'application/vnd.apache.parquet',
  pdf: 'application/pdf',
  png: 'image/png',
  wav: 'audio/wav',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  zip: 'application/zip',
}

const VERSION = '1.0.0'
const LICENSE = 'CC0-1.0'

const accounts = zipOf(Object.entries(quarters()).map(([name, data]) => ({ name, data })))

const PACKAGES: readonly Package[] = [
  {
    name: 'office',
    title: 'Office',
    description: 'Documents of a small shop: an invoice, a handbook, a price list, a page of a web site and accounts.',
    files: {
      'accounts.zip': accounts,
      'festival.html': FESTIVAL,
      'handbook.docx': handbook(),
      'invoice.pdf': invoice(),
      'price-list.xlsx': await priceList(),
    },
  },
  {
    name: 'pictures',
    title: 'Pictures',
    description: 'Six landscapes, drawn by a program, and a logo.',
    files: await pictures(),
  },
  {
    name: 'sounds',
    title: 'Sounds',
    description: 'A short melody.',
    files: { 'melody.wav': melody() },
  },
  {
    name: 'tables',
    title: 'Tables',
    description:
      'Three months of sales of a book shop, and a year of weather in three towns. None of it ever happened.',
    files: { 'sales.csv': sales(), 'weather.parquet': weather() },
  },
]

function made({ files, ...about }: Package) {
  const folder = join(ROOT, about.name)
  rmSync(folder, { recursive: true, force: true })
  const paths = Object.keys(files).sort()
  const listed = paths.map((path) => {
    const bytes = Buffer.from(files[path] as string)
    const place = join(folder, path)
    mkdirSync(dirname(place), { recursive: true })
    writeFileSync(place, bytes)
    const content_type = TYPES[path.slice(path.lastIndexOf('.') + 1)]!
    return { path, content_type, size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
  })
  return { ...about, version: VERSION, license: LICENSE, files: listed }
}

const index = `${JSON.stringify(PACKAGES.map(made), null, 2)}\n`
writeFileSync(join(ROOT, 'index.json'), index)
