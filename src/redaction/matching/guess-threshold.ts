// Limits when a partial secret may have visible effects. A caller who sees held text or a replaced prefix learns how a
// secret begins, and could guess it letter by letter.

/** Keys of one kind share a prefix up to a separator within this many characters: `sk-proj-`, `github_pat_`. */
const MAX_KNOWN_PREFIX = 16
/** Characters that a caller cannot guess: half of the unknown characters, within these limits. */
const MIN_UNGUESSED = 10
const MAX_UNGUESSED = 16
/** Longer prefixes are not remembered. */
export const MAX_THRESHOLD = 2_048

/** Base64 of JSON, PEM and DER, whose start is not secret, and of user names (RFC 7617). */
const ENCODED_START = /^(?:eyJ|LS0tLS1|MI[IGHM]|MC4C|[Bb]asic\s)/
const JWT = /^eyJ[\w-]*(?:\.[\w-]*)+$/
const URL_START = /^[a-z][a-z0-9+.-]*:\/\//i
/** The text up to the value after a name: of a user (`user:word`), a scheme, or fields of a connection string. */
const NAMED_PREFIX = /^.*[:;=\s](?=[^=\s])/s

/** The number of initial characters that are known from the kind of the secret. */
export function measureKnownPrefix(secret: string): number {
  if (JWT.test(secret)) return secret.lastIndexOf('.') + 1
  const start = secret.slice(0, MAX_KNOWN_PREFIX)
  return Math.max(start.lastIndexOf('-'), start.lastIndexOf('_')) + 1
}

/**
 * The number of initial characters that a caller may guess; all characters for keys of several lines, JSON and URLs,
 * where this is unknown.
 */
export function measureGuessable(secret: string): number {
  if (JWT.test(secret)) return measureKnownPrefix(secret)
  if (/[\r\n]/.test(secret) || /^\s*[[{]|^-----/.test(secret)) return secret.length
  if (ENCODED_START.test(secret) || URL_START.test(secret)) return secret.length
  return Math.max(measureKnownPrefix(secret), NAMED_PREFIX.exec(secret)?.[0].length ?? 0)
}

/** The number of initial characters that identify a secret or one of its forms. `length` is the length of the form. */
export function computeThreshold(length: number, known: number): number {
  const threshold = known + Math.max(MIN_UNGUESSED, Math.min(MAX_UNGUESSED, Math.ceil((length - known) / 2)))
  return threshold >= length || threshold > MAX_THRESHOLD ? length : threshold
}
