// Reads and writes the file of the master key: one line of text in the data folder that only its owner may read. SECRETS_MASTER_KEY takes
// the same text, so the line can move there and back.
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

/** Minimum length in characters, for SECRETS_MASTER_KEY and the file. */
export const MIN_KEY_LENGTH = 16

const OWNER_ONLY = 0o600
const OTHERS_MASK = 0o077
const NEW_KEY_BYTES = 32

export function masterKeyPath(folder: string): string {
  return join(folder, 'master.key')
}

/** The path of the new key while the data is encrypted again under it. */
export function nextMasterKeyPath(folder: string): string {
  return join(folder, 'master.key.new')
}

/**
 * Marks the end of each key that was generated for a database. A mark at the beginning would not do: a paused stream holds back text that
 * may begin a secret.
 */
const GENERATED_SUFFIX = '.made'

/** Generates a key of 32 random bytes in base64url. The suffix of a key for a database in a file shows that there was a database. */
export function generateMasterKey(for_file = true): string {
  return randomBytes(NEW_KEY_BYTES).toString('base64url') + (for_file ? GENERATED_SUFFIX : '')
}

/** Whether the key in a file was generated for a database. Returns false if there is no key, or if a person chose it. */
export function hasGeneratedKey(path: string): boolean {
  try {
    return readFileSync(path, 'utf8').trim().endsWith(GENERATED_SUFFIX)
  } catch {
    return false
  }
}

/** Returns the key in a file, or null if there is no file. @throws StartError when the file cannot be read, or contains no key */
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
  throw new StartError(`the key file ${path} ${what}; restore a copy, or set SECRETS_MASTER_KEY`)
}

/** Removes other users' permissions from a key file. Returns a sentence for the log if others may have read the key, or still may; else null. */
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

/** Writes a key file atomically and durably, so that it survives a power failure. @throws StartError when it cannot be written */
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

/** Replaces a key file by another. */
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
