// Reads the directory of a ZIP file with yauzl, and checks it against the file before anything is unpacked.
import { type Entry as Found, fromBufferPromise, getFileNameLowLevel, type ZipFile } from 'yauzl'
import { MediaFault } from '../../fault.ts'
import { guardEntryNames } from './entry-names.ts'

const MOST_ENTRIES = 10_000

export interface ZipEntry {
  readonly name: string
  /** Links, devices and the like are `other`. */
  readonly kind: 'file' | 'directory' | 'other'
  readonly encrypted: boolean
  readonly method: number
  readonly size: number
  readonly compressed_size: number
  readonly crc: number
  /** The offset of the packed bytes. */
  readonly start: number
}

/** The range of an entry with its header. */
interface ByteRange {
  readonly from: number
  readonly to: number
}

export function damagedArchive(what: string, cause?: unknown): MediaFault {
  return new MediaFault('bad_file', `The archive is damaged: ${what}.`, { cause })
}

/** @throws MediaFault `bad_file`, `unsupported`, `too_large` */
export async function readZipDirectory(bytes: Uint8Array): Promise<ZipEntry[]> {
  const zip = await openZip(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  if (zip.entryCount > MOST_ENTRIES)
    throw new MediaFault('too_large', `The archive has more than ${MOST_ENTRIES.toLocaleString('en')} entries.`)
  const entries: ZipEntry[] = []
  const spans: ByteRange[] = []
  try {
    for await (const found of zip.eachEntry()) {
      const { entry, span } = await locateEntry(zip, found)
      entries.push(entry)
      spans.push(span)
    }
  } catch (error) {
    throw error instanceof MediaFault ? error : toMediaFault(error as Error)
  }
  guardOverlaps(spans, bytes.length)
  guardEntryNames(
    entries.map(({ name }) => name),
    'bad_file',
  )
  return entries
}

async function openZip(bytes: Buffer): Promise<ZipFile> {
  const begins = bytes.subarray(0, 4).toString('latin1')
  if (begins !== 'PK\x03\x04' && begins !== 'PK\x05\x06')
    throw new MediaFault('unsupported', 'The file is no ZIP archive: it does not begin as one.')
  try {
    // This module decodes names itself, and sizes are checked at unpacking.
    return await fromBufferPromise(bytes, { decodeStrings: false, validateEntrySizes: false })
  } catch (error) {
    throw toMediaFault(error as Error)
  }
}

function toMediaFault(error: Error): MediaFault {
  if (/encryption/.test(error.message))
    return new MediaFault('unsupported', 'The archive is encrypted.', { cause: error })
  if (/multi-disk/.test(error.message))
    return new MediaFault('unsupported', 'The archive is one part of several.', { cause: error })
  return damagedArchive('its directory cannot be read', error)
}

async function locateEntry(zip: ZipFile, found: Found): Promise<{ entry: ZipEntry; span: ByteRange }> {
  const name = readEntryName(found)
  const local = await zip.readLocalFileHeaderPromise(found)
  // Programs differ in which of the two names they use.
  if (!local.fileName.equals(found.fileNameRaw)) throw damagedArchive('a file has two names')
  const { compressedSize: compressed_size, uncompressedSize: size, relativeOffsetOfLocalHeader: from } = found
  const start = local.fileDataStart
  const encrypted = found.isEncrypted()
  const entry = {
    name,
    kind: readEntryKind(found, name),
    encrypted,
    method: found.compressionMethod,
    size,
    compressed_size,
    start,
  }
  return { entry: { ...entry, crc: found.crc32 }, span: { from, to: start + compressed_size } }
}

function readEntryName({ generalPurposeBitFlag, fileNameRaw, extraFields }: Found): string {
  // The old code page shows these bytes as symbols such as ◙, but other programs treat them as control characters.
  if (fileNameRaw.some((byte) => byte < 0x20 || byte === 0x7f))
    throw damagedArchive('a name in it has control characters')
  return getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, true)
}

const UNIX = 3
const TYPE_BITS = 0o170000
const REGULAR = 0o100000
const DIRECTORY = 0o040000

function readEntryKind(
  { versionMadeBy, externalFileAttributes, uncompressedSize }: Found,
  name: string,
): ZipEntry['kind'] {
  const type = versionMadeBy >> 8 === UNIX ? (externalFileAttributes >>> 16) & TYPE_BITS : 0
  const isDirectory = name.endsWith('/')
  if (isDirectory && uncompressedSize > 0) throw damagedArchive('a folder in it has content')
  if (isDirectory) return type === 0 || type === DIRECTORY ? 'directory' : 'other'
  return type === 0 || type === REGULAR ? 'file' : 'other'
}

/** Entries that share bytes can unpack to far more than the file's size. Data before the first entry may be another file to other programs. */
function guardOverlaps(spans: readonly ByteRange[], length: number): void {
  let end = 0
  for (const { from, to } of spans.toSorted((a, b) => a.from - b.from)) {
    if (end === 0 && from !== 0) throw damagedArchive('it begins with something else')
    if (from < end || to > length) throw damagedArchive('its files overlap')
    end = to
  }
}
