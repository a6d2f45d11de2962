// Secrets that must not be read again in what is told of a request: found, and replaced, in each form in which they may come back.
// They are found as those of users are: one pattern of all forms of long secrets would be too long, and an error about it would hold them.

import { createShortForms, MIN_SECRET_LENGTH } from '../redaction/matching/secret-encodings.ts'
import { SecretIndex } from '../redaction/matching/secret-index.ts'
import { Redactor } from '../redaction/redactor.ts'
import { forEachSteps, runToCompletion, type Steps } from '../shared/time-slices.ts'

const REPLACEMENT = '***'
/** Characters of one pattern: from some hundred thousand on there may be none. */
const MAX_PATTERN_LENGTH = 65_536
/** Characters that are looked at in one step, and of those behind them as many as the longest form of a short secret has. */
const SCAN_LENGTH = 65_536
const MAX_SHORT_FORM_LENGTH = 1_024

export type SecretMask = (text: string) => string

/** Made when it is first called: of most requests nothing has to be looked for in much. */
function createLazyMask(make: () => SecretMask): SecretMask {
  let mask: SecretMask | null = null
  return (text) => {
    mask ??= make()
    return mask(text)
  }
}

/** For secrets of 8 characters or more. */
function* createLongSecretMaskSteps(secrets: readonly string[]): Steps<SecretMask> {
  const finder = new SecretIndex()
  yield* forEachSteps(new Set(secrets), (secret) => finder.add(secret, null), 1)
  return (text) => finder.replace(text, REPLACEMENT, null)
}

/** For shorter ones. */
function* createShortSecretMaskSteps(secrets: readonly string[]): Steps<SecretMask> {
  const found = new Set<string>()
  yield* forEachSteps(secrets, (secret) => {
    for (const form of createShortForms(secret)) if (form !== '') found.add(form)
  })
  const patterns = buildPatterns([...found].sort((a, b) => b.length - a.length))
  return (text) => patterns.reduce((left, pattern) => left.replace(pattern, REPLACEMENT), text)
}

/** Of any of the forms, the longest first, so that none is replaced in part. */
function buildPatterns(forms: readonly string[]): RegExp[] {
  const patterns: RegExp[] = []
  let some: string[] = []
  let length = 0
  const end = () => {
    // The earlier of two alternatives counts. In texts of any length one pass is faster than one for each form.
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
 * For what is shown of a request in a message: every secret is replaced, however short, also where its bytes are read as what they are not: headers have
 * a character for each byte, and servers name charsets that their answers are not in.
 */
export function createStrictMask(secrets: readonly string[]): SecretMask {
  return createLazyMask(() => runToCompletion(createStrictMaskSteps(secrets)))
}

/** The same mask, made in steps: a secret has many forms, and a request may hold a thousand secrets. */
export function* createStrictMaskSteps(secrets: readonly string[]): Steps<SecretMask> {
  const all = withByteReadings(secrets)
  const short = all.filter((secret) => secret !== '' && !isLongSecret(secret))
  const long = all.filter(isLongSecret)
  if (short.length === 0 && long.length === 0) return (text) => text
  const longOnes = yield* createLongSecretMaskSteps(long)
  const shortOnes = yield* createShortSecretMaskSteps(short)
  return (text) => shortOnes(longOnes(text))
}

/** Each byte as one character, so that text can be found among bytes that are none. */
function toLatin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
}

/** What decoders read where a charset is called Latin-1 (WHATWG Encoding). */
const WINDOWS_1252_DECODER = new TextDecoder('windows-1252')

const ASCII_ONLY = /^\p{ASCII}*$/u

/** The secrets as texts have them and as their bytes do, read by one character for each: those of ASCII are the same. */
function withByteReadings(secrets: readonly string[]): string[] {
  return secrets.flatMap((secret) => {
    if (ASCII_ONLY.test(secret)) return [secret]
    const bytes = Buffer.from(secret)
    return [...new Set([secret, toLatin1(bytes), WINDOWS_1252_DECODER.decode(bytes)])]
  })
}

/** Whether a text, or bytes, hold any of the secrets in one of their forms. To be made once for all that is looked at. */
export function createSecretSearch(secrets: readonly string[]): (content: string | Uint8Array) => boolean {
  const mask = createStrictMask(secrets)
  return (content) => {
    const text = typeof content === 'string' ? content : toLatin1(content)
    return mask(text) !== text
  }
}

/** The same of long content, in steps. */
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

/** Secrets in what a server answered, each replaced that has 8 characters or more: too much else looks like shorter ones. */
export interface ResponseMask {
  readonly text: SecretMask
  /** The number, or a text in its place. */
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
      // One of more digits than it can hold comes back rounded, and still tells most of them.
      const masked = numbers.has(value) ? REPLACEMENT : text(written)
      return masked === written ? value : masked
    },
    bytes: (value) => (long.length === 0 ? value : Buffer.from(text(toLatin1(value)), 'latin1')),
  }
}
