// The forms in which a secret may come back in a text: other texts that tell it, and ways to write each of them.
import { domainToASCII } from 'node:url'
import { BEGINNING } from './hashes.ts'
import { Word } from './word.ts'

/** Shorter secrets are not looked for: too much else looks like them. Every form of a longer one is at least as long. */
export const SHORTEST_SECRET = 8
/** Parts of a secret, such as its lines, are looked for from this length on: shorter ones stand in too many other texts. */
const SHORTEST_PART = 16
/** What may be a part of a host name. */
const LABEL = /^(?:[\w.-]|[^\0-\x7f]){1,63}$/
/** Of so many lines of a secret each is looked for alone: more than private keys have. */
const MOST_LINES = 64

/** Fewer characters of base64 stand for anything. */
const SHORTEST_BASE64 = 4

export type Write = (text: string) => string

/** All forms of a secret, with their beginnings. */
export function secretWords(secret: string): [word: Word, beginning: string][] {
  const words: [Word, string][] = []
  for (const text of wholes(secret)) for (const written of writtenAs(text, writesOf(text), false)) words.push(written)
  for (const text of parts(secret)) for (const written of writtenAs(text, PLAINLY, true)) words.push(written)
  return words
}

/** The secret, without white space around it, and with each kind of line ends. */
function wholes(secret: string): Set<string> {
  const bare = secret.trim()
  if (bare.length < SHORTEST_SECRET) return new Set([secret])
  if (!bare.includes('\n')) return new Set([secret, bare])
  const lines = bare.replaceAll('\r\n', '\n')
  const all = new Set([secret, bare, lines, lines.replaceAll('\n', '\r\n')])
  return new Set([...all].filter((text) => text.length >= SHORTEST_SECRET))
}

const URL_START = /^[a-z][a-z0-9+.-]*:\/\//i
const BOILERPLATE = /^-----(?:BEGIN|END) [^-]*-----$/

/** Lines, as a key may be shown line by line; of a URL, what is sent and logged of it (WHATWG URL), its credentials as a header has them (RFC 7617) as well. */
function parts(secret: string): Set<string> {
  const bare = secret.trim()
  const found = bare.includes('\n') ? bare.split(/\r?\n/, 2 * MOST_LINES).map((line) => line.trim()) : []
  const lines = found.filter((line) => line.length >= SHORTEST_PART && !BOILERPLATE.test(line)).slice(0, MOST_LINES)
  const url = URL_START.test(bare) ? URL.parse(bare) : null
  const sent = url ? [url.href, url.pathname, url.search, ...credentials(url)] : []
  return new Set([...lines, ...sent.filter((text) => text.length >= SHORTEST_PART && text !== secret)])
}

/** The password, or the name where there is none, as of a token; and both as they are sent. */
function credentials({ username, password }: URL): string[] {
  try {
    const [name, word] = [decodeURIComponent(username), decodeURIComponent(password)]
    return [word || name, Buffer.from(`${name}:${word}`).toString('base64')]
  } catch {
    // No request is made with such a URL.
    return []
  }
}

/** What a beginning of a form is made of: no way to write takes fewer characters than the text has. */
const ENOUGH = BEGINNING + 32

/** Those that differ. Of a long text the beginnings alone are made. */
function* writtenAs(text: string, writes: readonly Write[], isPart: boolean): Iterable<[Word, string]> {
  const sample = text.length <= ENOUGH ? text : text.slice(0, ENOUGH) + telling(text)
  const met = new Set<string>()
  for (const write of writes) {
    const form = write(sample)
    // What else a long text holds may tell ways of URLs and of base64 apart.
    if (met.has(form) && (sample === text || asJson.has(write))) continue
    met.add(form)
    yield [new Word(text, write, isPart), form.slice(0, BEGINNING)]
  }
}

