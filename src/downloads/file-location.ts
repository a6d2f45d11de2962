// Where a file of a repository goes in the models folder, and what is kept of it until it is whole.
import { createHash } from 'node:crypto'
import type { Stats } from 'node:fs'
import { lstat, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { DownloadError } from './error.ts'
import type { HubFile } from './hub-file.ts'

/** Begins with a dot, so that nobody lists what is in it; no repository's name does. */
const PARTIAL_FOLDER = '.incomplete'

export interface FileLocation {
  readonly path: string
  /** The folder with what is kept until then, on the same disk. */
  readonly unfinished: string
  /** The bytes so far of this very version of the file. */
  readonly partial: string
  /** What the hub called the version that they are of. */
  readonly tag: string
  /** Held by whoever fetches it. */
  readonly lock: string
}

/** What was seen of folders, for many files of them. */
export type FolderStats = Map<string, Promise<Stats | null>>

/** Both `repo_id` and the path are safe. @throws DownloadFault where a link is in its way */
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
 * The uppermost folder on the disk that the file is to be on: others may be mounted in the models folder, and nothing is renamed from one to
 * another. What a link leads to would not be found among the models.
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
      throw new DownloadError(`"${shown}" in the models folder is a link, and nothing is fetched through links.`)
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
