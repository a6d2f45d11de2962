// Fetches one file of a hub. Bytes that are stored already are not fetched again, and the file gets its name only when it is complete and
// verified.
import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { tryLockFile } from '../db/files/data-folder.ts'
import { fsyncFolder } from '../shared/fsync-folder.ts'
import { DownloadError } from './error.ts'
import { type FileLocation, resolveFileLocation } from './file-location.ts'
import type { HubClient } from './hub-client.ts'
import type { HubFile } from './hub-file.ts'
import { retryTransient } from './retry.ts'

export interface FileFetchParts {
  readonly hub: HubClient
  readonly repo_id: string
  readonly file: HubFile
  /** The models folder. */
  readonly folder: string
  readonly signal: AbortSignal
  /** The first pause after an interruption, in milliseconds. */
  readonly pause_ms: number
  /** Called with the number of stored bytes of the file. */
  onStored(bytes: number): void
}

/** The bytes are not those that the hub promised. */
export class ContentMismatchError extends DownloadError {
  /** Whether the fetch resumed from stored bytes, which may be the wrong ones. */
  readonly resumed: boolean
  constructor(message: string, resumed: boolean) {
    super(`${message} The file may have changed meanwhile.`)
    this.resumed = resumed
  }
}

/** Milliseconds between attempts to get the lock of another fetch. */
const LOCK_POLL_MS = 200

/** @throws DownloadError; the signal's reason; the error of the system */
export async function fetchFile(fetching: FileFetchParts): Promise<void> {
  const { file, folder, repo_id, signal, pause_ms, onStored } = fetching
  const location = await resolveFileLocation(folder, repo_id, file)
  if (await isAlreadyFetched(location.path, file, signal)) return onStored(file.size)
  await mkdir(location.unfinished, { recursive: true, mode: 0o700 })
  using _lock = await acquireFileLock(fetching, location)
  // The former holder of the lock may have fetched the file.
  if (!(await isAlreadyFetched(location.path, file, signal))) {
    const progress = () => fileSizeOf(location.partial)
    await retryTransient(() => fetchWithRestart(fetching, location), { signal, pause_ms, progress })
  }
  for (const path of [location.tag, location.lock]) await rm(path, { force: true })
  onStored(file.size)
}

/** Waits while this server or another process fetches the same file, for as long as that takes, because its bytes need not be fetched again. */
async function acquireFileLock(
  { file, signal, onStored }: FileFetchParts,
  location: FileLocation,
): Promise<Disposable> {
  for (;;) {
    const lock = tryLockFile(location.lock)
    if (lock) return lock
    onStored(Math.min(file.size, Math.max(0, await fileSizeOf(location.partial))))
    await setTimeout(LOCK_POLL_MS, null, { signal })
  }
}

/** If a resumed fetch gives wrong content, the fetch starts once more from the beginning. */
async function fetchWithRestart(fetching: FileFetchParts, location: FileLocation): Promise<void> {
  try {
    await completeFile(fetching, location)
  } catch (error) {
    if (!(error instanceof ContentMismatchError) || !error.resumed) throw error
    await completeFile(fetching, location)
  }
}

async function completeFile(fetching: FileFetchParts, location: FileLocation): Promise<void> {
  const { signal } = fetching
  {
    await using partial = await open(location.partial, 'a+', 0o600)
    try {
      await fetchMissingBytes(fetching, location, partial)
    } catch (error) {
      if (error instanceof ContentMismatchError) await rm(location.partial, { force: true })
      throw error
    }
    await partial.sync()
  }
  signal.throwIfAborted()
  await mkdir(dirname(location.path), { recursive: true, mode: 0o700 })
  await rename(location.partial, location.path)
  fsyncFolder(dirname(location.path))
}

/** Fetches the missing bytes. @throws ContentMismatchError; DownloadError; the signal's reason; the error of the system */
async function fetchMissingBytes(
  { hub, repo_id, file, signal, onStored }: FileFetchParts,
  location: FileLocation,
  partial: FileHandle,
): Promise<void> {
  let resumed = true
  const verify = (hex: string) => {
    if (hex === file.digest.hex) return
    throw new ContentMismatchError(`"${file.path}" has another digest than the hub says.`, resumed)
  }
  let hash = createFileHash(file)
  let size = (await partial.stat()).size
  const tag = await readFile(location.tag, 'utf8').catch(() => null)
  if (size > file.size || (size < file.size && tag === null)) size = 0
  await partial.truncate(size)
  await hashFile(hash, location.partial, size, signal)
  onStored(size)
  if (size === file.size) return verify(hash.digest('hex'))
  const answer = await hub.openFile(repo_id, file.path, size, tag, signal)
  resumed = answer.from > 0
  try {
    if (answer.from !== size) {
      await partial.truncate(0)
      hash = createFileHash(file)
      size = 0
    }
    if (answer.etag === null) await rm(location.tag, { force: true })
    else await writeFile(location.tag, answer.etag, { mode: 0o600 })
    for await (const piece of answer.bytes) {
      signal.throwIfAborted()
      size += piece.length
      if (size > file.size) throw new ContentMismatchError(`"${file.path}" is longer than the hub says.`, resumed)
      await partial.appendFile(piece)
      hash.update(piece)
      onStored(size)
    }
  } finally {
    answer.discard()
  }
  if (size < file.size)
    throw new DownloadError(`The download of "${file.path}" was interrupted.`, { isTransient: true })
  verify(hash.digest('hex'))
}

async function isAlreadyFetched(path: string, file: HubFile, signal: AbortSignal): Promise<boolean> {
  if ((await fileSizeOf(path)) !== file.size) return false
  const hash = createFileHash(file)
  await hashFile(hash, path, file.size, signal)
  return hash.digest('hex') === file.digest.hex
}

/** Returns the size of a file, or −1 if there is none. */
export async function fileSizeOf(path: string): Promise<number> {
  const found = await lstat(path).catch(() => null)
  return found?.isFile() ? found.size : -1
}

/** As git counts it, the length goes before the content. */
function createFileHash({ size, digest }: HubFile): Hash {
  return digest.kind === 'sha256' ? createHash('sha256') : createHash('sha1').update(`blob ${size}\0`)
}

/** Adds the first `length` bytes of a file. */
async function hashFile(hash: Hash, path: string, length: number, signal: AbortSignal): Promise<void> {
  if (length === 0) return
  for await (const piece of createReadStream(path, { end: length - 1, highWaterMark: 1 << 20, signal }))
    hash.update(piece as Buffer)
}
