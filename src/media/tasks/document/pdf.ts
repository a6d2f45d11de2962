// Tasks for PDF files, with PDFium in WebAssembly. Each task has its own instance, which is garbage collected afterwards: a hostile file cannot reach
// the memory of another file, and undrawn pages, which the library never closes, do not stay in memory.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type PDFiumDocument, PDFiumLibrary, type PDFiumPage } from '@hyzyla/pdfium'
import sharp, { type Sharp } from 'sharp'
import { MediaFault } from '../../fault.ts'
import type { MediaTaskHandler, MediaTaskResult } from '../../task-runner.ts'
import { type ImageFormat, LONGEST_SIDE, writeImage } from '../image/codec.ts'
import { guardDocumentText, mapDocumentErrors } from './limits-and-errors.ts'

/** In a document. */
const MOST_PAGES = 10_000
/** Pages that one task draws. */
const MOST_DRAWN = 100
/** Of one page: memory holds twice four bytes for each pixel. */
const MOST_PAGE_PIXELS = 32_000_000
/** Of all pages that one task draws. */
const MOST_PIXELS = 400_000_000
/** For all resulting images. */
const MOST_BYTES = 100_000_000

const POINTS_PER_INCH = 72

/** Node's types lack WebAssembly. */
interface Wasm {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object, imports: object) => { readonly exports: object }
}

const { Module, Instance } = (globalThis as unknown as { WebAssembly: Wasm }).WebAssembly
const compiledModule = new Module(readFileSync(fileURLToPath(import.meta.resolve('@hyzyla/pdfium/pdfium.wasm'))))

function loadLibrary(): Promise<PDFiumLibrary> {
  return PDFiumLibrary.init({
    instantiateWasm: (imports, done) => {
      const instance = new Instance(compiledModule, imports)
      done(instance)
      return instance.exports
    },
  })
}

/** PDF readers search the header within this many bytes. */
const HEADER_WITHIN = 1_024

async function openDocument(bytes: Uint8Array): Promise<PDFiumDocument> {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, HEADER_WITHIN))
  if (!start.includes('%PDF-')) throw new MediaFault('unsupported', 'The file is no PDF.')
  const pdfium = await loadLibrary()
  try {
    return await pdfium.loadDocument(bytes)
  } catch (error) {
    if (/password/i.test((error as Error).message))
      throw new MediaFault('unsupported', 'The PDF is encrypted: it needs a password.', { cause: error })
    if (/security/i.test((error as Error).message))
      throw new MediaFault('unsupported', 'The PDF is encrypted in a way that is not supported.', { cause: error })
    throw error
  }
}

/** Opens a document for `work` and closes it afterwards. @throws MediaFault `bad_file`, `unsupported`, `too_large` */
export function withPdfDocument<Value>(
  bytes: Uint8Array,
  work: (document: PDFiumDocument, count: number) => Promise<Value> | Value,
): Promise<Value> {
  return mapDocumentErrors('The PDF', async () => {
    const document = await openDocument(bytes)
    try {
      const count = document.getPageCount()
      if (count < 1) throw new MediaFault('bad_file', 'The PDF has no pages.')
      if (count > MOST_PAGES)
        throw new MediaFault('too_large', `The PDF has more than ${MOST_PAGES.toLocaleString('en')} pages.`)
      return await work(document, count)
    } finally {
      document.destroy()
    }
  })
}

interface PageRange {
  readonly from_page: number
  readonly to_page: number | null
}

/** The numbers of the requested pages, from 1. */
function listPageNumbers({ from_page, to_page }: PageRange, count: number): number[] {
  if (from_page > count) throw new MediaFault('bad_input', `The PDF has ${count} pages, and no page ${from_page}.`)
  const last = Math.min(to_page ?? count, count)
  if (last < from_page) throw new MediaFault('bad_input', 'The last page comes before the first.')
  return Array.from({ length: last - from_page + 1 }, (_, index) => from_page + index)
}

interface SizedPage {
  readonly page: PDFiumPage
  readonly width: number
  readonly height: number
}

