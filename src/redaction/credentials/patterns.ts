// Patterns of credentials: their first words, the following text, and how much of it tells them from prose. Each
// pattern runs in linear time: nothing that may fail follows an unlimited repetition.
import type { StreamPattern, TextPattern } from './pattern-replacement.ts'

export const REDACTION_MARK = '[redacted]'

/**
 * The start of a word, also after an escape such as `
 * `, since the text may be JSON.
 */
export const WORD_START = String.raw`(?<=^|[^A-Za-z0-9]|\\[bfnrt])`
/** Closes a name or opens a value. The backslashes allow for JSON inside a JSON string. */
const SLASHES = String.raw`\\{0,3}`
const QUOTE = `${SLASHES}["']`
const SEPARATOR = String.raw`\s{0,4}[:=]\s{0,4}`
export const AUTHORIZATION_SCHEMES = 'bearer|basic|digest|token|negotiate|aws4-hmac-sha256'
const SCHEME_NAME = new RegExp(`^(?:${AUTHORIZATION_SCHEMES})$`, 'i')
/** Values that describe credentials but are none. */
const NON_CREDENTIAL =
  /^(?:true|false|null|undefined|none|nil|yes|no|not|on|off|any|empty|unset|unknown|required|optional|needed|missing|invalid|expired|failed|denied|refused|rejected|granted|enabled|disabled)[.:!?)]{0,3}$/i
/** No word of NON_CREDENTIAL or AUTHORIZATION_SCHEMES is longer. */
const MAX_WORD_LENGTH = 20

const NOTHING = /(?:)/y
const BRACKETS = String.raw`{}[\]`

/** Matches a text and its prefixes. */
function createPrefixPattern(word: string): string {
  const first = word.charAt(0).replace(/[[\]]/, String.raw`\$&`)
  return word.length === 1 ? first : `${first}(?:${createPrefixPattern(word.slice(1))})?`
}

/** Matches the end of a text that may begin one of these words. */
function createOpening(words: readonly string[], flags: string) {
  const opening = new RegExp(`${WORD_START}(?:${words.map(createPrefixPattern).join('|')})$`, flags)
  return { opening, longest: Math.max(...words.map(({ length }) => length)) }
}

/** The characters of a value. Up to 16 brackets around a value belong to the surrounding text. */
function createValueClasses(ends: string) {
  const others = String.raw`\s"'\\,;${ends}`
  const inside = `[^${others}${BRACKETS}]`
  const brackets = `[${BRACKETS}]{1,16}(?=${inside})|[${BRACKETS}]{17}`
  const first = String.raw`(?:\[redacted\]|${inside})`
  return { others, inside, brackets, first }
}

/**
 * A name and its value, in a header line, a setting or a JSON member. `ends` are further characters that end a value.
 */
export function createMemberPattern(names: string, ends = ''): TextPattern {
  const { inside, brackets, first } = createValueClasses(ends)
  const value = `${first}(?:${inside}|${brackets}){0,${MAX_WORD_LENGTH}}`
  return {
    begins: new RegExp(`${WORD_START}(?:${names})`, 'gi'),
    whole: new RegExp(
      `(${names})((?:${QUOTE})?)(${SEPARATOR})((?:${QUOTE})?)((?:(?:${AUTHORIZATION_SCHEMES})\\s{1,4})?)(${value})`,
      'iy',
    ),
    rest: new RegExp(`(?:${inside}+|${brackets})*`, 'y'),
    close: NOTHING,
    told([, name, closing, between, opening, scheme, value]) {
      if (NON_CREDENTIAL.test(value!) || (scheme === '' && SCHEME_NAME.test(value!))) return null
      // A JSON number becomes a string, so that the text stays JSON.
      const quote = opening === '' ? closing : ''
      return `${name}${closing}${between}${opening}${quote}${scheme}${REDACTION_MARK}${quote}`
    },
  }
}

