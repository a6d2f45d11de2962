// Masks secrets in messages about a request, in each form in which a server may return them. Long secrets are found as users' secrets are.
// One pattern of all their forms would be too long, and an error about the pattern would reveal them.

import { createShortForms, MIN_SECRET_LENGTH } from '../redaction/matching/secret-encodings.ts'
import { SecretIndex } from '../redaction/matching/secret-index.ts'
import { Redactor } from '../redaction/redactor.ts'
import { forEachSteps, runToCompletion, type Steps } from '../shared/time-slices.ts'

const REPLACEMENT = '***'
/** The most characters of one pattern. The engine refuses patterns of some hundred thousand characters. */
const MAX_PATTERN_LENGTH = 65_536
/** Characters that one step scans. The step also scans as many following characters as the longest form of a short secret has. */
const SCAN_LENGTH = 65_536
const MAX_SHORT_FORM_LENGTH = 1_024

export type SecretMask = (text: string) => string

/** Creates the mask at its first call, because most requests never need one. */
function createLazyMask(make: () => SecretMask): SecretMask {
  let mask: SecretMask | null = null
  return (text) => {
    mask ??= make()
    return mask(text)
  }
}

/** For secrets with 8 characters or more. */
function* createLongSecretMaskSteps(secrets: readonly string[]): Steps<SecretMask> {
  const finder = new SecretIndex()
  yield* forEachSteps(new Set(secrets), (secret) => finder.add(secret, null), 1)
  return (text) => finder.replace(text, REPLACEMENT, null)
}

/** For secrets with fewer than 8 characters. */
function* createShortSecretMaskSteps(secrets: readonly string[]): Steps<SecretMask> {
  const found = new Set<string>()
  yield* forEachSteps(secrets, (secret) => {
    for (const form of createShortForms(secret)) if (form !== '') found.add(form)
  })
  const patterns = buildPatterns([...found].sort((a, b) => b.length - a.length))
  return (text) => patterns.reduce((left, pattern) => left.replace(pattern, REPLACEMENT), text)
}

/** Builds patterns that match any of the forms. The longest form comes first, so that no form is replaced in part. */
function buildPatterns(forms: readonly string[]): RegExp[] {
  const patterns: RegExp[] = []
  let some: string[] = []
  let length = 0
  const end = () => {
    // The first matching alternative counts. One pass is faster than a pass for each form.
    if (some.length > 0) patterns.push(new RegExp(some.join('|'), 'g'))
    some = []
    length = 0
  }
  for (const form of forms) {
    const escaped = form.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&')
    if (length + escaped.length > MAX_PATTERN_LENGTH) end()
    some.push(escaped)
    length += escaped.length
  }
  end()
  return patterns
}

function isLongSecret(secret: string): boolean {
  return secret.length >= MIN_SECRET_LENGTH
}

/**
 * Creates a mask for messages about a request. It replaces every secret, however short. It also replaces the secret's bytes when they are
 * decoded wrongly: headers have one character for each byte, and servers may name a wrong charset.
 */
export function createStrictMask(secrets: readonly string[]): SecretMask {
  return createLazyMask(() => runToCompletion(createStrictMaskSteps(secrets)))
}

/** Creates the same mask in steps. A secret has many forms, and a request may hold a thousand secrets. */
export function* createStrictMaskSteps(secrets: readonly string[]): Steps<SecretMask> {
  const all = withByteReadings(secrets)
  const short = all.filter((secret) => secret !== '' && !isLongSecret(secret))
  const long = all.filter(isLongSecret)
  if (short.length === 0 && long.length === 0) return (text) => text
  const longOnes = yield* createLongSecretMaskSteps(long)
  const shortOnes = yield* createShortSecretMaskSteps(short)
  return (text) => shortOnes(longOnes(text))
}

/** Maps each byte to one character, so that text can be found in binary data. */
function toLatin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
}

/** The decoder for charsets that are called Latin-1 (WHATWG Encoding). */
const WINDOWS_1252_DECODER = new TextDecoder('windows-1252')

const ASCII_ONLY = /^\p{ASCII}*$/u

/** Returns the secrets, and their UTF-8 bytes read as one character each. The two are the same for ASCII. */
function withByteReadings(secrets: readonly string[]): string[] {
  return secrets.flatMap((secret) => {
    if (ASCII_ONLY.test(secret)) return [secret]
    const bytes = Buffer.from(secret)
    return [...new Set([secret, toLatin1(bytes), WINDOWS_1252_DECODER.decode(bytes)])]
  })
}

/** Returns a function that tells whether a text, or bytes, hold any of the secrets in any form. Create it once for all content. */
export function createSecretSearch(secrets: readonly string[]): (content: string | Uint8Array) => boolean {
  const mask = createStrictMask(secrets)
  return (content) => {
    const text = typeof content === 'string' ? content : toLatin1(content)
    return mask(text) !== text
  }
}

/** Searches long content in steps. */
export function* containsSecretSteps(secrets: readonly string[], content: string | Uint8Array): Steps<boolean> {
  const all = withByteReadings(secrets).filter((secret) => secret !== '')
  if (all.length === 0) return false
  const text = typeof content === 'string' ? content : toLatin1(content)
  const redactor = new Redactor()
  yield* forEachSteps(all, (secret) => redactor.add(secret), 1)
  if ((yield* redactor.textSteps(text, { credentials: false })) !== text) return true
  const mask = yield* createShortSecretMaskSteps(all.filter((secret) => !isLongSecret(secret)))
  for (let at = 0; at < text.length; at += SCAN_LENGTH) {
    const piece = text.slice(at, at + SCAN_LENGTH + MAX_SHORT_FORM_LENGTH)
    if (mask(piece) !== piece) return true
    yield
  }
  return false
}

/** Masks secrets in a server's answer. Only secrets with 8 characters or more are masked: shorter ones match too much other text. */
export interface ResponseMask {
  readonly text: SecretMask
  /** Returns the number, or a masked text in its place. */
  number(value: number): number | string
  bytes(value: Uint8Array): Uint8Array
}

export function createResponseMask(secrets: readonly string[]): ResponseMask {
  const long = secrets.filter(isLongSecret)
  const text = createStrictMask(long)
  const numbers = new Set(long.map(Number).filter((number) => Number.isFinite(number) && number !== 0))
  return {
    text,
    number: (value) => {
      if (numbers.size === 0) return value
      const written = String(value)
      // A number with too many digits is rounded and still reveals most of them.
      const masked = numbers.has(value) ? REPLACEMENT : text(written)
      return masked === written ? value : masked
    },
    bytes: (value) => (long.length === 0 ? value : Buffer.from(text(toLatin1(value)), 'latin1')),
  }
}
