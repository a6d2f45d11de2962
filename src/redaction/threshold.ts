// How much of a secret has to be met before anything may depend on it. Whoever sees a text held back, or a beginning replaced, learns that a secret begins
// so: where some letters were enough, callers would guess one letter after the other.

/** Keys of one kind begin alike up to a separator within so many characters: `sk-proj-`, `github_pat_`. */
const PREFIX = 16
/** Nobody guesses so many characters: half of what is not known of a secret, within these bounds. */
const LEAST = 10
const MOST = 16
/** A beginning of more characters is not kept in mind. */
export const LONGEST_THRESHOLD = 2_048

/** Base64 of JSON, of PEM and of DER, none of which begins with anything secret; and of a user's name (RFC 7617). */
const ENCODED = /^(?:eyJ|LS0tLS1|MI[IGHM]|MC4C|[Bb]asic\s)/
const JWT = /^eyJ[\w-]*(?:\.[\w-]*)+$/
const URL_START = /^[a-z][a-z0-9+.-]*:\/\//i
/** All up to what follows a name: a user's (`user:word`), that of a scheme, or those of a connection string. */
const NAMED = /^.*[:;=\s](?=[^=\s])/s

/** How many characters at the beginning of a secret everybody knows who knows its kind. */
export function prefixLength(secret: string): number {
  if (JWT.test(secret)) return secret.lastIndexOf('.') + 1
  const start = secret.slice(0, PREFIX)
  return Math.max(start.lastIndexOf('-'), start.lastIndexOf('_')) + 1
}

/** How many characters at the beginning of a secret somebody may guess: all where nobody can say, as of keys of several lines, of JSON and of URLs. */
export function guessableLength(secret: string): number {
  if (JWT.test(secret)) return prefixLength(secret)
  if (/[\r\n]/.test(secret) || /^\s*[[{]|^-----/.test(secret)) return secret.length
  if (ENCODED.test(secret) || URL_START.test(secret)) return secret.length
  return Math.max(prefixLength(secret), NAMED.exec(secret)?.[0].length ?? 0)
}

/** From so many characters on, a beginning of a secret, or of one of its forms, tells which secret it is. `length`: that the form has altogether. */
export function thresholdOf(length: number, known: number): number {
  const threshold = known + Math.max(LEAST, Math.min(MOST, Math.ceil((length - known) / 2)))
  return threshold >= length || threshold > LONGEST_THRESHOLD ? length : threshold
}
