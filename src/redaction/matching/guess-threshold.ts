// How much of a secret has to be met before anything may depend on it. Whoever sees a text held back, or a beginning replaced, learns that a secret begins
// so: where some letters were enough, callers would guess one letter after the other.

/** Keys of one kind begin alike up to a separator within so many characters: `sk-proj-`, `github_pat_`. */
const MAX_KNOWN_PREFIX = 16
/** Nobody guesses so many characters: half of what is not known of a secret, within these bounds. */
const MIN_UNGUESSED = 10
const MAX_UNGUESSED = 16
/** A beginning of more characters is not kept in mind. */
export const MAX_THRESHOLD = 2_048

/** Base64 of JSON, of PEM and of DER, none of which begins with anything secret; and of a user's name (RFC 7617). */
const ENCODED_START = /^(?:eyJ|LS0tLS1|MI[IGHM]|MC4C|[Bb]asic\s)/
const JWT = /^eyJ[\w-]*(?:\.[\w-]*)+$/
const URL_START = /^[a-z][a-z0-9+.-]*:\/\//i
/** All up to what follows a name: a user's (`user:word`), that of a scheme, or those of a connection string. */
const NAMED_PREFIX = /^.*[:;=\s](?=[^=\s])/s

/** How many characters at the beginning of a secret everybody knows who knows its kind. */
export function measureKnownPrefix(secret: string): number {
  if (JWT.test(secret)) return secret.lastIndexOf('.') + 1
  const start = secret.slice(0, MAX_KNOWN_PREFIX)
  return Math.max(start.lastIndexOf('-'), start.lastIndexOf('_')) + 1
}

/** How many characters at the beginning of a secret somebody may guess: all where nobody can say, as of keys of several lines, of JSON and of URLs. */
export function measureGuessable(secret: string): number {
  if (JWT.test(secret)) return measureKnownPrefix(secret)
  if (/[\r\n]/.test(secret) || /^\s*[[{]|^-----/.test(secret)) return secret.length
  if (ENCODED_START.test(secret) || URL_START.test(secret)) return secret.length
  return Math.max(measureKnownPrefix(secret), NAMED_PREFIX.exec(secret)?.[0].length ?? 0)
}

/** From so many characters on, a beginning of a secret, or of one of its forms, tells which secret it is. `length`: that the form has altogether. */
export function computeThreshold(length: number, known: number): number {
  const threshold = known + Math.max(MIN_UNGUESSED, Math.min(MAX_UNGUESSED, Math.ceil((length - known) / 2)))
  return threshold >= length || threshold > MAX_THRESHOLD ? length : threshold
}
