// Small text files that hold secrets: read with care, and written whole or not at all, for their owner alone.
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
/** Nobody writes a longer one by hand. */
const MAX_FILE_BYTES = 1 << 20

export interface TextFile {
  readonly text: string
  /** Its permission bits. */
  readonly mode: number
}

type RefusalFactory = (why: string, cause?: unknown) => StartError

/**
 * A UTF-8 text of at most 1 MiB, or null where there is no file.
 * @throws StartError where it is no such thing, or cannot be read
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
 * The same, of a file that nobody but one of `owners` can have put there or read: no link, and for its owner alone.
 * `advice` is what to do where it is another.
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

/** What is opened is what is looked at: a name may lead elsewhere a moment later. */
function openAndRead(
  path: string,
  flag: number,
  refuse: RefusalFactory,
  check: (stats: Stats) => void,
): TextFile | null {
  let file: number | null = null
  try {
    // A pipe would be waited for. Windows has neither flag, and undefined adds nothing.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | flag)
    const stats = fstatSync(file)
    if (!stats.isFile()) throw refuse('it is no file')
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
    // A byte order mark stays.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw refuse('it is not UTF-8')
  }
}

/** Puts a text in the place of what is at `path`, whose owner keeps it. @throws StartError */
export function replaceFile(path: string, text: string): void {
  const keep = (file: number) => keepOwner(file, path)
  writeAtomically(path, text, keep, (draft) => renameSync(draft, path))
}

/**
 * Puts a text at `path`, for this user alone; where something is already, it stays. `uid` is whose the files of this user
 * are there, which on a disk of the network may be another number than that of the process.
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

/** What an administrator writes for somebody stays theirs; nobody else takes a file away from its owner. */
function keepOwner(file: number, path: string): void {
  const before = statSync(path, { throwIfNoEntry: false })
  if (before && before.uid !== fstatSync(file).uid) fchownSync(file, before.uid, before.gid)
}

function fsyncFolder(path: string): void {
  // Windows has no such thing, and needs none.
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
