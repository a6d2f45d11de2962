// What is in a ZIP file, by its directory, which is held against the file before anything is unpacked. The library is yauzl.
import { type Entry as Found, fromBufferPromise, getFileNameLowLevel, type ZipFile } from 'yauzl'
import { MediaFault } from '../fault.ts'
import { guardNames } from './archive-names.ts'

const MOST_ENTRIES = 10_000

export interface Entry {
  readonly name: string
  /** Links, devices and the like are `other`. */
  readonly kind: 'file' | 'directory' | 'other'
  readonly encrypted: boolean
  readonly method: number
  readonly size: number
  readonly compressed_size: number
  readonly crc: number
  /** Where the packed bytes begin. */
  readonly start: number
}

/** Where an entry lies, its header included. */
interface Span {
  readonly from: number
  readonly to: number
}

export function damaged(what: string, cause?: unknown): MediaFault {
  return new MediaFault('bad_file', `The archive is damaged: ${what}.`, { cause })
}

/** @throws MediaFault `bad_file`, `unsupported`, `too_large` */
export async function entriesOf(bytes: Uint8Array): Promise<Entry[]> {
  const zip = await opened(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  if (zip.entryCount > MOST_ENTRIES)
    throw new MediaFault('too_large', `The archive has more than ${MOST_ENTRIES.toLocaleString('en')} entries.`)
  const entries: Entry[] = []
  const spans: Span[] = []
  try {
    for await (const found of zip.eachEntry()) {
      const { entry, span } = await located(zip, found)
      entries.push(entry)
      spans.push(span)
    }
  } catch (error) {
    throw error instanceof MediaFault ? error : faultOf(error as Error)
  }
  guardSpans(spans, bytes.length)
  guardNames(
    entries.map(({ name }) => name),
    'bad_file',
  )
  return entries
}

async function opened(bytes: Buffer): Promise<ZipFile> {
  const begins = bytes.subarray(0, 4).toString('latin1')
  if (begins !== 'PK\x03\x04' && begins !== 'PK\x05\x06')
    throw new MediaFault('unsupported', 'The file is no ZIP archive: it does not begin as one.')
  try {
    // Names are read here, and sizes are looked at when something is unpacked.
    return await fromBufferPromise(bytes, { decodeStrings: false, validateEntrySizes: false })
  } catch (error) {
    throw faultOf(error as Error)
  }
}

function faultOf(error: Error): MediaFault {
  if (/encryption/.test(error.message))
    return new MediaFault('unsupported', 'The archive is encrypted.', { cause: error })
  if (/multi-disk/.test(error.message))
    return new MediaFault('unsupported', 'The archive is one part of several.', { cause: error })
  return damaged('its directory cannot be read', error)
}

async function located(zip: ZipFile, found: Found): Promise<{ entry: Entry; span: Span }> {
  const name = nameOf(found)
  const local = await zip.readLocalFileHeaderPromise(found)
  // Programs that unpack go by the one or the other.
  if (!local.fileName.equals(found.fileNameRaw)) throw damaged('a file has two names')
  const { compressedSize: compressed_size, uncompressedSize: size, relativeOffsetOfLocalHeader: from } = found
  const start = local.fileDataStart
  const encrypted = found.isEncrypted()
  const entry = {
    name,
    kind: kindOf(found, name),
    encrypted,
    method: found.compressionMethod,
    size,
    compressed_size,
    start,
  }
  return { entry: { ...entry, crc: found.crc32 }, span: { from, to: start + compressed_size } }
}

function nameOf({ generalPurposeBitFlag, fileNameRaw, extraFields }: Found): string {
  // The old code page has signs such as ◙ for these bytes; programs that unpack have not.
  if (fileNameRaw.some((byte) => byte < 0x20 || byte === 0x7f)) throw damaged('a name in it has control characters')
  return getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, true)
}

const UNIX = 3
const TYPE_BITS = 0o170000
const REGULAR = 0o100000
const DIRECTORY = 0o040000

function kindOf({ versionMadeBy, externalFileAttributes, uncompressedSize }: Found, name: string): Entry['kind'] {
  const type = versionMadeBy >> 8 === UNIX ? (externalFileAttributes >>> 16) & TYPE_BITS : 0
  const isDirectory = name.endsWith('/')
  if (isDirectory && uncompressedSize > 0) throw damaged('a folder in it has content')
  if (isDirectory) return type === 0 || type === DIRECTORY ? 'directory' : 'other'
  return type === 0 || type === REGULAR ? 'file' : 'other'
}

/** Entries that share bytes make a small file a large one; and what lies before the first is another file, to other programs. */
function guardSpans(spans: readonly Span[], length: number): void {
  let end = 0
  for (const { from, to } of spans.toSorted((a, b) => a.from - b.from)) {
    if (end === 0 && from !== 0) throw damaged('it begins with something else')
    if (from < end || to > length) throw damaged('its files lie over each other')
    end = to
  }
}
