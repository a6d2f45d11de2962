// What credentials look like: the words that they begin with, what follows, and how much of it has to be read until they are told from prose.
// Every pattern is tried in linear time: what may repeat without end is never followed by something that may fail.
import type { Pattern, Shape } from './replacing.ts'

export const MARK = '[redacted]'

/** Where a word begins: also after an escape such as `\n`, since a text may be JSON. */
export const START = String.raw`(?<=^|[^A-Za-z0-9]|\\[bfnrt])`
/** What closes a name or opens a value. `\\`: a JSON text may be a string of another. */
const SLASHES = String.raw`\\{0,3}`
const QUOTE = `${SLASHES}["']`
const BETWEEN = String.raw`\s{0,4}[:=]\s{0,4}`
export const SCHEMES = 'bearer|basic|digest|token|negotiate|aws4-hmac-sha256'
const SCHEME_NAME = new RegExp(`^(?:${SCHEMES})$`, 'i')
/** What is said about credentials, and is none. */
const NO_CREDENTIAL =
  /^(?:true|false|null|undefined|none|nil|yes|no|not|on|off|any|empty|unset|unknown|required|optional|needed|missing|invalid|expired|failed|denied|refused|rejected|granted|enabled|disabled)[.:!?)]{0,3}$/i
/** No word of either kind is as long. */
const LONGER_THAN_WORDS = 20

const NOTHING = /(?:)/y
const BRACKETS = String.raw`{}[\]`

/** A text and its beginnings. */
function beginnings(word: string): string {
  const first = word.charAt(0).replace(/[[\]]/, String.raw`\$&`)
  return word.length === 1 ? first : `${first}(?:${beginnings(word.slice(1))})?`
}

/** The end of a text that may be the beginning of one of some words. */
function openingOf(words: readonly string[], flags: string) {
  const opening = new RegExp(`${START}(?:${words.map(beginnings).join('|')})$`, flags)
  return { opening, longest: Math.max(...words.map(({ length }) => length)) }
}

/** What a value is made of. Brackets around it belong to what it stands in; no more than 16 do. */
function partsOf(ends: string) {
  const others = String.raw`\s"'\\,;${ends}`
  const inside = `[^${others}${BRACKETS}]`
  const brackets = `[${BRACKETS}]{1,16}(?=${inside})|[${BRACKETS}]{17}`
  const first = String.raw`(?:\[redacted\]|${inside})`
  return { others, inside, brackets, first }
}

/** A name and the value after it, as a header line, a setting or a member of JSON, with what else ends a value. */
export function member(names: string, ends = ''): Pattern {
  const { inside, brackets, first } = partsOf(ends)
  const value = `${first}(?:${inside}|${brackets}){0,${LONGER_THAN_WORDS}}`
  return {
    begins: new RegExp(`${START}(?:${names})`, 'gi'),
    whole: new RegExp(
      `(${names})((?:${QUOTE})?)(${BETWEEN})((?:${QUOTE})?)((?:(?:${SCHEMES})\\s{1,4})?)(${value})`,
      'iy',
    ),
    rest: new RegExp(`(?:${inside}+|${brackets})*`, 'y'),
    close: NOTHING,
    told([, name, closing, between, opening, scheme, value]) {
      if (NO_CREDENTIAL.test(value!) || (scheme === '' && SCHEME_NAME.test(value!))) return null
      // A number of JSON becomes a text: the whole stays JSON.
      const quote = opening === '' ? closing : ''
      return `${name}${closing}${between}${opening}${quote}${scheme}${MARK}${quote}`
    },
  }
}

/** A header (RFC 9110 §11.6.2) that may come in pieces. What stands before the name, such as `proxy-`, stays in any case. */
function header(): Shape {
  const name = 'authori[sz]ation'
  const { others, first } = partsOf('')
  const value = `(?:(?:${SCHEMES})\\s{1,4})?(?:(?:${beginnings(MARK)})?|${first}[^${others}]*)`
  const after = `(?:${SLASHES}|(?:${QUOTE})?${value})`
  return {
    ...member(name),
    ...openingOf(['authorization', 'authorisation'], 'gi'),
    unsure: new RegExp(`${name}(?:${SLASHES}|(?:${QUOTE})?(?:\\s{0,4}|${BETWEEN}${after}))$`, 'iy'),
    begun: new RegExp(`${name}(?:${QUOTE})?${BETWEEN}(?:${QUOTE})?(?:(?:${SCHEMES})\\s{1,4})?(?=${first})`, 'iy'),
    mark: MARK,
    certain: (found) => found[6]!.length > LONGER_THAN_WORDS,
    open: new RegExp(`[${BRACKETS}]{0,16}$`, 'y'),
  }
}

export const AUTHORIZATION = header()

/** As much of the word after `basic` as may have no colon in it before it counts as credentials all the same: no user's name is as long. */
const LONGEST_UNCLEAR = 512
const LONG_TOKEN = 24
const SPACE = String.raw`\s{1,4}|%20|\+`
const CHARS = String.raw`[\w.~+/%-]`

/** User and password, as base64: "basic information" is none. More characters make nothing else of it. */
function isBasic(value: string): boolean {
  return value.length >= LONGEST_UNCLEAR || Buffer.from(value, 'base64').includes(':')
}

/** Words have neither digits nor capitals inside, and end sooner: "bearer authentication" stays as it is. More characters make nothing else of it. */
function isToken(value: string): boolean {
  return value.length >= 8 && (value.length >= LONG_TOKEN || /\d|[a-z][A-Z]/.test(value))
}

/** Authorization values without the name before them (RFC 6750, RFC 7617). */
export const SCHEME: Shape = {
  ...openingOf(['bearer', 'basic'], 'gi'),
  begins: new RegExp(`${START}(?:bearer|basic)`, 'gi'),
  whole: new RegExp(`(bearer|basic)(${SPACE})(${CHARS}{4,${LONGEST_UNCLEAR}})(?=(={0,2}))`, 'iy'),
  rest: new RegExp(`${CHARS}*`, 'y'),
  close: /={0,2}/y,
  told([, scheme, space, chars, end]) {
    const value = `${chars}${end}`
    return (scheme!.length === 'basic'.length ? isBasic(value) : isToken(value)) ? `${scheme}${space}${MARK}` : null
  },
  unsure: new RegExp(`(?:bearer|basic)(?:\\s{0,4}|%2?|(?:${SPACE})${CHARS}*={0,2})$`, 'iy'),
  begun: new RegExp(`(?:bearer|basic)(?:${SPACE})(?=${CHARS})`, 'iy'),
  mark: MARK,
  certain: () => true,
  open: /={0,2}$/y,
}

/** Tokens of this service. */
export const OWN_TOKEN: Shape = {
  ...openingOf(['ntk_', 'nta_', 'nda_'], 'g'),
  begins: new RegExp(`${START}n(?:tk|ta|da)_`, 'g'),
  whole: /n(?:tk|ta|da)_[\w-]{16}/y,
  rest: /[\w-]*(?:\.[\w-]+)*/y,
  close: NOTHING,
  // After a backslash, the first letter may be a part of an escape.
  told: (_found, before) => (before === '\\' ? `n${MARK}` : MARK),
  unsure: /n(?:tk|ta|da)_[\w-]{0,15}$/y,
  // After a backslash as above.
  begun: /(?<=\\)n(?=(?:tk|ta|da)_[\w-])|(?=n(?:tk|ta|da)_[\w-])/y,
  mark: MARK,
  certain: () => true,
  open: /\.?$/y,
}