/** Of each kind of characters that JSON writes otherwise, one that the text has. */
function telling(text: string): string {
  const kinds = [/["\\]/, /\//, /[&'+<>`]/, /[^ -\uffff]/, /[\x7f-\uffff]/].map((kind) => kind.exec(text)?.[0] ?? '')
  return kinds.join('') + lettered(text) + (text.isWellFormed() ? '' : '\ud800')
}

/** One whose number is written with letters. */
function lettered(text: string): string {
  for (const [char] of text.matchAll(/[^ -~]/g)) if (/[a-f]/.test(numbered(char).slice(2))) return char
  return ''
}

const asItIs: Write = (text) => text
const inJson: Write = (text) => JSON.stringify(text).slice(1, -1)
/** A character by its number, as JSON may write each. */
const numbered = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
const upperNumbered = (char: string): string => `\\u${numbered(char).slice(2).toUpperCase()}`
const inAscii: Write = (text) => inJson(text).replaceAll(/[^ -~]/g, numbered)
const inUpperAscii: Write = (text) => inJson(text).replaceAll(/\\u[0-9a-f]{4}|\\.|[^ -~]/g, uppered)
/** As .NET writes JSON unless told otherwise: by their numbers also characters that mean something in HTML (`JavaScriptEncoder.Default`). */
const inDotNet: Write = (text) =>
  inJson(text).replaceAll(/\\u[0-9a-f]{4}|\\.|[^ -~]|[&'+<>`]/g, (part) => (part === '\\"' ? '\\u0022' : uppered(part)))
function uppered(part: string): string {
  if (part.length === 1) return upperNumbered(part)
  return part.length === 2 ? part : `\\u${part.slice(2).toUpperCase()}`
}
const slashed =
  (write: Write): Write =>
  (text) =>
    write(text).replaceAll('/', '\\/')
const twice =
  (write: Write): Write =>
  (text) =>
    inJson(write(text))

/** Keeps what it wrote last: the ways of JSON in JSON begin with those of JSON. */
function remembered(write: Write): Write {
  let [last, written] = ['', '']
  return (text) => {
    if (text !== last) [last, written] = [text, write(text)]
    return written
  }
}

const inLowerCase: Write = (text) => text.toLowerCase()
/** As a label of a host name (RFC 5891): those of other alphabets are written in ASCII. Most texts are none. */
const inHost: Write = (text) => {
  const label = LABEL.test(text) ? domainToASCII(text) : ''
  return label.length < text.length ? inLowerCase(text) : label
}
const inUrl: Write = (text) => encodeURIComponent(text.toWellFormed())
/** As it is within a query (WHATWG URL: special-query percent-encode set). */
const inQuery: Write = (text) => inUrl(text).replaceAll("'", '%27')
const inForm: Write = (text) => new URLSearchParams({ s: text }).toString().slice(2)
const lower =
  (write: Write): Write =>
  (text) =>
    write(text).replaceAll(/%../g, (code) => code.toLowerCase())

/** The whole, or the characters that a text alone decides after so many other bytes. */
function inBase64(alphabet: 'base64' | 'base64url', before: 0 | 1 | 2 | null): Write {
  return (text) => {
    if (before === null) return Buffer.from(text).toString(alphabet)
    const bytes = Buffer.from(BEFORE[before] + text)
    return bytes.toString(alphabet).slice(Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6))
  }
}

const BEFORE = ['', '\0', '\0\0'] as const

const BASE64 = (['base64', 'base64url'] as const).flatMap((alphabet) =>
  ([null, 0, 1, 2] as const).map((before) => inBase64(alphabet, before)),
)
const JSON_ONCE = [inJson, inAscii, slashed(inJson), slashed(inAscii), inUpperAscii, inDotNet].map(remembered)
const JSON_TWICE = JSON_ONCE.map(twice).map(remembered)
const JSON_THRICE = JSON_TWICE.map(twice)
const URLS = [inUrl, inQuery, inForm]
/** As a URL in a URL writes it: where to go on after a login. */
const inUrlTwice =
  (write: Write): Write =>
  (text) =>
    inUrl(write(text))

/**
 * A text as it is, as JSON writes it, as JSON in JSON does (with one level more than texts need, so that a JSON text that holds them can
 * be looked at as well), as URLs write it (RFC 3986, and forms) and URLs in URLs, and as base64 (RFC 4648 §4, §5) at any place among other bytes, such as those
 * of a user's name before it (RFC 7617). In lower case as well, which is how host names come back.
 */
const HOSTS = [inLowerCase, inHost]
const IN_URLS = [...URLS, ...URLS.map(lower)]
const WRITES = [asItIs, ...JSON_ONCE, ...JSON_TWICE, ...JSON_THRICE, ...IN_URLS, ...BASE64, ...HOSTS]
const WRITES_WITH_URLS_IN_URLS = [...WRITES, ...IN_URLS.map(inUrlTwice)]
/** In characters. No URL within a URL has a longer secret. */
const LONGEST_IN_URLS = 4_096
const asJson: ReadonlySet<Write> = new Set([...JSON_ONCE, ...JSON_TWICE, ...JSON_THRICE])
const WRITES_OF_PLAIN = [asItIs, ...BASE64, inLowerCase]
const WRITES_OF_SHORT = [asItIs, ...JSON_ONCE, ...URLS, ...URLS.map(lower)]
const PLAINLY = [asItIs, inJson]

/** The usual forms of a secret that is shorter than SHORTEST_SECRET. In lower case it would look like too much else. */
export function shortForms(secret: string): string[] {
  const encoded = BASE64.map((write) => write(secret)).filter((form) => form.length >= SHORTEST_BASE64)
  return [...WRITES_OF_SHORT.map((write) => write(secret)), ...encoded]
}

/** What neither JSON nor a URL writes otherwise: most keys and tokens. */
const PLAIN = /^[\w.-]*$/

function writesOf(text: string): readonly Write[] {
  if (PLAIN.test(text)) return WRITES_OF_PLAIN
  return text.length <= LONGEST_IN_URLS ? WRITES_WITH_URLS_IN_URLS : WRITES
}
