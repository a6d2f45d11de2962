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
  type Stats,
  writeFileSync,
} from 'node:fs'
import { type FileHandle, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Written } from './object-store.ts'

export function makeFolder(path: string): void {
  if (!existsSync(path)) mkdirSync(path, { mode: 0o700 })
}

export async function writeTo(
  file: FileHandle,
  source: Uint8Array | AsyncIterable<Uint8Array>,
  now: number,
): Promise<Written> {
  const hash = createHash('sha256')
  let size = 0
  for await (const chunk of source instanceof Uint8Array ? [source] : source) {
    hash.update(chunk)
    size += chunk.length
    await file.writeFile(chunk)
  }
  await file.utimes(now / 1_000, now / 1_000)
  await file.sync()
  return { size, sha256: hash.digest('hex') }
}

export function writeSync(path: string, bytes: Uint8Array, now: number): void {
  const file = openSync(path, 'wx', 0o600)
  try {
    writeFileSync(file, bytes)
    futimesSync(file, now / 1_000, now / 1_000)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** A new name is on disk when its folder is. Windows does not open folders, and keeps names without that. */
export function syncFolder(path: string): void {
  let folder: number
  try {
    folder = openSync(path, constants.O_RDONLY)
  } catch (error) {
    if (['EISDIR', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return
    throw error
  }
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

export function fileAt(path: string): Stats | null {
  try {
    const found = lstatSync(path)
    return found.isFile() ? found : null
  } catch (error) {
    return nothingWhereMissing(error as NodeJS.ErrnoException)
  }
}

/** A path through a file is as missing as one that leads nowhere; so is a link. */
export function nothingWhereMissing(error: NodeJS.ErrnoException): null {
  if (['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'].includes(error.code ?? '')) return null
  throw error
}

export async function* keysBelow(folder: string, prefix: string, after: readonly string[]): AsyncGenerator<string> {
  const [first, ...rest] = after
  const entries = (await readdir(folder, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1))
  for (const entry of entries) {
    if (first !== undefined && entry.name < first) continue
    const key = prefix + entry.name
    if (entry.isDirectory()) yield* keysBelow(join(folder, entry.name), `${key}/`, entry.name === first ? rest : [])
    else if (entry.isFile() && (entry.name !== first || rest.length > 0)) yield key
  }
}
