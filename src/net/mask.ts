// Secrets that must not be read again in what is told of a request: found, and replaced, in each form in which they may come back.
// They are found as those of users are: one pattern of all forms of long secrets would be too long, and an error about it would hold them.
import { Finder } from '../redaction/finder.ts'
import { SHORTEST_SECRET, shortForms } from '../redaction/forms.ts'
import { Redactor } from '../redaction/redactor.ts'
import { finish, forEachStep, type Steps } from '../time-slices.ts'

const MASK = '***'
/** Characters of one pattern: from some hundred thousand on there may be none. */
const LONGEST_PATTERN = 65_536
/** Characters that are looked at in one step, and of those behind them as many as the longest form of a short secret has. */
const PIECE = 65_536
const LONGEST_SHORT = 1_024

export type Mask = (text: string) => string

/** Made when it is first called: of most requests nothing has to be looked for in much. */
function whenCalled(make: () => Mask): Mask {
  let mask: Mask | null = null
  return (text) => {
    mask ??= make()
    return mask(text)
  }
}

/** For secrets of 8 characters or more. */
function* longMask(secrets: readonly string[]): Steps<Mask> {
  const finder = new Finder()
  yield* forEachStep(new Set(secrets), (secret) => finder.add(secret, null), 1)
  return (text) => finder.replace(text, MASK, null)
}

/** For shorter ones. */
function* shortMask(secrets: readonly string[]): Steps<Mask> {
  const found = new Set<string>()
  yield* forEachStep(secrets, (secret) => {
    for (const form of shortForms(secret)) if (form !== '') found.add(form)
  })
  const patterns = patternsOf([...found].sort((a, b) => b.length - a.length))
  return (text) => patterns.reduce((left, pattern) => left.replace(pattern, MASK), text)
}

/** Of any of the forms, the longest first, so that none is replaced in part. */
function patternsOf(forms: readonly string[]): RegExp[] {
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
    if (length + escaped.length > LONGEST_PATTERN) end()
    some.push(escaped)
    length += escaped.length
  }
  end()
  return patterns
}

function isLong(secret: string): boolean {
  return secret.length >= SHORTEST_SECRET
}

/**
 * For what is shown of a request in a message: every secret is replaced, however short, also where its bytes are read as what they are not: headers have
 * a character for each byte, and servers name charsets that their answers are not in.
 */
export function strictMask(secrets: readonly string[]): Mask {
  return whenCalled(() => finish(maskSteps(secrets)))
}

/** The same mask, made in steps: a secret has many forms, and a request may hold a thousand secrets. */
export function* maskSteps(secrets: readonly string[]): Steps<Mask> {
  const all = asBytes(secrets)
  const short = all.filter((secret) => secret !== '' && !isLong(secret))
  const long = all.filter(isLong)
  if (short.length === 0 && long.length === 0) return (text) => text
  const longOnes = yield* longMask(long)
  const shortOnes = yield* shortMask(short)
  return (text) => shortOnes(longOnes(text))
}

/** Each byte as one character, so that text can be found among bytes that are none. */
function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
}

/** What decoders read where a charset is called Latin-1 (WHATWG Encoding). */
const WINDOWS = new TextDecoder('windows-1252')

const IS_ASCII = /^\p{ASCII}*$/u

/** The secrets as texts have them and as their bytes do, read by one character for each: those of ASCII are the same. */
function asBytes(secrets: readonly string[]): string[] {
  return secrets.flatMap((secret) => {
    if (IS_ASCII.test(secret)) return [secret]
    const bytes = Buffer.from(secret)
    return [...new Set([secret, latin1(bytes), WINDOWS.decode(bytes)])]
  })
}

/** Whether a text, or bytes, hold any of the secrets in one of their forms. To be made once for all that is looked at. */
export function secretSearch(secrets: readonly string[]): (content: string | Uint8Array) => boolean {
  const mask = strictMask(secrets)
  return (content) => {
    const text = typeof content === 'string' ? content : latin1(content)
    return mask(text) !== text
  }
}

/** The same of long content, in steps. */
export function* secretSteps(secrets: readonly string[], content: string | Uint8Array): Steps<boolean> {
  const all = asBytes(secrets).filter((secret) => secret !== '')
  if (all.length === 0) return false
  const text = typeof content === 'string' ? content : latin1(content)
  const redactor = new Redactor()
  yield* forEachStep(all, (secret) => redactor.add(secret), 1)
  if ((yield* redactor.textSteps(text, { credentials: false })) !== text) return true
  const mask = yield* shortMask(all.filter((secret) => !isLong(secret)))
  for (let at = 0; at < text.length; at += PIECE) {
    const piece = text.slice(at, at + PIECE + LONGEST_SHORT)
    if (mask(piece) !== piece) return true
    yield
  }
  return false
}

/** Secrets in what a server answered, each replaced that has 8 characters or more: too much else looks like shorter ones. */
export interface AnswerMask {
  readonly text: Mask
  /** The number, or a text in its place. */
  number(value: number): number | string
  bytes(value: Uint8Array): Uint8Array
}

export function answerMask(secrets: readonly string[]): AnswerMask {
  const long = secrets.filter(isLong)
  const text = strictMask(long)
  const numbers = new Set(long.map(Number).filter((number) => Number.isFinite(number) && number !== 0))
  return {
    text,
    number: (value) => {
      if (numbers.size === 0) return value
      const written = String(value)
      // One of more digits than it can hold comes back rounded, and still tells most of them.
      const masked = numbers.has(value) ? MASK : text(written)
      return masked === written ? value : masked
    },
    bytes: (value) => (long.length === 0 ? value : Buffer.from(text(latin1(value)), 'latin1')),
  }
}
