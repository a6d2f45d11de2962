// Office files: ZIP archives of XML. What is in one is judged here before a library sees it, which then gets a new archive of these very parts: nothing in
// it is compressed, hidden, written twice, or said in one place and otherwise in another.
import { crc32 } from 'node:zlib'
import { type Entry, fromBufferPromise, type ZipFile } from 'yauzl'
import { ZipFile as Archive } from 'yazl'
import { MediaFault } from '../../fault.ts'
import { mapDocumentErrors } from './limits-and-errors.ts'

const MOST_ENTRIES = 10_000
/** In bytes, of all XML that is read of one file. */
const MOST_XML = 64_000_000
/** Above so many bytes, XML that was packed so well is none that anybody wrote. */
const SUSPECT_BYTES = 10_000_000
const MOST_RATIO = 250

export interface OfficePackage {
  /** Paths of all files in it. */
  readonly names: ReadonlySet<string>
  /** The XML of one, in its plainest form: without comments, and without a declaration of types. @throws MediaFault */
  readXml(name: string): Promise<string>
}

/** @throws MediaFault `unsupported`, `bad_file`, `too_large` */
export function openPackage(bytes: Uint8Array, what: string): Promise<OfficePackage> {
  return mapDocumentErrors(what, async () => {
    guardKind(bytes, what)
    const zip = await fromBufferPromise(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), {
      lazyEntries: true,
      autoClose: false,
      strictFileNames: true,
    })
    const entries = await listEntries(zip, bytes.length, what)
    if (!entries.has('[Content_Types].xml'))
      throw new MediaFault('unsupported', `${what} is a ZIP archive of another kind.`)
    let left = MOST_XML
    const readXml = (name: string) =>
      mapDocumentErrors(what, async () => {
        const entry = entries.get(name)
        if (!entry) throw new MediaFault('bad_file', `${what} is damaged: ${name} is missing.`)
        left -= entry.uncompressedSize
        if (left < 0)
          throw new MediaFault('too_large', `${what} holds more than ${formatMegabytes(MOST_XML)} of text and marks.`)
        return toPlainXml(await unpackEntry(zip, entry, what), what)
      })
    return { names: new Set(entries.keys()), readXml }
  })
}

function formatMegabytes(bytes: number): string {
  return `${bytes / 1_000_000} megabytes`
}

const OLE_SIGNATURE = Buffer.from('d0cf11e0a1b11ae1', 'hex')

function guardKind(bytes: Uint8Array, what: string): void {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 8))
  if (start.equals(OLE_SIGNATURE))
    throw new MediaFault('unsupported', `${what} is encrypted, or of the binary format of before 2007.`)
  if (!start.toString('latin1').startsWith('PK\u0003\u0004'))
    throw new MediaFault('unsupported', `${what} is of another kind.`)
}

async function listEntries(zip: ZipFile, bytes: number, what: string): Promise<Map<string, Entry>> {
  if (zip.entryCount > MOST_ENTRIES)
    throw new MediaFault('too_large', `${what} holds more than ${MOST_ENTRIES.toLocaleString('en')} files.`)
  const entries = new Map<string, Entry>()
  let packed = 0
  for await (const entry of zip.eachEntry()) {
    if (entries.has(entry.fileName)) throw new MediaFault('bad_file', `${what} holds two files of one name.`)
    packed += entry.compressedSize
    entries.set(entry.fileName, entry)
  }
  // Entries that share bytes can unfold to far more than there is.
  if (packed > bytes) throw new MediaFault('bad_file', `${what} holds files that overlap.`)
  return entries
}

async function unpackEntry(zip: ZipFile, entry: Entry, what: string): Promise<Buffer> {
  const { uncompressedSize: size, compressedSize: packed } = entry
  if (entry.isEncrypted()) throw new MediaFault('unsupported', `${what} is encrypted.`)
  if (size > SUSPECT_BYTES && size > packed * MOST_RATIO)
    throw new MediaFault('too_large', `${what} unfolds to more than ${MOST_RATIO} times its size.`)
  const chunks: Buffer[] = []
  // A stream of more bytes than the entry says ends in an error.
  for await (const chunk of await zip.openReadStreamPromise(entry)) chunks.push(chunk as Buffer)
  const bytes = Buffer.concat(chunks)
  if (crc32(bytes) !== entry.crc32) throw new MediaFault('bad_file', `${what} is damaged: a checksum is wrong.`)
  return bytes
}

function toPlainXml(bytes: Buffer, what: string): string {
  const charset =
    bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : 'utf-8'
  const text = new TextDecoder(charset, { fatal: true }).decode(bytes)
  const pieces: string[] = []
  let from = 0
  for (let at = text.indexOf('<!'); at >= 0; at = text.indexOf('<!', from)) {
    const comment = text.startsWith('<!--', at)
    // Types and entities are of no use in these files, and of much use to whoever wants to do harm.
    if (!comment && !text.startsWith('<![CDATA[', at))
      throw new MediaFault('bad_file', `${what} declares types or entities in its XML, which is refused.`)
    const end = text.indexOf(comment ? '-->' : ']]>', at + 4)
    if (end < 0) throw new MediaFault('bad_file', `${what} is damaged: its XML is cut off.`)
    pieces.push(text.slice(from, at))
    if (!comment) pieces.push(escapeXml(text.slice(at + '<![CDATA['.length, end)))
    from = end + 3
  }
  return pieces.join('') + text.slice(from)
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** A ZIP archive of some parts, nothing compressed. */
export async function packParts(parts: ReadonlyMap<string, string>): Promise<Buffer> {
  const archive = new Archive()
  for (const [name, text] of parts) archive.addBuffer(Buffer.from(text), name, { compress: false })
  archive.end()
  const chunks: Buffer[] = []
  for await (const chunk of archive.outputStream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
