// Small text files that hold secrets: read with care, and written whole or not at all, for their owner alone.
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { platform } from 'node:os'
import { dirname } from 'node:path'
import { StartError } from '../start-error.ts'

const OWNER_ONLY = 0o600
/** Nobody writes a longer one by hand. */
const MOST_BYTES = 1 << 20

export interface TextFile {
  readonly text: string
  /** Its permission bits. */
  readonly mode: number
}

/**
 * A UTF-8 text of at most 1 MiB, or null where there is no file.
 * @throws StartError where it is no such thing, or cannot be read
 */
export function readText(path: string): TextFile | null {
  const refuse = (why: string, cause?: unknown) => new StartError(`${path} cannot be read (${why})`, { cause })
  try {
    const stats = statSync(path)
    // A pipe would be waited for.
    if (!stats.isFile()) throw refuse('it is no file')
    if (stats.size > MOST_BYTES) throw refuse('it is longer than 1 MiB')
    return { text: utf8(readFileSync(path), refuse), mode: stats.mode & 0o777 }
  } catch (error) {
    if (error instanceof StartError) throw error
    if (codeOf(error) === 'ENOENT') return null
    throw refuse(codeOf(error), error)
  }
}

function utf8(bytes: Uint8Array, refuse: (why: string) => Error): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw refuse('it is not UTF-8')
  }
}

/** Puts a text in the place of what is at `path`, whose owner keeps it. @throws StartError */
export function putFile(path: string, text: string): void {
  written(path, text, (draft) => renameSync(draft, path))
}

/** Puts a text at `path` where nothing is yet, and leaves what is there. @throws StartError */
export function putNewFile(path: string, text: string): void {
  written(path, text, (draft) => {
    try {
      linkSync(draft, path)
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
  })
}

export function removeFile(path: string): void {
  rmSync(path, { force: true })
}

function written(path: string, text: string, place: (draft: string) => void): void {
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  try {
    const file = openSync(draft, 'wx', OWNER_ONLY)
    try {
      keepOwner(file, path)
      writeFileSync(file, text)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    place(draft)
    syncFolder(dirname(path))
  } catch (error) {
    throw new StartError(`${path} cannot be written (${codeOf(error)}); check its folder`, { cause: error })
  } finally {
    rmSync(draft, { force: true })
  }
}

/** What an administrator writes for somebody stays theirs; nobody else takes a file away from its owner. */
function keepOwner(file: number, path: string): void {
  const before = statSync(path, { throwIfNoEntry: false })
  if (before && before.uid !== fstatSync(file).uid) fchownSync(file, before.uid, before.gid)
}

function syncFolder(path: string): void {
  // Windows has no such thing, and needs none.
  if (platform() === 'win32') return
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown }).code
  return typeof code === 'string' ? code : String(error)
}
