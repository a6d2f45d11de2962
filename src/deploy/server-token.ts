// The token that deployment tools give to a deployed container: where it is read from, and how it is made. The running server does not use
// it: the token does not protect the API.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { StartError } from '../start-error.ts'
import { readOrCreateToken, readStoredToken, type StoredToken } from './deployment-token-file.ts'
import { isToken, TOKEN_RULE, TOKEN_VARIABLE } from './token-format.ts'

export interface TokenLocations {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The path of a `deployment.yaml`, which may be missing. */
  readonly config_file: string
}

export interface ServerToken {
  readonly token: string
  readonly source: 'environment' | 'file' | 'generated'
  /** A sentence about a problem with the file that holds the token. */
  readonly warning: string | null
}

const TOKEN_BYTES = 32

/**
 * Returns the token of the environment, else the one in the file. Null where neither has one.
 * @throws StartError for an invalid token, or a file that cannot be read
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
 * Returns the token, or makes one: 32 random bytes in base64url, stored in the file, which only its owner can read from then on. Concurrent
 * processes get the same token.
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
      : `other users may read it (mode ${exposed_mode.toString(8)}); make it private with chmod 600`
  return { token, source, warning }
}

/** Compares two tokens in constant time, even where their lengths differ. */
export function isSameToken(a: string, b: string): boolean {
  return timingSafeEqual(sha256(a), sha256(b))
}

function sha256(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
