// The forms in which a secret may come back in a text: other texts that tell it, and ways to write each of them.
import { domainToASCII } from 'node:url'
import { LONGEST_PREFIX } from './rolling-hashes.ts'
import { SecretForm } from './secret-form.ts'

/** Shorter secrets are not looked for: too much else looks like them. Every form of a longer one is at least as long. */
export const MIN_SECRET_LENGTH = 8
/** Parts of a secret, such as its lines, are looked for from this length on: shorter ones stand in too many other texts. */
const MIN_PART_LENGTH = 16
/** What may be a part of a host name. */
const HOST_LABEL = /^(?:[\w.-]|[^\0-\x7f]){1,63}$/
/** Of so many lines of a secret each is looked for alone: more than private keys have. */
const MAX_LINES = 64

/** Fewer characters of base64 stand for anything. */
const MIN_BASE64_LENGTH = 4

export type SecretEncoding = (text: string) => string

/** All forms of a secret, with their beginnings. */
export function createSecretForms(secret: string): [word: SecretForm, beginning: string][] {
  const words: [SecretForm, string][] = []
  for (const text of listWholeTexts(secret))
    for (const written of encodeForms(text, selectEncodings(text), false)) words.push(written)
  for (const text of listParts(secret))
    for (const written of encodeForms(text, PART_ENCODINGS, true)) words.push(written)
  return words
}

/** The secret, without white space around it, and with each kind of line ends. */
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

/** Lines, as a key may be shown line by line; of a URL, what is sent and logged of it (WHATWG URL), its credentials as a header has them (RFC 7617) as well. */
function listParts(secret: string): Set<string> {
  const bare = secret.trim()
  const found = bare.includes('\n') ? bare.split(/\r?\n/, 2 * MAX_LINES).map((line) => line.trim()) : []
  const lines = found.filter((line) => line.length >= MIN_PART_LENGTH && !BOILERPLATE.test(line)).slice(0, MAX_LINES)
  const url = URL_START.test(bare) ? URL.parse(bare) : null
  const sent = url ? [url.href, url.pathname, url.search, ...listUrlCredentials(url)] : []
  return new Set([...lines, ...sent.filter((text) => text.length >= MIN_PART_LENGTH && text !== secret)])
}

/** The password, or the name where there is none, as of a token; and both as they are sent. */
function listUrlCredentials({ username, password }: URL): string[] {
  try {
    const [name, word] = [decodeURIComponent(username), decodeURIComponent(password)]
    return [word || name, Buffer.from(`${name}:${word}`).toString('base64')]
  } catch {
    // No request is made with such a URL.
    return []
  }
}

/** What a beginning of a form is made of: no way to write takes fewer characters than the text has. */
const SAMPLE_LENGTH = LONGEST_PREFIX + 32

/** Those that differ. Of a long text the beginnings alone are made. */
function* encodeForms(
  text: string,
  writes: readonly SecretEncoding[],
  isPart: boolean,
): Iterable<[SecretForm, string]> {
  const sample = text.length <= SAMPLE_LENGTH ? text : text.slice(0, SAMPLE_LENGTH) + sampleSpecialCharacters(text)
  const met = new Set<string>()
  for (const write of writes) {
    const form = write(sample)
    // What else a long text holds may tell ways of URLs and of base64 apart.
    if (met.has(form) && (sample === text || JSON_ENCODINGS.has(write))) continue
    met.add(form)
    yield [new SecretForm(text, write, isPart), form.slice(0, LONGEST_PREFIX)]
  }
}

