// Small text files with secrets. They are read carefully, and written atomically for their owner alone.
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  fchownSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
import { platform } from 'node:os'
import { dirname } from 'node:path'
import { StartError } from '../start-error.ts'

const OWNER_ONLY = 0o600
const OTHERS_MASK = 0o077
/** The limit is far above any file written by hand. */
const MAX_FILE_BYTES = 1 << 20

export interface TextFile {
  readonly text: string
  /** The permission bits. */
  readonly mode: number
}

type RefusalFactory = (why: string, cause?: unknown) => StartError

/**
 * Reads a UTF-8 text of at most 1 MiB. Null where there is no file.
 * @throws StartError where it is not such a text, or cannot be read
 */
export function readTextFile(path: string): TextFile | null {
  const refuse: RefusalFactory = (why, cause) => new StartError(`${path} cannot be read (${why})`, { cause })
  return openAndRead(path, 0, refuse, () => {})
}

const UNTRUSTED_REASONS: Readonly<Record<string, string>> = {
  ELOOP: 'it is a link',
  EACCES: 'it belongs to another user',
}

/**
 * Reads a file that only `owners` can have written or read: not a link, and
 * accessible to its owner alone. `advice` tells what to do about another file.
 */
export function readOwnedTextFile(path: string, owners: readonly number[], advice: string): TextFile | null {
  const refuse: RefusalFactory = (why, cause) =>
    new StartError(`${path} is not to be trusted (${UNTRUSTED_REASONS[why] ?? why}); ${advice}`, { cause })
  return openAndRead(path, constants.O_NOFOLLOW, refuse, ({ uid, mode }) => {
    if (platform() === 'win32') return
    if (!owners.includes(uid)) throw refuse('EACCES')
    if ((mode & OTHERS_MASK) !== 0) throw refuse(`others may use it, mode ${(mode & 0o777).toString(8)}`)
  })
}

/** Checks the opened file and not its name, which may lead elsewhere a moment later. */
function openAndRead(
  path: string,
  flag: number,
  refuse: RefusalFactory,
  check: (stats: Stats) => void,
): TextFile | null {
  let file: number | null = null
  try {
    // Opening a pipe would block. Windows has neither flag, and undefined adds nothing.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | flag)
    const stats = fstatSync(file)
    if (!stats.isFile()) throw refuse('it is not a file')
    check(stats)
    if (stats.size > MAX_FILE_BYTES) throw refuse('it is longer than 1 MiB')
    return { text: decodeUtf8(readFileSync(file), refuse), mode: stats.mode & 0o777 }
  } catch (error) {
    if (error instanceof StartError) throw error
    if (errorCodeOf(error) === 'ENOENT') return null
    throw refuse(errorCodeOf(error), error)
  } finally {
    if (file !== null) closeSync(file)
  }
}

function decodeUtf8(bytes: Uint8Array, refuse: RefusalFactory): string {
  try {
    // The decoder keeps a byte order mark.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw refuse('it is not UTF-8')
  }
}

/** Replaces the text at `path` and keeps its owner. @throws StartError */
export function replaceFile(path: string, text: string): void {
  const keep = (file: number) => keepOwner(file, path)
  writeAtomically(path, text, keep, (draft) => renameSync(draft, path))
}

/**
 * Writes a text to `path` for this user alone, unless the file exists. `uid` is the owner of this user's files there; a network disk may
 * show another number than the process has.
 * @throws StartError
 */
export function createFileIfAbsent(path: string, text: string): { put: boolean; uid: number } {
  const made = { put: true, uid: -1 }
  const see = (file: number) => {
    made.uid = fstatSync(file).uid
  }
  writeAtomically(path, text, see, (draft) => {
    try {
      linkSync(draft, path)
    } catch (error) {
      if (errorCodeOf(error) !== 'EEXIST') throw error
      made.put = false
    }
  })
  return made
}

export function removeFile(path: string): void {
  rmSync(path, { force: true })
}

type FilePreparation = (file: number) => void

function writeAtomically(path: string, text: string, prepare: FilePreparation, place: (draft: string) => void): void {
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  try {
    const file = openSync(draft, 'wx', OWNER_ONLY)
    try {
      prepare(file)
      writeFileSync(file, text)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    place(draft)
    fsyncFolder(dirname(path))
  } catch (error) {
    throw new StartError(`${path} cannot be written (${errorCodeOf(error)}); check its folder and its owner`, {
      cause: error,
    })
  } finally {
    rmSync(draft, { force: true })
  }
}

/** A file that an administrator writes for another user stays that user's. No other user may take a file from its owner. */
function keepOwner(file: number, path: string): void {
  const before = statSync(path, { throwIfNoEntry: false })
  if (before && before.uid !== fstatSync(file).uid) fchownSync(file, before.uid, before.gid)
}

function fsyncFolder(path: string): void {
  // Windows does not support it and does not need it.
  if (platform() === 'win32') return
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

export function errorCodeOf(error: unknown): string {
  const code = (error as { code?: unknown }).code
  return typeof code === 'string' ? code : String(error)
}
