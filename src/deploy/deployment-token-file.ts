// The token in a deployment.yaml, and the agreement of processes that put one there at once. Its text: deployment-yaml.ts.
import { lstatSync, realpathSync } from 'node:fs'
import { platform } from 'node:os'
import { StartError } from '../start-error.ts'
import { insertToken, parseToken } from './deployment-yaml.ts'
import {
  createFileIfAbsent,
  errorCodeOf,
  readOwnedTextFile,
  readTextFile,
  removeFile,
  replaceFile,
  type TextFile,
} from './secret-files.ts'
import { isToken } from './token-format.ts'

export interface StoredToken {
  readonly token: string
  /** Of the file, where others than its owner may read it. */
  readonly exposed_mode: number | null
}

const OTHERS_MASK = 0o077

/**
 * The token in a file; null where there is no file, or no such key.
 * @throws StartError where the file cannot be read, is no YAML mapping, or has something else under the key
 */
export function readStoredToken(path: string): StoredToken | null {
  return parseStoredToken(readTextFile(path), path)
}

function parseStoredToken(file: TextFile | null, path: string): StoredToken | null {
  const token = file && parseToken(file.text, path)
  return token === null ? null : { token, exposed_mode: findExposedMode(file!) }
}

/**
 * The token in a file, after one was put there if it had none. A token is agreed upon before it is written: the first
 * process to give the claim its name decides, and whoever comes later, or after a crash, writes what the claim says.
 * `made` tells whether this call wrote it.
 * @throws StartError as above, where the file cannot be written, or where somebody else made the claim
 */
export function readOrCreateToken(path: string, make: () => string): StoredToken & { made: boolean } {
  const target = resolveLinks(path)
  const claim = `${target}.token`
  for (;;) {
    const ours = make()
    const { put, uid } = createFileIfAbsent(claim, ours)
    const claimed = put ? ours : readClaimedToken(claim, target, uid)
    // After the claim was made: whoever had one before has written its token by now. Read once: a token that comes
    // between two looks would be joined by a second.
    const file = readTextFile(target)
    const stored = parseStoredToken(file, target)
    if (stored === null && claimed === null) continue
    if (stored === null) writeToken(target, file?.text ?? '', claimed!)
    removeFile(claim)
    const { token, exposed_mode } = stored ?? readStoredToken(target)!
    return { token, exposed_mode, made: stored === null }
  }
}

/** What another process decided; null where it is through with it. Who owns the file could write the token as well. */
function readClaimedToken(claim: string, target: string, uid: number): string | null {
  const owner = lstatSync(target, { throwIfNoEntry: false })?.uid ?? uid
  const file = readOwnedTextFile(claim, [uid, owner], 'try again, or remove it if no other process is at it')
  if (file === null || isToken(file.text)) return file?.text ?? null
  throw new StartError(`${claim} holds no token; remove it if it is not yours`)
}

function writeToken(target: string, before: string, token: string): void {
  const text = insertToken(before, token)
  // It throws: nothing that cannot be read again takes the place of the file.
  parseToken(text, target)
  replaceFile(target, text)
}

function findExposedMode({ mode }: TextFile): number | null {
  return platform() === 'win32' || (mode & OTHERS_MASK) === 0 ? null : mode
}

/** Where links lead, so that the file behind a link is written and not the link replaced. */
function resolveLinks(path: string): string {
  try {
    return realpathSync(path)
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT' && !lstatSync(path, { throwIfNoEntry: false })) return path
    throw new StartError(`${path} cannot be read (${errorCodeOf(error)}); check where its link leads`, { cause: error })
  }
}
