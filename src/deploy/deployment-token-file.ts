// The token in a deployment.yaml, and the claim by which concurrent processes agree on one token. `deployment-yaml.ts` edits the text.
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
  /** The file's mode, where users other than its owner may read it. */
  readonly exposed_mode: number | null
}

const OTHERS_MASK = 0o077

/**
 * Returns the token in a file. Null where the file or the key is missing.
 * @throws StartError where the file cannot be read, is not a YAML mapping, or has an invalid token
 */
export function readStoredToken(path: string): StoredToken | null {
  return parseStoredToken(readTextFile(path), path)
}

function parseStoredToken(file: TextFile | null, path: string): StoredToken | null {
  const token = file && parseToken(file.text, path)
  return token === null ? null : { token, exposed_mode: findExposedMode(file!) }
}

/**
 * Returns the token in a file, and stores one where the file has none. Processes agree on a token before
 * they write it: the first process to create the claim file decides. Later processes, or a process after
 * a crash, write the token of the claim. `made` tells whether this call wrote it.
 * @throws StartError as above, where the file cannot be written, or where another user made the claim
 */
export function readOrCreateToken(path: string, make: () => string): StoredToken & { made: boolean } {
  const target = resolveLinks(path)
  const claim = `${target}.token`
  for (;;) {
    const ours = make()
    const { put, uid } = createFileIfAbsent(claim, ours)
    const claimed = put ? ours : readClaimedToken(claim, target, uid)
    // The file is read after the claim is made. A process with an earlier claim has written its token by then. The file is read once,
    // because a token that came between two reads would be duplicated.
    const file = readTextFile(target)
    const stored = parseStoredToken(file, target)
    if (stored === null && claimed === null) continue
    if (stored === null) writeToken(target, file?.text ?? '', claimed!)
    removeFile(claim)
    const { token, exposed_mode } = stored ?? readStoredToken(target)!
    return { token, exposed_mode, made: stored === null }
  }
}

/**
 * Returns the token of another process's claim. Null where that process has finished.
 * The owner of the file is trusted, as it could write the token itself.
 */
function readClaimedToken(claim: string, target: string, uid: number): string | null {
  const owner = lstatSync(target, { throwIfNoEntry: false })?.uid ?? uid
  const file = readOwnedTextFile(claim, [uid, owner], 'try again, or remove it if no other process uses it')
  if (file === null || isToken(file.text)) return file?.text ?? null
  throw new StartError(`${claim} holds no token; remove it if it is not yours`)
}

function writeToken(target: string, before: string, token: string): void {
  const text = insertToken(before, token)
  // Fails where the new text could not be read again, before it replaces the file.
  parseToken(text, target)
  replaceFile(target, text)
}

function findExposedMode({ mode }: TextFile): number | null {
  return platform() === 'win32' || (mode & OTHERS_MASK) === 0 ? null : mode
}

/** Resolves links, so that the file behind a link is written and the link stays. */
function resolveLinks(path: string): string {
  try {
    return realpathSync(path)
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT' && !lstatSync(path, { throwIfNoEntry: false })) return path
    throw new StartError(`${path} cannot be read (${errorCodeOf(error)}); check where its link leads`, { cause: error })
  }
}
