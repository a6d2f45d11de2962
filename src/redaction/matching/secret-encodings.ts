// The forms of a secret in texts: texts that reveal it, and the encodings of each.
import { domainToASCII } from 'node:url'
import { LONGEST_PREFIX } from './rolling-hashes.ts'
import { SecretForm } from './secret-form.ts'

/**
 * Shorter secrets are not searched: they match too much other text. Every form of a longer secret is at least as long.
 */
export const MIN_SECRET_LENGTH = 8
/** The minimum length of parts such as lines: shorter parts occur in too many other texts. */
const MIN_PART_LENGTH = 16
/** Matches labels of host names. */
const HOST_LABEL = /^(?:[\w.-]|[^\0-\x7f]){1,63}$/
/** The limit of lines that are searched alone; private keys have fewer. */
const MAX_LINES = 64

/** Shorter base64 texts match too much. */
const MIN_BASE64_LENGTH = 4

export type SecretEncoding = (text: string) => string

/** All forms of a secret, with their prefixes. */
export function createSecretForms(secret: string): [form: SecretForm, prefix: string][] {
  const forms: [SecretForm, string][] = []
  for (const text of listWholeTexts(secret))
    for (const written of encodeForms(text, selectEncodings(text), false)) forms.push(written)
  for (const text of listParts(secret))
    for (const written of encodeForms(text, PART_ENCODINGS, true)) forms.push(written)
  return forms
}

/** The secret, also without surrounding white space, and with each kind of line end. */
function listWholeTexts(secret: string): Set<string> {
  const bare = secret.trim()
  if (bare.length < MIN_SECRET_LENGTH) return new Set([secret])
  if (!bare.includes('\n')) return new Set([secret, bare])
  const lines = bare.replaceAll('\r\n', '\n')
  const all = new Set([secret, bare, lines, lines.replaceAll('\n', '\r\n')])
  return new Set([...all].filter((text) => text.length >= MIN_SECRET_LENGTH))
}

const URL_START = /^[a-z][a-z0-9+.-]*:\/\//i
const BOILERPLATE = /^-----(?:BEGIN|END) [^-]*-----$/

/**
 * The lines of a secret, since keys may be shown line by line. Of a URL, the parts that are sent and logged (WHATWG
 * URL), and its credentials as in a header (RFC 7617).
 */
function listParts(secret: string): Set<string> {
  const bare = secret.trim()
  const found = bare.includes('\n') ? bare.split(/\r?\n/, 2 * MAX_LINES).map((line) => line.trim()) : []
  const lines = found.filter((line) => line.length >= MIN_PART_LENGTH && !BOILERPLATE.test(line)).slice(0, MAX_LINES)
  const url = URL_START.test(bare) ? URL.parse(bare) : null
  const sent = url ? [url.href, url.pathname, url.search, ...listUrlCredentials(url)] : []
  return new Set([...lines, ...sent.filter((text) => text.length >= MIN_PART_LENGTH && text !== secret)])
}

/** The password, or the name if there is none, such as a token; and both encoded as they are sent. */
function listUrlCredentials({ username, password }: URL): string[] {
  try {
    const [name, secret] = [decodeURIComponent(username), decodeURIComponent(password)]
    return [secret || name, Buffer.from(`${name}:${secret}`).toString('base64')]
  } catch {
    // Such a URL cannot be requested.
    return []
  }
}

/** The length of the source for a form's prefix: no encoding has fewer characters than its source. */
const SAMPLE_LENGTH = LONGEST_PREFIX + 32

/** The different forms. Of a long text only the prefixes are encoded. */
function* encodeForms(
  text: string,
  writes: readonly SecretEncoding[],
  isPart: boolean,
): Iterable<[SecretForm, string]> {
  const sample = text.length <= SAMPLE_LENGTH ? text : text.slice(0, SAMPLE_LENGTH) + sampleSpecialCharacters(text)
  const met = new Set<string>()
  for (const write of writes) {
    const form = write(sample)
    // Other characters of a long text may still distinguish URL and base64 encodings.
    if (met.has(form) && (sample === text || JSON_ENCODINGS.has(write))) continue
    met.add(form)
    yield [new SecretForm(text, write, isPart), form.slice(0, LONGEST_PREFIX)]
  }
}

