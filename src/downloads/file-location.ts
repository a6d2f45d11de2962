// Resolves where a file of a repository goes in the models folder, and where its parts are kept until it is complete.
import { createHash } from 'node:crypto'
import type { Stats } from 'node:fs'
import { lstat, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { DownloadError } from './error.ts'
import type { HubFile } from './hub-file.ts'

/** Begins with a dot, so that listings skip the folder. No repository's name begins with a dot. */
const PARTIAL_FOLDER = '.incomplete'

export interface FileLocation {
  readonly path: string
  /** The folder of the unfinished files, on the same disk. */
  readonly unfinished: string
  /** The file with the bytes so far, of exactly this version. */
  readonly partial: string
  /** The file with the hub's ETag of that version. */
  readonly tag: string
  /** The lock file of the process that fetches the file. */
  readonly lock: string
}

/** Caches the stats of folders for many files. */
export type FolderStats = Map<string, Promise<Stats | null>>

/** `repo_id` and the path have to be safe. @throws DownloadError if a folder of the path is a link */
export async function resolveFileLocation(
  folder: string,
  repo_id: string,
  { path, digest }: HubFile,
  seen: FolderStats = new Map(),
): Promise<FileLocation> {
  const key = createHash('sha256')
    .update(JSON.stringify([repo_id, path, digest.kind, digest.hex]))
    .digest('hex')
  const unfinished = join(await findDiskRoot(folder, [...repo_id.split('/'), ...path.split('/')], seen), PARTIAL_FOLDER)
  const partial = join(unfinished, key)
  return { path: join(folder, repo_id, path), unfinished, partial, tag: `${partial}.tag`, lock: `${partial}.lock` }
}

/**
 * Returns the topmost folder on the disk of the file. Other disks may be mounted in the models folder, and a rename across disks is not
 * possible. Links are refused, because files behind them are not found among the models.
 */
async function findDiskRoot(folder: string, names: readonly string[], seen: FolderStats): Promise<string> {
  let [at, base] = [folder, folder]
  let disk = (await stat(folder)).dev
  for (const [depth, name] of names.entries()) {
    at = join(at, name)
    const found = await statFolder(at, seen)
    if (found === null) break
    if (found.isSymbolicLink()) {
      const shown = names.slice(0, depth + 1).join('/')
      throw new DownloadError(`"${shown}" in the models folder is a link, and downloads do not follow links.`)
    }
    if (!found.isDirectory()) break
    if (found.dev !== disk) [base, disk] = [at, found.dev]
  }
  return base
}

function statFolder(path: string, seen: FolderStats): Promise<Stats | null> {
  const known = seen.get(path) ?? lstat(path).catch(() => null)
  seen.set(path, known)
  return known
}
