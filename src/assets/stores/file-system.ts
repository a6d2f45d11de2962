// This file writes the files of the local store durably, and reads files and folders without following links.
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

/** Opening does not follow a link in the last segment of a path, and does not wait for a pipe or a device. Windows has no such flags. */
const READ_FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

export function ensureFolder(path: string): void {
  if (!existsSync(path)) mkdirSync(path, { mode: 0o700 })
}

export interface WriteContext {
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly spare: BufferPool
}

/** Writes all bytes of a source to an open file, and syncs the file to disk. */
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
    // A chunk may be a whole large file: hashing it at once would hold up all other work.
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

/** Returns the stats of a file below `top`, or null if there is none. */
export function statFileSync(path: string, top: string): Stats | null {
  if (hasLinkedFolder(path, top)) return null
  try {
    const found = lstatSync(path)
    return found.isFile() ? found : null
  } catch (error) {
    return nullIfMissing(error as NodeJS.ErrnoException)
  }
}

/** Returns the stats of what a path below `top` names, or null. */
export async function statWithin(path: string, top: string): Promise<Stats | null> {
  return hasLinkedFolder(path, top) ? null : await lstat(path).catch(nullIfMissing)
}

/** Opens a file below `top` for reading, or returns null if there is none. The handle may also be that of a folder or a device. */
export async function openForReading(path: string, top: string): Promise<FileHandle | null> {
  return hasLinkedFolder(path, top) ? null : await open(path, READ_FLAGS).catch(nullIfMissing)
}

/** Whether any folder between `top` and a file is a link. */
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

/** Returns null if the error says that nothing is at the path. A path through a file and a link count as missing. */
export function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'].includes(error.code ?? '')) return null
  throw error
}

/** Yields the keys of the files below a folder that come after `after`, in the order of `compareKeys`. `prefix` is the key of the folder. */
export async function* walkKeys(folder: string, prefix: string, after: string | null): AsyncGenerator<string> {
  // The folder may have been empty, and removed since it was listed.
  const found = (await readdir(folder, { withFileTypes: true }).catch(nullIfMissing)) ?? []
  const entries = found.flatMap((entry) => {
    if (entry.isDirectory()) return [{ entry, key: `${prefix}${entry.name}/` }]
    return entry.isFile() ? [{ entry, key: prefix + entry.name }] : []
  })
  // The slash at the end of a folder's name makes the order that of all keys below the folder.
  for (const { entry, key } of entries.sort((a, b) => compareKeys(a.key, b.key))) {
    if (entry.isFile()) {
      if (after === null || compareKeys(key, after) > 0) yield key
    } else if (after === null || after.startsWith(key) || compareKeys(key, after) > 0)
      yield* walkKeys(join(folder, entry.name), key, after)
  }
}

/** Yields a range of an open file piece by piece, and throws if the file ends too early. */
export async function* readChunks(file: FileHandle, start: number, length: number): AsyncGenerator<Uint8Array> {
  for (let done = 0; done < length; ) {
    const piece = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, length - done))
    const { bytesRead } = await file.read(piece, 0, piece.length, start + done)
    if (bytesRead === 0) throw new Error(`a file has ${start + done} bytes, and ${length} from ${start} were expected`)
    done += bytesRead
    yield piece.subarray(0, bytesRead)
  }
}

/** Removes the folder of a path and its parents below `top`, as long as they are empty. A folder that cannot be removed does no harm. */
export function removeEmptyFolders(path: string, top: string): void {
  for (let folder = dirname(path); folder !== top; folder = dirname(folder)) {
    try {
      rmdirSync(folder)
    } catch {
      return
    }
  }
}
