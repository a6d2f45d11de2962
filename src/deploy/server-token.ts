// The token that deployment tooling gives to a deployed container: where it is looked for, and how one is made.
// The running server knows nothing of it: it does not protect the API.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { StartError } from '../start-error.ts'
import { readOrCreateToken, readStoredToken, type StoredToken } from './deployment-token-file.ts'
import { isToken, TOKEN_RULE, TOKEN_VARIABLE } from './token-format.ts'

export interface TokenLocations {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The path of a `deployment.yaml`, which need not be there. */
  readonly config_file: string
}

export interface ServerToken {
  readonly token: string
  readonly source: 'environment' | 'file' | 'generated'
  /** What is wrong with the place where it is kept, in a sentence. */
  readonly warning: string | null
}

const TOKEN_BYTES = 32

/**
 * The token of the environment, else the one in the file; null where neither has one.
 * @throws StartError where one of them has something that is no token, or the file cannot be read
 */
export function findServerToken({ environment, config_file }: TokenLocations): ServerToken | null {
  const given = environment[TOKEN_VARIABLE]?.trim() || null
  if (given !== null) {
    if (!isToken(given)) throw new StartError(`${TOKEN_VARIABLE} ${TOKEN_RULE}`)
    return { token: given, source: 'environment', warning: null }
  }
  const stored = readStoredToken(config_file)
  return stored && toServerToken(stored, 'file')
}

/**
 * The same, and where there is none a new one: 32 random bytes in base64url, kept in the file, which is its owner's alone
 * from then on. Processes that do so at once get the same one.
 * @throws StartError as above, or where the file cannot be written
 */
export function resolveServerToken(places: TokenLocations): ServerToken {
  const known = findServerToken(places)
  if (known) return known
  const { made, ...stored } = readOrCreateToken(places.config_file, () =>
    randomBytes(TOKEN_BYTES).toString('base64url'),
  )
  return toServerToken(stored, made ? 'generated' : 'file')
}

function toServerToken({ token, exposed_mode }: StoredToken, source: 'file' | 'generated'): ServerToken {
  const warning =
    exposed_mode === null
      ? null
      : `others may read it (mode ${exposed_mode.toString(8)}); make it private with chmod 600`
  return { token, source, warning }
}

/** Compares two tokens in a time that tells nothing of their content, also where they differ in length. */
export function isSameToken(a: string, b: string): boolean {
  return timingSafeEqual(sha256(a), sha256(b))
}

function sha256(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
