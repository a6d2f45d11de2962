// One file of a hub, until it is in its place: what is there already is not fetched again, and nobody sees it before it is whole and checked.
import { type FileHandle, lstat, mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { holdFile } from '../db/data-folder.ts'
import { syncFolder } from '../sync-folder.ts'
import { inAttempts } from './attempts.ts'
import { addFile, beginDigest } from './digest.ts'
import { DownloadFault } from './fault.ts'
import type { Hub } from './hub.ts'
import type { HubFile } from './hub-file.ts'
import { type FilePlace, placeOf } from './place.ts'

export interface Fetching {
  readonly hub: Hub
  readonly repo_id: string
  readonly file: HubFile
  /** The models folder. */
  readonly folder: string
  readonly signal: AbortSignal
  /** The first pause after it broke off, in milliseconds. */
  readonly pause_ms: number
  /** Told how many of its bytes are stored. */
  stored(bytes: number): void
}

/** What came is not what the hub had promised. */
export class WrongContent extends DownloadFault {
  /** Whether its first bytes were there before: it may be them. */
  readonly resumed: boolean
  constructor(message: string, resumed: boolean) {
    super(`${message} It may have changed meanwhile.`)
    this.resumed = resumed
  }
}

/** How long it takes until somebody else's fetching is looked at again, in milliseconds. */
const WAITING_MS = 200

/** @throws DownloadFault; the signal's reason; what the system throws */
export async function fetchFile(fetching: Fetching): Promise<void> {
  const { file, folder, repo_id, signal, pause_ms, stored } = fetching
  const place = await placeOf(folder, repo_id, file)
  if (await isThere(place.path, file, signal)) return stored(file.size)
  await mkdir(place.unfinished, { recursive: true, mode: 0o700 })
  using _held = await heldAlone(fetching, place)
  // Whoever held it before may have fetched it.
  if (!(await isThere(place.path, file, signal))) {
    const progress = () => sizeOf(place.partial)
    await inAttempts(() => attempt(fetching, place), { signal, pause_ms, progress })
  }
  for (const path of [place.tag, place.lock]) await rm(path, { force: true })
  stored(file.size)
}

/** Waits for whoever fetches the same file, of this server or another process, for as long as that lasts: what they have fetched is not fetched again. */
async function heldAlone({ file, signal, stored }: Fetching, place: FilePlace): Promise<Disposable> {
  for (;;) {
    const lock = holdFile(place.lock)
    if (lock) return lock
    stored(Math.min(file.size, Math.max(0, await sizeOf(place.partial))))
    await setTimeout(WAITING_MS, null, { signal })
  }
}

/** What went on from bytes that are of no use begins once more without them. */
async function attempt(fetching: Fetching, place: FilePlace): Promise<void> {
  try {
    await complete(fetching, place)
  } catch (error) {
    if (!(error instanceof WrongContent) || !error.resumed) throw error
    await complete(fetching, place)
  }
}

async function complete(fetching: Fetching, place: FilePlace): Promise<void> {
  const { signal } = fetching
  {
    await using partial = await open(place.partial, 'a+', 0o600)
    try {
      await fill(fetching, place, partial)
    } catch (error) {
      if (error instanceof WrongContent) await rm(place.partial, { force: true })
      throw error
    }
    await partial.sync()
  }
  signal.throwIfAborted()
  await mkdir(dirname(place.path), { recursive: true, mode: 0o700 })
  await rename(place.partial, place.path)
  syncFolder(dirname(place.path))
}

/** Fetches what is missing. @throws WrongContent; DownloadFault; the signal's reason; what the system throws */
async function fill(
  { hub, repo_id, file, signal, stored }: Fetching,
  place: FilePlace,
  partial: FileHandle,
): Promise<void> {
  let resumed = true
  const judge = (hex: string) => {
    if (hex === file.digest.hex) return
    throw new WrongContent(`"${file.path}" is not what the hub says it is: its digest is another one.`, resumed)
  }
  let hash = beginDigest(file)
  let size = (await partial.stat()).size
  const tag = await readFile(place.tag, 'utf8').catch(() => null)
  if (size > file.size || (size < file.size && tag === null)) size = 0
  await partial.truncate(size)
  await addFile(hash, place.partial, size, signal)
  stored(size)
  if (size === file.size) return judge(hash.digest('hex'))
  const answer = await hub.open(repo_id, file.path, size, tag, signal)
  resumed = answer.from > 0
  try {
    if (answer.from !== size) {
      await partial.truncate(0)
      hash = beginDigest(file)
      size = 0
    }
    if (answer.tag === null) await rm(place.tag, { force: true })
    else await writeFile(place.tag, answer.tag, { mode: 0o600 })
    for await (const piece of answer.bytes) {
      signal.throwIfAborted()
      size += piece.length
      if (size > file.size) throw new WrongContent(`"${file.path}" is longer than the hub says.`, resumed)
      await partial.appendFile(piece)
      hash.update(piece)
      stored(size)
    }
  } finally {
    answer.discard()
  }
  if (size < file.size) throw new DownloadFault(`"${file.path}" broke off.`, { passing: true })
  judge(hash.digest('hex'))
}

async function isThere(path: string, file: HubFile, signal: AbortSignal): Promise<boolean> {
  if ((await sizeOf(path)) !== file.size) return false
  const hash = beginDigest(file)
  await addFile(hash, path, file.size, signal)
  return hash.digest('hex') === file.digest.hex
}

/** −1 where there is no such file. */
export async function sizeOf(path: string): Promise<number> {
  const found = await lstat(path).catch(() => null)
  return found?.isFile() ? found.size : -1
}