/** Opens a page. Its size is in points, after its rotation. */
export function openPage(document: PDFiumDocument, number: number): SizedPage {
  const page = document.getPage(number - 1)
  const { originalWidth: width, originalHeight: height } = page.getOriginalSize()
  if (width <= 0 || height <= 0) throw new MediaFault('bad_file', `The PDF is damaged: page ${number} cannot be read.`)
  return { page, width, height }
}

/** Rounds, since sizes come as single-precision numbers. */
function roundPoints(length: number): number {
  return Math.round(length * 1_000) / 1_000
}

export const readPdfInfo: MediaTaskHandler = ([bytes]) =>
  withPdfDocument(bytes!, (document, count) => {
    const pages = Array.from({ length: count }, (_, index) => {
      const { width, height } = openPage(document, index + 1)
      return { page: index + 1, width: roundPoints(width), height: roundPoints(height) }
    })
    return { value: { page_count: count, pages } }
  })

/** Unifies line ends, and removes PDFium's mark of a hyphen at a line's end and noncharacters. */
function cleanPageText(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll('\r', '\n')
    .replaceAll(/[\0\ufffe\uffff]/g, '')
    .toWellFormed()
    .trim()
}

export const readPdfText: MediaTaskHandler = ([bytes], params) =>
  withPdfDocument(bytes!, (document, count) => {
    let length = 0
    const pages = listPageNumbers(params as unknown as PageRange, count).map((number) => {
      const text = cleanPageText(openPage(document, number).page.getText())
      length += text.length + 2
      guardDocumentText(length)
      return text
    })
    return { value: { page_count: count, pages } }
  })

interface DrawPagesParams extends PageRange {
  readonly dpi: number
  readonly format: ImageFormat
  readonly quality: number | null
}

function pixelSizeOf({ width, height }: SizedPage, dpi: number): { width: number; height: number } {
  const pixels = (length: number) => Math.max(1, Math.round((length * dpi) / POINTS_PER_INCH))
  const size = { width: pixels(width), height: pixels(height) }
  if (Math.max(size.width, size.height) > LONGEST_SIDE || size.width * size.height > MOST_PAGE_PIXELS)
    throw new MediaFault('too_large', `A page would have ${size.width} × ${size.height} pixels. Take fewer dpi.`)
  return size
}

async function drawPage(sized: SizedPage, { dpi, format, quality }: DrawPagesParams): Promise<MediaTaskResult> {
  const size = pixelSizeOf(sized, dpi)
  return writeImage(await renderPage(sized, size), { format, quality })
}

export async function renderPage({ page }: SizedPage, size: { width: number; height: number }): Promise<Sharp> {
  const { data } = await page.render({ ...size, scale: 1, render: async (bitmap) => bitmap.data })
  // The alpha channel is opaque everywhere.
  return sharp(data, { raw: { ...size, channels: 4 } }).removeAlpha()
}

export const drawPdfPages: MediaTaskHandler = ([bytes], params) =>
  withPdfDocument(bytes!, async (document, count) => {
    const drawing = params as unknown as DrawPagesParams
    const numbers = listPageNumbers(drawing, count)
    if (numbers.length > MOST_DRAWN)
      throw new MediaFault('too_large', `More than ${MOST_DRAWN} pages would be drawn. Choose fewer pages.`)
    const pages: MediaTaskResult[] = []
    let [pixels, taken] = [0, 0]
    for (const number of numbers) {
      const sized = openPage(document, number)
      const { width, height } = pixelSizeOf(sized, drawing.dpi)
      pixels += width * height
      if (pixels > MOST_PIXELS) throw new MediaFault('too_large', 'The pages would have more than 400 million pixels.')
      const page = await drawPage(sized, drawing)
      taken += page.files![0]!.length
      if (taken > MOST_BYTES) throw new MediaFault('too_large', 'The pages would have more than 100,000,000 bytes.')
      pages.push(page)
    }
    const files = pages.map((page) => page.files![0]!)
    return { files, value: { page_count: count, pages: pages.map((page) => page.value) } }
  })
