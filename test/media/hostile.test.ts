// Hostile files that are uploaded to a server and given to a workflow: the job fails with an error, memory stays bounded, and the server keeps working.
// own-process: it measures the memory of its process.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import sharp from 'sharp'
import type { JobSnapshot } from '../../generated/types.ts'
import { readJobSnapshot } from '../../src/jobs/queries.ts'
import { graph, node, sink } from '../engine/kit.ts'
import { call } from '../helpers/http.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { stored } from '../http/storage-kit.ts'
import { OWNER, submit } from '../jobs/kit.ts'
import { docxEntries, pdfOf, xlsxEntries, type ZipEntry, zipOf } from '../nodes/document-files.ts'

/** In bytes, of the server itself: each of the bombs below unpacks to more than this. */
const CEILING = 192 * 1024 * 1024

let server: TestServer
before(async () => {
  server = await startServer()
})
after(() => server[Symbol.asyncDispose]())

async function ran(type: string, property: string, file: string): Promise<JobSnapshot> {
  const output = { image: 'image', archive: 'names', document: 'text' }[property]!
  const handle = type === 'document.ReadXlsx' ? 'rows' : output
  const job = submit(server, {
    graph: graph([node('n', type, { [property]: file }), sink('out')], [`n.${handle}->out.value`]),
  })
  await job.settled()
  const { context } = server
  return readJobSnapshot(context.runs, await context.runs.jobs.get(OWNER, job.row.id))
}

async function healthy(): Promise<void> {
  assert.equal((await call(server, 'GET', '/health')).status, 200)
  const { error } = await ran('image.Convert', 'image', '/api/assets/packages/pictures/photos/lake.jpg')
  assert.equal(error, null)
}

const entity = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
const loops = `<!DOCTYPE x [<!ENTITY a "${'a'.repeat(1_000)}">${[...'bcdefg'].map((name, at) => `<!ENTITY ${name} "${`&${'abcdefg'[at]};`.repeat(20)}">`).join('')}]>`
const svg = (types: string, name: string) =>
  Buffer.from(`${types}<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text>&${name};</text></svg>`)
/** Twenty files of ten megabytes each that share the bytes of one. */
const overlapping = (): ZipEntry[] =>
  Array.from({ length: 20 }, (_, at) => ({ name: `${at}`, data: Buffer.alloc(10_000_000), shared: at > 0 }))
const picture = (side: number) =>
  sharp({ create: { width: side, height: side, channels: 3, background: '#000' } }).png()

const FILES: [what: string, make: () => Buffer | Promise<Buffer>, type: string, property: string, error: RegExp][] = [
  ['an image of huge dimensions', () => picture(9_000).toBuffer(), 'image.Resize', 'image', /^too_large .*64 million/],
  [
    'a ZIP bomb',
    () => zipOf([{ name: 'z', data: Buffer.alloc(200_000_000) }]),
    'archive.Unzip',
    'archive',
    /^too_large /,
  ],
  ['a ZIP of files that overlap', () => zipOf(overlapping()), 'archive.Unzip', 'archive', /^bad_file /],
  [
    'a PDF of deeply nested lists',
    () => pdfOf(['['.repeat(200_000)]),
    'document.PdfText',
    'document',
    /^bad_file .*PDF/,
  ],
  [
    'a PDF that is cut off',
    () => Buffer.from('%PDF-1.7\n1 0 obj\n<<'),
    'document.PdfText',
    'document',
    /^bad_file .*PDF/,
  ],
  ['an SVG that refers to a file', () => svg(entity, 'a'), 'image.Convert', 'image', /^bad_file /],
  ['an SVG of nested entities', () => svg(loops, 'g'), 'image.Convert', 'image', /^bad_file /],
  [
    'a Word document of entities',
    () => zipOf(docxEntries('<w:p>&g;</w:p>', [], loops)),
    'document.DocxText',
    'document',
    /^bad_file .*entities/,
  ],
  [
    'a workbook that refers to a file',
    () => zipOf(xlsxEntries({ A: '' }, ['&a;'], entity)),
    'document.ReadXlsx',
    'document',
    /^bad_file .*entities/,
  ],
  [
    'a PDF that is also a ZIP',
    () => Buffer.concat([Buffer.from('%PDF-1.4\n'), zipOf([{ name: 'a', data: 'x' }])]),
    'archive.Unzip',
    'archive',
    /^unsupported /,
  ],
]

describe('a workflow that is given', () => {
  for (const [what, make, type, property, expected] of FILES)
    test(`${what} fails, and the server keeps working`, async () => {
      const bytes = await make()
      const { id } = await stored(server, bytes)
      await healthy()
      const idle = process.memoryUsage.rss()
      const { status, error } = await ran(type, property, `asset://${id}`)
      const grown = process.memoryUsage.rss() - idle
      assert.equal(status, 'failed')
      assert.match(`${error!.type} ${error!.message}`, expected)
      assert.ok(grown < CEILING, `${Math.round(grown / 1_048_576)} MiB more`)
      await healthy()
    })
})
