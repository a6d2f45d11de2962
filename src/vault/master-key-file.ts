// The file of the master key: a line of text in the data folder that its owner alone may read. What SECRETS_MASTER_KEY gives is the same
// text, so the line can move there and back.
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { platform } from 'node:os'
import { dirname, join } from 'node:path'
import { fsyncFolder } from '../shared/fsync-folder.ts'
import { StartError } from '../start-error.ts'

/** What SECRETS_MASTER_KEY and the file hold has at least so many characters. */
export const MIN_KEY_LENGTH = 16

const OWNER_ONLY = 0o600
const OTHERS_MASK = 0o077
const NEW_KEY_BYTES = 32

export function masterKeyPath(folder: string): string {
  return join(folder, 'master.key')
}

/** Where a key waits while everything is sealed anew under it. */
export function nextMasterKeyPath(folder: string): string {
  return join(folder, 'master.key.new')
}

/** The end of each key that was made for a database. It is no beginning: a stream that pauses holds back what may begin a secret. */
const GENERATED_SUFFIX = '.made'

/** A key that nobody can guess: 32 random bytes in base64url. One that is made for a database in a file shows that there was one. */
export function generateMasterKey(for_file = true): string {
  return randomBytes(NEW_KEY_BYTES).toString('base64url') + (for_file ? GENERATED_SUFFIX : '')
}

/** Whether the key in a file was made for a database. False where there is no key, and for one that a person chose. */
export function hasGeneratedKey(path: string): boolean {
  try {
    return readFileSync(path, 'utf8').trim().endsWith(GENERATED_SUFFIX)
  } catch {
    return false
  }
}

/**
 * The key in a file, or null where there is no file.
 * @throws StartError when it cannot be read, or holds no key
 */
export function readKeyFile(path: string): string | null {
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null
    throw new StartError(`the key file ${path} cannot be read (${errorCode(error)}); check its owner and mode`, {
      cause: error,
    })
  }
  if (text.length >= MIN_KEY_LENGTH) return text
  const what = text === '' ? 'is empty' : `holds less than ${MIN_KEY_LENGTH} characters`
  throw new StartError(`the key file ${path} ${what}; bring back a copy, or set SECRETS_MASTER_KEY`)
}

/** Takes from other users what they may do with a key file. A sentence for the log where they might have read it, or may yet; else null. */
export function restrictKeyFile(path: string): string | null {
  if (platform() === 'win32') return null
  const mode = (statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o777
  if ((mode & OTHERS_MASK) === 0) return null
  const had = `(mode ${mode.toString(8)})`
  try {
    chmodSync(path, mode & ~OTHERS_MASK)
    return `the key file ${path} could be read by others ${had} and is private now; if one of them may have read it, run "svc secrets rotate"`
  } catch {
    return `the key file ${path} may be read by others ${had}; make it private with chmod 600`
  }
}

/**
 * Puts a key into a file, whole or not at all, so that it outlives the end of the power.
 * @throws StartError when it cannot be written
 */
export function writeKeyFile(path: string, key: string): void {
  const draft = `${path}.draft`
  try {
    rmSync(draft, { force: true })
    const file = openSync(draft, 'wx', OWNER_ONLY)
    try {
      writeSync(file, `${key}\n`)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    moveKeyFile(draft, path)
  } catch (error) {
    throw new StartError(`the key file ${path} cannot be written (${errorCode(error)}); check its folder`, {
      cause: error,
    })
  }
}

/** Puts a key file in the place of another. */
export function moveKeyFile(from: string, to: string): void {
  renameSync(from, to)
  fsyncFolder(dirname(to))
}

export function removeKeyFile(path: string): void {
  rmSync(path, { force: true })
  fsyncFolder(dirname(path))
}

function errorCode(error: unknown): string {
  const code = (error as { code?: unknown }).code
  return typeof code === 'string' ? code : String(error)
}
