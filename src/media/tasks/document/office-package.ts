// Opens and checks Office files, which are ZIP archives of XML. The libraries never get the original: they get a new archive of the checked parts, without
// compression, hidden data, duplicates or contradictory headers.
import { crc32 } from 'node:zlib'
import { type Entry, fromBufferPromise, type ZipFile } from 'yauzl'
import { ZipFile as Archive } from 'yazl'
import { MediaFault } from '../../fault.ts'
import { mapDocumentErrors } from './limits-and-errors.ts'

const MOST_ENTRIES = 10_000
/** In bytes, for all XML that is read from one file. */
const MOST_XML = 64_000_000
/** Larger XML with a compression ratio above MOST_RATIO is taken for an attack. */
const SUSPECT_BYTES = 10_000_000
const MOST_RATIO = 250

export interface OfficePackage {
  /** The paths of all files in the package. */
  readonly names: ReadonlySet<string>
  /** Reads the XML of a file, without comments and CDATA sections. @throws MediaFault */
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
        if (left < 0) throw new MediaFault('too_large', `${what} holds more than ${formatMegabytes(MOST_XML)} of XML.`)
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
    throw new MediaFault('unsupported', `${what} is encrypted, or has the binary format from before 2007.`)
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
  // Entries that share bytes can unpack to far more than the file's size.
  if (packed > bytes) throw new MediaFault('bad_file', `${what} holds files that overlap.`)
  return entries
}

async function unpackEntry(zip: ZipFile, entry: Entry, what: string): Promise<Buffer> {
  const { uncompressedSize: size, compressedSize: packed } = entry
  if (entry.isEncrypted()) throw new MediaFault('unsupported', `${what} is encrypted.`)
  if (size > SUSPECT_BYTES && size > packed * MOST_RATIO)
    throw new MediaFault('too_large', `${what} unpacks to more than ${MOST_RATIO} times its size.`)
  const chunks: Buffer[] = []
  // A stream with more bytes than the entry's stated size fails.
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
    // These files need no types or entities, but attackers use them.
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

/** Makes a ZIP archive without compression. */
export async function packParts(parts: ReadonlyMap<string, string>): Promise<Buffer> {
  const archive = new Archive()
  for (const [name, text] of parts) archive.addBuffer(Buffer.from(text), name, { compress: false })
  archive.end()
  const chunks: Buffer[] = []
  for await (const chunk of archive.outputStream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
