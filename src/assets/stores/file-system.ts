// Files and folders for the local store: written so that they are on disk, and looked at without following links.
import { createHash } from 'node:crypto'
import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  futimesSync,
  lstatSync,
  mkdirSync,
  openSync,
  rmdirSync,
  type Stats,
  writeFileSync,
} from 'node:fs'
import { type FileHandle, lstat, open, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { compareKeys } from '../storage-keys.ts'
import { BufferedFileWriter } from './buffered-file-writer.ts'
import { type BufferPool, CHUNK_BYTES } from './file-read-stream.ts'
import type { ByteSource, TrailerBuilder, WriteResult } from './object-store.ts'

/** The last segment of a path is never followed as a link, and what is no file is not waited for. Windows knows no such flags. */
const READ_FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

export function ensureFolder(path: string): void {
  if (!existsSync(path)) mkdirSync(path, { mode: 0o700 })
}

export interface WriteContext {
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly spare: BufferPool
}

/** Writes all of a source to a file that is open, and has it on disk. */
export async function writeDurably(
  file: FileHandle,
  source: ByteSource,
  { now, spare }: WriteContext,
  tail?: TrailerBuilder,
): Promise<WriteResult> {
  const hash = createHash('sha256')
  const writes = new BufferedFileWriter(file, spare)
  let size = 0
  for await (const chunk of source instanceof Uint8Array ? [source] : source) {
    size += chunk.length
    // Bytes that are all here are many: to hash them at once would hold everybody up.
    for (let at = 0; at < chunk.length; at += CHUNK_BYTES) {
      const piece = chunk.subarray(at, at + CHUNK_BYTES)
      hash.update(piece)
      await writes.add(piece)
    }
  }
  const written = { size, sha256: hash.digest('hex') }
  if (tail) await writes.add(tail(written))
  await writes.end()
  const seconds = now() / 1_000
  await file.utimes(seconds, seconds)
  await file.sync()
  return written
}

export function writeDurablySync(path: string, parts: readonly Uint8Array[], now: number): void {
  const file = openSync(path, 'wx', 0o600)
  try {
    for (const part of parts) writeFileSync(file, part)
    futimesSync(file, now / 1_000, now / 1_000)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** A file below `top`, or null where there is none. */
export function statFileSync(path: string, top: string): Stats | null {
  if (hasLinkedFolder(path, top)) return null
  try {
    const found = lstatSync(path)
    return found.isFile() ? found : null
  } catch (error) {
    return nullIfMissing(error as NodeJS.ErrnoException)
  }
}

/** What lies below `top` under a path, or null. */
export async function statWithin(path: string, top: string): Promise<Stats | null> {
  return hasLinkedFolder(path, top) ? null : await lstat(path).catch(nullIfMissing)
}

/** A file below `top`, open for reading; null where there is none. What is no file may be open as well. */
export async function openForReading(path: string, top: string): Promise<FileHandle | null> {
  return hasLinkedFolder(path, top) ? null : await open(path, READ_FLAGS).catch(nullIfMissing)
}

/** Whether a folder on the way from `top` to a file is a link to elsewhere. */
export function hasLinkedFolder(path: string, top: string): boolean {
  const folder = dirname(path)
  return folder !== top && (hasLinkedFolder(folder, top) || isLink(folder))
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false
  } catch (error) {
    return nullIfMissing(error as NodeJS.ErrnoException) ?? false
  }
}

/** A path through a file is as missing as one that leads nowhere; so is a link. */
export function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'].includes(error.code ?? '')) return null
  throw error
}

/** The keys of the files below a folder, of which `prefix` is the beginning, behind `after`: in the order of `compareKeys`. */
export async function* walkKeys(folder: string, prefix: string, after: string | null): AsyncGenerator<string> {
  // A folder that held nothing any more may have gone since it was named.
  const found = (await readdir(folder, { withFileTypes: true }).catch(nullIfMissing)) ?? []
  const entries = found.flatMap((entry) => {
    if (entry.isDirectory()) return [{ entry, key: `${prefix}${entry.name}/` }]
    return entry.isFile() ? [{ entry, key: prefix + entry.name }] : []
  })
  // With the slash behind a folder's name, the order is that of all the keys below.
  for (const { entry, key } of entries.sort((a, b) => compareKeys(a.key, b.key))) {
    if (entry.isFile()) {
      if (after === null || compareKeys(key, after) > 0) yield key
    } else if (after === null || after.startsWith(key) || compareKeys(key, after) > 0)
      yield* walkKeys(join(folder, entry.name), key, after)
  }
}

/** Bytes of a file that is open, piece by piece and never too few of them. */
export async function* readChunks(file: FileHandle, start: number, length: number): AsyncGenerator<Uint8Array> {
  for (let done = 0; done < length; ) {
    const piece = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, length - done))
    const { bytesRead } = await file.read(piece, 0, piece.length, start + done)
    if (bytesRead === 0) throw new Error(`a file has ${start + done} bytes, and ${length} from ${start} were expected`)
    done += bytesRead
    yield piece.subarray(0, bytesRead)
  }
}

/** Removes the folder of a path, and those above it below `top`, as long as they are empty. One that cannot be removed does no harm. */
export function removeEmptyFolders(path: string, top: string): void {
  for (let folder = dirname(path); folder !== top; folder = dirname(folder)) {
    try {
      rmdirSync(folder)
    } catch {
      return
    }
  }
}
