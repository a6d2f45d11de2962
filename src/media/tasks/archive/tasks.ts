// The tasks for ZIP archives, which yauzl reads and yazl writes.

import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { crc32, inflateRawSync } from 'node:zlib'
import { ZipFile } from 'yazl'
import { truncateText } from '../../../shared/text-truncation.ts'
import { MediaFault } from '../../fault.ts'
import type { MediaTaskHandlers, MediaTaskResult } from '../../task-runner.ts'
import { guardEntryNames } from './entry-names.ts'
import { damagedArchive, readZipDirectory, type ZipEntry } from './zip-directory.ts'

/** For all files that are extracted from one archive. */
const MOST_BYTES = 100_000_000
const MOST_FILES = 1_000
/** The highest compression ratio of a file above UNCHECKED_BYTES. Honest files stay below it. */
const MOST_GROWTH = 200
const UNCHECKED_BYTES = 1_000_000

interface ZipParams {
  readonly names: readonly string[]
  /** From 0, without compression, to 9. */
  readonly level: number
}

/** A fixed time, so that equal files in equal order give equal bytes: the start of the ZIP calendar. */
const DOS_EPOCH = new Date(1980, 0, 1)

async function zipFiles(files: readonly Uint8Array[], { names, level }: ZipParams): Promise<MediaTaskResult> {
  guardEntryNames(names, 'bad_input')
  const zip = new ZipFile()
  const options = { mtime: DOS_EPOCH, forceDosTimestamp: true, mode: 0o100644, compressionLevel: level }
  for (const [index, file] of files.entries()) zip.addBuffer(Buffer.from(file), names[index]!, options)
  zip.end()
  return { files: [await buffer(zip.outputStream as Readable)] }
}

async function unzipFiles(bytes: Uint8Array, only: readonly string[] | null): Promise<MediaTaskResult> {
  const entries = await readZipDirectory(bytes)
  const wanted = only === null ? null : new Set(only)
  const missing = only?.find((name) => !entries.some((entry) => entry.name === name))
  if (missing !== undefined)
    throw new MediaFault('bad_input', `The archive has no file "${truncateText(missing, 100)}".`)
  const chosen = entries.filter(({ kind, name }) => kind !== 'directory' && (wanted === null || wanted.has(name)))
  guardSelection(chosen)
  const files = chosen.map((entry) => unpackEntry(bytes, entry))
  return { files, value: chosen.map(({ name }) => name) }
}

/** Files that are not extracted need no check. */
const SELECTION_HINT = 'Name the other files to extract only those.'

function guardSelection(entries: readonly ZipEntry[]): void {
  if (entries.length > MOST_FILES)
    throw new MediaFault(
      'too_large',
      `The archive has more than ${MOST_FILES.toLocaleString('en')} files. Name the files to extract.`,
    )
  let bytes = 0
  for (const { name, kind, encrypted, method, size, compressed_size } of entries) {
    if (kind === 'other')
      throw new MediaFault(
        'unsupported',
        `"${name}" in the archive is a link or a device, and no regular file. ${SELECTION_HINT}`,
      )
    if (encrypted) throw new MediaFault('unsupported', `"${name}" in the archive is encrypted. ${SELECTION_HINT}`)
    if (method !== 0 && method !== 8)
      throw new MediaFault('unsupported', `"${name}" in the archive has an unsupported compression. ${SELECTION_HINT}`)
    bytes += size
    if (bytes > MOST_BYTES)
      throw new MediaFault(
        'too_large',
        `The files have more than ${MOST_BYTES.toLocaleString('en')} bytes. Name the files to extract.`,
      )
    if (size > UNCHECKED_BYTES && size > compressed_size * MOST_GROWTH)
      throw new MediaFault('too_large', `"${name}" in the archive would grow more than ${MOST_GROWTH} times.`)
  }
}

function unpackEntry(bytes: Uint8Array, { name, method, size, start, compressed_size, crc }: ZipEntry): Uint8Array {
  const packed = bytes.subarray(start, start + compressed_size)
  const file = method === 0 ? packed : inflateEntry(packed, size, name)
  if (file.length !== size || crc32(file) !== crc)
    throw damagedArchive(`"${name}" in it does not match its size or checksum`)
  return file
}

function inflateEntry(packed: Uint8Array, size: number, name: string): Uint8Array {
  try {
    return inflateRawSync(packed, { maxOutputLength: Math.max(1, size) })
  } catch (error) {
    throw damagedArchive(`"${name}" in it does not unpack to its stated size`, error)
  }
}

export const archiveTasks: MediaTaskHandlers = {
  'archive.zip': (files, params) => zipFiles(files, params as unknown as ZipParams),
  'archive.unzip': ([bytes], { names }) => unzipFiles(bytes!, names as string[] | null),
  'archive.list': async ([bytes]) => ({
    value: (await readZipDirectory(bytes!)).map(({ name, kind, encrypted, size, compressed_size }) => ({
      name,
      kind,
      encrypted,
      size,
      compressed_size,
    })),
  }),
}