/** A header (RFC 9110 §11.6.2) that may be streamed. A prefix of the name, such as `proxy-`, stays. */
function createHeaderPattern(): StreamPattern {
  const name = 'authori[sz]ation'
  const { others, first } = createValueClasses('')
  const value = `(?:(?:${AUTHORIZATION_SCHEMES})\\s{1,4})?(?:(?:${createPrefixPattern(REDACTION_MARK)})?|${first}[^${others}]*)`
  const after = `(?:${SLASHES}|(?:${QUOTE})?${value})`
  return {
    ...createMemberPattern(name),
    ...createOpening(['authorization', 'authorisation'], 'gi'),
    unsure: new RegExp(`${name}(?:${SLASHES}|(?:${QUOTE})?(?:\\s{0,4}|${SEPARATOR}${after}))$`, 'iy'),
    begun: new RegExp(
      `${name}(?:${QUOTE})?${SEPARATOR}(?:${QUOTE})?(?:(?:${AUTHORIZATION_SCHEMES})\\s{1,4})?(?=${first})`,
      'iy',
    ),
    mark: REDACTION_MARK,
    certain: (found) => found[6]!.length > MAX_WORD_LENGTH,
    open: new RegExp(`[${BRACKETS}]{0,16}$`, 'y'),
  }
}

export const AUTHORIZATION_PATTERN = createHeaderPattern()

/**
 * If the word after `basic` has this many characters without a colon, it counts as credentials: no user name is that
 * long.
 */
const MAX_UNCLEAR_LENGTH = 512
const LONG_TOKEN_LENGTH = 24
const SPACE_PATTERN = String.raw`\s{1,4}|%20|\+`
const VALUE_CHARACTER = String.raw`[\w.~+/%-]`

/** Base64 of user and password, unlike "basic information". More characters do not change the result. */
function isBasicValue(value: string): boolean {
  return value.length >= MAX_UNCLEAR_LENGTH || Buffer.from(value, 'base64').includes(':')
}

/**
 * Tokens have digits or inner capitals, or are long: "bearer authentication" stays. More characters do not change the
 * result.
 */
function isBearerToken(value: string): boolean {
  return value.length >= 8 && (value.length >= LONG_TOKEN_LENGTH || /\d|[a-z][A-Z]/.test(value))
}

/** Authorization values without the header's name (RFC 6750, RFC 7617). */
export const SCHEME_PATTERN: StreamPattern = {
  ...createOpening(['bearer', 'basic'], 'gi'),
  begins: new RegExp(`${WORD_START}(?:bearer|basic)`, 'gi'),
  whole: new RegExp(`(bearer|basic)(${SPACE_PATTERN})(${VALUE_CHARACTER}{4,${MAX_UNCLEAR_LENGTH}})(?=(={0,2}))`, 'iy'),
  rest: new RegExp(`${VALUE_CHARACTER}*`, 'y'),
  close: /={0,2}/y,
  told([, scheme, space, chars, end]) {
    const value = `${chars}${end}`
    return (scheme!.length === 'basic'.length ? isBasicValue(value) : isBearerToken(value))
      ? `${scheme}${space}${REDACTION_MARK}`
      : null
  },
  unsure: new RegExp(`(?:bearer|basic)(?:\\s{0,4}|%2?|(?:${SPACE_PATTERN})${VALUE_CHARACTER}*={0,2})$`, 'iy'),
  begun: new RegExp(`(?:bearer|basic)(?:${SPACE_PATTERN})(?=${VALUE_CHARACTER})`, 'iy'),
  mark: REDACTION_MARK,
  certain: () => true,
  open: /={0,2}$/y,
}

/** Tokens of this service. */
export const SERVICE_TOKEN_PATTERN: StreamPattern = {
  ...createOpening(['ntk_', 'nta_', 'nda_'], 'g'),
  begins: new RegExp(`${WORD_START}n(?:tk|ta|da)_`, 'g'),
  whole: /n(?:tk|ta|da)_[\w-]{16}/y,
  rest: /[\w-]*(?:\.[\w-]+)*/y,
  close: NOTHING,
  // After a backslash, the first letter may belong to an escape.
  told: (_found, before) => (before === '\\' ? `n${REDACTION_MARK}` : REDACTION_MARK),
  unsure: /n(?:tk|ta|da)_[\w-]{0,15}$/y,
  // The same case of a backslash.
  begun: /(?<=\\)n(?=(?:tk|ta|da)_[\w-])|(?=n(?:tk|ta|da)_[\w-])/y,
  mark: REDACTION_MARK,
  certain: () => true,
  open: /\.?$/y,
}
