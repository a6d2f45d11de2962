// Scans a folder for files with an ending, in order and within limits. A link counts where it leads to a file inside the folder.
import type { Dirent } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'

export interface ScannedFile {
  readonly path: string
  readonly size: number
  /** In milliseconds since the epoch. */
  readonly changed_at: number
}

interface FolderScan {
  readonly root: string
  readonly ending: RegExp
  /** By path below the root, with `/` as separator. */
  readonly found: Map<string, ScannedFile>
  remaining: number
}

const MAX_DEPTH = 8
/** Entries of all kinds. */
const MAX_ENTRIES = 100_000
const MAX_FOUND = 10_000

/** Gives files by path below the folder, with `/` as separator; none where the folder is missing. @throws what the system throws */
export async function scanFolder(folder: string, ending: RegExp): Promise<ReadonlyMap<string, ScannedFile>> {
  const found = new Map<string, ScannedFile>()
  const root = await realpath(folder).catch(ignoreMissing)
  if (root !== null) await scanSubfolder({ root, ending, found, remaining: MAX_ENTRIES }, root, '')
  return found
}

async function scanSubfolder(scan: FolderScan, folder: string, prefix: string): Promise<void> {
  if (prefix.split('/').length > MAX_DEPTH) return
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (scan.remaining-- <= 0 || scan.found.size >= MAX_FOUND) return
    if (entry.name.startsWith('.')) continue
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await scanSubfolder(scan, path, `${prefix}${entry.name}/`)
    else if (scan.ending.test(entry.name)) {
      const file = await statFile(scan.root, path, entry)
      if (file) scan.found.set(prefix + entry.name, file)
    }
  }
}

async function statFile(root: string, path: string, entry: Dirent): Promise<ScannedFile | null> {
  try {
    const real = entry.isSymbolicLink() ? await realpath(path) : path
    if (!real.startsWith(root + sep)) return null
    const found = await stat(real)
    return found.isFile() ? { path: real, size: found.size, changed_at: found.mtimeMs } : null
  } catch {
    return null
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
  throw error
}