/** One character of the text for each kind that JSON escapes differently. */
function sampleSpecialCharacters(text: string): string {
  const kinds = [/["\\]/, /\//, /[&'+<>`]/, /[^ -\uffff]/, /[\x7f-\uffff]/].map((kind) => kind.exec(text)?.[0] ?? '')
  return kinds.join('') + findLetteredCharacter(text) + (text.isWellFormed() ? '' : '\ud800')
}

/** A character whose escape contains letters. */
function findLetteredCharacter(text: string): string {
  for (const [char] of text.matchAll(/[^ -~]/g)) if (/[a-f]/.test(escapeCharacter(char).slice(2))) return char
  return ''
}

const asIs: SecretEncoding = (text) => text
const inJson: SecretEncoding = (text) => JSON.stringify(text).slice(1, -1)
/** Escapes a character, as JSON may write any character. */
const escapeCharacter = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
const escapeCharacterUpperCase = (char: string): string => `\\u${escapeCharacter(char).slice(2).toUpperCase()}`
const inAscii: SecretEncoding = (text) => inJson(text).replaceAll(/[^ -~]/g, escapeCharacter)
const inUpperAscii: SecretEncoding = (text) =>
  inJson(text).replaceAll(/\\u[0-9a-f]{4}|\\.|[^ -~]/g, escapePartUpperCase)
/** The JSON encoding of .NET, which by default also escapes HTML characters (`JavaScriptEncoder.Default`). */
const inDotNet: SecretEncoding = (text) =>
  inJson(text).replaceAll(/\\u[0-9a-f]{4}|\\.|[^ -~]|[&'+<>`]/g, (part) =>
    part === '\\"' ? '\\u0022' : escapePartUpperCase(part),
  )
function escapePartUpperCase(part: string): string {
  if (part.length === 1) return escapeCharacterUpperCase(part)
  return part.length === 2 ? part : `\\u${part.slice(2).toUpperCase()}`
}
const withEscapedSlashes =
  (write: SecretEncoding): SecretEncoding =>
  (text) =>
    write(text).replaceAll('/', '\\/')
const inJsonAgain =
  (write: SecretEncoding): SecretEncoding =>
  (text) =>
    inJson(write(text))

/** Caches the last result: encodings of nested JSON start with those of JSON. */
function memoizeLast(write: SecretEncoding): SecretEncoding {
  let [last, written] = ['', '']
  return (text) => {
    if (text !== last) [last, written] = [text, write(text)]
    return written
  }
}

const inLowerCase: SecretEncoding = (text) => text.toLowerCase()
/**
 * As a label of a host name (RFC 5891): labels of other alphabets are converted to ASCII. Most texts are not labels.
 */
const inHost: SecretEncoding = (text) => {
  const label = HOST_LABEL.test(text) ? domainToASCII(text) : ''
  return label.length < text.length ? inLowerCase(text) : label
}
const inUrl: SecretEncoding = (text) => encodeURIComponent(text.toWellFormed())
/** As in a query (WHATWG URL: special-query percent-encode set). */
const inQuery: SecretEncoding = (text) => inUrl(text).replaceAll("'", '%27')
const inForm: SecretEncoding = (text) => new URLSearchParams({ s: text }).toString().slice(2)
const withLowerCaseEscapes =
  (write: SecretEncoding): SecretEncoding =>
  (text) =>
    write(text).replaceAll(/%../g, (code) => code.toLowerCase())

/** The whole encoding, or the characters that depend only on the text, after `before` other bytes. */
function inBase64(alphabet: 'base64' | 'base64url', before: 0 | 1 | 2 | null): SecretEncoding {
  return (text) => {
    if (before === null) return Buffer.from(text).toString(alphabet)
    const bytes = Buffer.from(BASE64_OFFSETS[before] + text)
    return bytes.toString(alphabet).slice(Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6))
  }
}

const BASE64_OFFSETS = ['', '\0', '\0\0'] as const

const BASE64 = (['base64', 'base64url'] as const).flatMap((alphabet) =>
  ([null, 0, 1, 2] as const).map((before) => inBase64(alphabet, before)),
)
const JSON_ONCE = [
  inJson,
  inAscii,
  withEscapedSlashes(inJson),
  withEscapedSlashes(inAscii),
  inUpperAscii,
  inDotNet,
].map(memoizeLast)
const JSON_TWICE = JSON_ONCE.map(inJsonAgain).map(memoizeLast)
const JSON_THRICE = JSON_TWICE.map(inJsonAgain)
const URLS = [inUrl, inQuery, inForm]
/** As in a nested URL, such as the target after a login. */
const inUrlTwice =
  (write: SecretEncoding): SecretEncoding =>
  (text) =>
    inUrl(write(text))

/**
 * The encodings: plain text and lower case, as host names return; JSON, and JSON in JSON. JSON has one extra level, so
 * that JSON text with such strings can be searched. URLs (RFC 3986, and forms), and nested URLs. Base64 (RFC 4648 §4,
 * §5) after any number of other bytes, such as a user name (RFC 7617).
 */
const HOSTS = [inLowerCase, inHost]
const IN_URLS = [...URLS, ...URLS.map(withLowerCaseEscapes)]
const ENCODINGS = [asIs, ...JSON_ONCE, ...JSON_TWICE, ...JSON_THRICE, ...IN_URLS, ...BASE64, ...HOSTS]
const ENCODINGS_WITH_NESTED_URLS = [...ENCODINGS, ...IN_URLS.map(inUrlTwice)]
/** In characters. Longer secrets do not occur in nested URLs. */
const MAX_NESTED_URL_LENGTH = 4_096
const JSON_ENCODINGS: ReadonlySet<SecretEncoding> = new Set([...JSON_ONCE, ...JSON_TWICE, ...JSON_THRICE])
const PLAIN_TEXT_ENCODINGS = [asIs, ...BASE64, inLowerCase]
const SHORT_SECRET_ENCODINGS = [asIs, ...JSON_ONCE, ...URLS, ...URLS.map(withLowerCaseEscapes)]
const PART_ENCODINGS = [asIs, inJson]

/** The usual forms of a secret shorter than MIN_SECRET_LENGTH. Lower case is omitted, since it would match too much. */
export function createShortForms(secret: string): string[] {
  const encoded = BASE64.map((write) => write(secret)).filter((form) => form.length >= MIN_BASE64_LENGTH)
  return [...SHORT_SECRET_ENCODINGS.map((write) => write(secret)), ...encoded]
}

/** Characters that neither JSON nor URLs encode: those of most keys and tokens. */
const PLAIN = /^[\w.-]*$/

function selectEncodings(text: string): readonly SecretEncoding[] {
  if (PLAIN.test(text)) return PLAIN_TEXT_ENCODINGS
  return text.length <= MAX_NESTED_URL_LENGTH ? ENCODINGS_WITH_NESTED_URLS : ENCODINGS
}