/** Of each kind of characters that JSON writes otherwise, one that the text has. */
function sampleSpecialCharacters(text: string): string {
  const kinds = [/["\\]/, /\//, /[&'+<>`]/, /[^ -\uffff]/, /[\x7f-\uffff]/].map((kind) => kind.exec(text)?.[0] ?? '')
  return kinds.join('') + findLetteredCharacter(text) + (text.isWellFormed() ? '' : '\ud800')
}

/** One whose number is written with letters. */
function findLetteredCharacter(text: string): string {
  for (const [char] of text.matchAll(/[^ -~]/g)) if (/[a-f]/.test(escapeCharacter(char).slice(2))) return char
  return ''
}

const asIs: SecretEncoding = (text) => text
const inJson: SecretEncoding = (text) => JSON.stringify(text).slice(1, -1)
/** A character by its number, as JSON may write each. */
const escapeCharacter = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
const escapeCharacterUpperCase = (char: string): string => `\\u${escapeCharacter(char).slice(2).toUpperCase()}`
const inAscii: SecretEncoding = (text) => inJson(text).replaceAll(/[^ -~]/g, escapeCharacter)
const inUpperAscii: SecretEncoding = (text) =>
  inJson(text).replaceAll(/\\u[0-9a-f]{4}|\\.|[^ -~]/g, escapePartUpperCase)
/** As .NET writes JSON unless told otherwise: by their numbers also characters that mean something in HTML (`JavaScriptEncoder.Default`). */
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

/** Keeps what it wrote last: the ways of JSON in JSON begin with those of JSON. */
function memoizeLast(write: SecretEncoding): SecretEncoding {
  let [last, written] = ['', '']
  return (text) => {
    if (text !== last) [last, written] = [text, write(text)]
    return written
  }
}

const inLowerCase: SecretEncoding = (text) => text.toLowerCase()
/** As a label of a host name (RFC 5891): those of other alphabets are written in ASCII. Most texts are none. */
const inHost: SecretEncoding = (text) => {
  const label = HOST_LABEL.test(text) ? domainToASCII(text) : ''
  return label.length < text.length ? inLowerCase(text) : label
}
const inUrl: SecretEncoding = (text) => encodeURIComponent(text.toWellFormed())
/** As it is within a query (WHATWG URL: special-query percent-encode set). */
const inQuery: SecretEncoding = (text) => inUrl(text).replaceAll("'", '%27')
const inForm: SecretEncoding = (text) => new URLSearchParams({ s: text }).toString().slice(2)
const withLowerCaseEscapes =
  (write: SecretEncoding): SecretEncoding =>
  (text) =>
    write(text).replaceAll(/%../g, (code) => code.toLowerCase())

/** The whole, or the characters that a text alone decides after so many other bytes. */
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
/** As a URL in a URL writes it: where to go on after a login. */
const inUrlTwice =
  (write: SecretEncoding): SecretEncoding =>
  (text) =>
    inUrl(write(text))

/**
 * A text as it is, as JSON writes it, as JSON in JSON does (with one level more than texts need, so that a JSON text that holds them can
 * be looked at as well), as URLs write it (RFC 3986, and forms) and URLs in URLs, and as base64 (RFC 4648 §4, §5) at any place among other bytes, such as those
 * of a user's name before it (RFC 7617). In lower case as well, which is how host names come back.
 */
const HOSTS = [inLowerCase, inHost]
const IN_URLS = [...URLS, ...URLS.map(withLowerCaseEscapes)]
const ENCODINGS = [asIs, ...JSON_ONCE, ...JSON_TWICE, ...JSON_THRICE, ...IN_URLS, ...BASE64, ...HOSTS]
const ENCODINGS_WITH_NESTED_URLS = [...ENCODINGS, ...IN_URLS.map(inUrlTwice)]
/** In characters. No URL within a URL has a longer secret. */
const MAX_NESTED_URL_LENGTH = 4_096
const JSON_ENCODINGS: ReadonlySet<SecretEncoding> = new Set([...JSON_ONCE, ...JSON_TWICE, ...JSON_THRICE])
const PLAIN_TEXT_ENCODINGS = [asIs, ...BASE64, inLowerCase]
const SHORT_SECRET_ENCODINGS = [asIs, ...JSON_ONCE, ...URLS, ...URLS.map(withLowerCaseEscapes)]
const PART_ENCODINGS = [asIs, inJson]

/** The usual forms of a secret that is shorter than SHORTEST_SECRET. In lower case it would look like too much else. */
export function createShortForms(secret: string): string[] {
  const encoded = BASE64.map((write) => write(secret)).filter((form) => form.length >= MIN_BASE64_LENGTH)
  return [...SHORT_SECRET_ENCODINGS.map((write) => write(secret)), ...encoded]
}

/** What neither JSON nor a URL writes otherwise: most keys and tokens. */
const PLAIN = /^[\w.-]*$/

function selectEncodings(text: string): readonly SecretEncoding[] {
  if (PLAIN.test(text)) return PLAIN_TEXT_ENCODINGS
  return text.length <= MAX_NESTED_URL_LENGTH ? ENCODINGS_WITH_NESTED_URLS : ENCODINGS
}
