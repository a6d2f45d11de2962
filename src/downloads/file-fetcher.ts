// One file of a hub, until it is in its place: what is there already is not fetched again, and nobody sees it before it is whole and checked.
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
  /** The first pause after it broke off, in milliseconds. */
  readonly pause_ms: number
  /** Told how many of its bytes are stored. */
  onStored(bytes: number): void
}

/** What came is not what the hub had promised. */
export class ContentMismatchError extends DownloadError {
  /** Whether its first bytes were there before: it may be them. */
  readonly resumed: boolean
  constructor(message: string, resumed: boolean) {
    super(`${message} It may have changed meanwhile.`)
    this.resumed = resumed
  }
}

/** How long it takes until somebody else's fetching is looked at again, in milliseconds. */
const LOCK_POLL_MS = 200

/** @throws DownloadFault; the signal's reason; what the system throws */
export async function fetchFile(fetching: FileFetchParts): Promise<void> {
  const { file, folder, repo_id, signal, pause_ms, onStored: stored } = fetching
  const place = await resolveFileLocation(folder, repo_id, file)
  if (await isAlreadyFetched(place.path, file, signal)) return stored(file.size)
  await mkdir(place.unfinished, { recursive: true, mode: 0o700 })
  using _held = await acquireFileLock(fetching, place)
  // Whoever held it before may have fetched it.
  if (!(await isAlreadyFetched(place.path, file, signal))) {
    const progress = () => fileSizeOf(place.partial)
    await retryTransient(() => fetchWithRestart(fetching, place), { signal, pause_ms, progress })
  }
  for (const path of [place.tag, place.lock]) await rm(path, { force: true })
  stored(file.size)
}

/** Waits for whoever fetches the same file, of this server or another process, for as long as that lasts: what they have fetched is not fetched again. */
async function acquireFileLock(
  { file, signal, onStored: stored }: FileFetchParts,
  place: FileLocation,
): Promise<Disposable> {
  for (;;) {
    const lock = tryLockFile(place.lock)
    if (lock) return lock
    stored(Math.min(file.size, Math.max(0, await fileSizeOf(place.partial))))
    await setTimeout(LOCK_POLL_MS, null, { signal })
  }
}

/** What went on from bytes that are of no use begins once more without them. */
async function fetchWithRestart(fetching: FileFetchParts, place: FileLocation): Promise<void> {
  try {
    await completeFile(fetching, place)
  } catch (error) {
    if (!(error instanceof ContentMismatchError) || !error.resumed) throw error
    await completeFile(fetching, place)
  }
}

async function completeFile(fetching: FileFetchParts, place: FileLocation): Promise<void> {
  const { signal } = fetching
  {
    await using partial = await open(place.partial, 'a+', 0o600)
    try {
      await fetchMissingBytes(fetching, place, partial)
    } catch (error) {
      if (error instanceof ContentMismatchError) await rm(place.partial, { force: true })
      throw error
    }
    await partial.sync()
  }
  signal.throwIfAborted()
  await mkdir(dirname(place.path), { recursive: true, mode: 0o700 })
  await rename(place.partial, place.path)
  fsyncFolder(dirname(place.path))
}

/** Fetches what is missing. @throws WrongContent; DownloadFault; the signal's reason; what the system throws */
async function fetchMissingBytes(
  { hub, repo_id, file, signal, onStored: stored }: FileFetchParts,
  place: FileLocation,
  partial: FileHandle,
): Promise<void> {
  let resumed = true
  const judge = (hex: string) => {
    if (hex === file.digest.hex) return
    throw new ContentMismatchError(`"${file.path}" is not what the hub says it is: its digest is another one.`, resumed)
  }
  let hash = createFileHash(file)
  let size = (await partial.stat()).size
  const tag = await readFile(place.tag, 'utf8').catch(() => null)
  if (size > file.size || (size < file.size && tag === null)) size = 0
  await partial.truncate(size)
  await hashFile(hash, place.partial, size, signal)
  stored(size)
  if (size === file.size) return judge(hash.digest('hex'))
  const answer = await hub.openFile(repo_id, file.path, size, tag, signal)
  resumed = answer.from > 0
  try {
    if (answer.from !== size) {
      await partial.truncate(0)
      hash = createFileHash(file)
      size = 0
    }
    if (answer.etag === null) await rm(place.tag, { force: true })
    else await writeFile(place.tag, answer.etag, { mode: 0o600 })
    for await (const piece of answer.bytes) {
      signal.throwIfAborted()
      size += piece.length
      if (size > file.size) throw new ContentMismatchError(`"${file.path}" is longer than the hub says.`, resumed)
      await partial.appendFile(piece)
      hash.update(piece)
      stored(size)
    }
  } finally {
    answer.discard()
  }
  if (size < file.size) throw new DownloadError(`"${file.path}" broke off.`, { isTransient: true })
  judge(hash.digest('hex'))
}

async function isAlreadyFetched(path: string, file: HubFile, signal: AbortSignal): Promise<boolean> {
  if ((await fileSizeOf(path)) !== file.size) return false
  const hash = createFileHash(file)
  await hashFile(hash, path, file.size, signal)
  return hash.digest('hex') === file.digest.hex
}

/** −1 where there is no such file. */
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
