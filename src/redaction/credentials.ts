// Credentials that are known by how they look: authorization values, this service's own tokens, and what stands under a telling name.
// Every pattern is tried in linear time: what may repeat without end is never followed by something that may fail.

export const MARK = '[redacted]'

const SUSPICIOUS = /bearer|basic|authori[sz]ation|n(?:tk|ta|da)_/i

/** One look that tells most texts from those that `withoutCredentials` would change. */
export function maySayCredentials(text: string): boolean {
  return SUSPICIOUS.test(text)
}

/** Where a word begins: also after an escape such as `\n`, since a text may be JSON. */
const START = String.raw`(?<=^|[^A-Za-z0-9]|\\[bfnrt])`
const OWN_TOKEN = new RegExp(String.raw`${START}n(?:tk|ta|da)_[\w-]{16,}(?:\.[\w-]+)*`, 'g')
/** What closes a name or opens a value. `\\`: a JSON text may be a string of another. */
const QUOTE = String.raw`\\{0,3}["']`
const SCHEMES = 'bearer|basic|digest|token|negotiate|aws4-hmac-sha256'

/** A name and the value after it, as a header line, a setting or a member of JSON, with what else ends a value. */
function member(names: string, ends = ''): RegExp {
  const others = String.raw`\s"'\\,;${ends}`
  // Brackets around a value belong to what it stands in.
  const value = String.raw`(?:\[redacted\]|[^${others}{}[\]])(?:[^${others}]*[^${others}{}[\]])?`
  return new RegExp(
    String.raw`${START}(${names})((?:${QUOTE})?)(\s{0,4}[:=]\s{0,4})((?:${QUOTE})?)((?:(?:${SCHEMES})\s{1,4})?)(${value})`,
    'gi',
  )
}

const AUTHORIZATION = member('(?:proxy-)?authori[sz]ation')
/** What is left of a header of which the credentials were replaced already, or stand in brackets. */
const SCHEME_NAME = new RegExp(`^(?:${SCHEMES})$`, 'i')
/** What is said about credentials, and is none. */
const NO_CREDENTIAL =
  /^(?:true|false|null|undefined|none|nil|yes|no|not|on|off|any|empty|unset|unknown|required|optional|needed|missing|invalid|expired|failed|denied|refused|rejected|granted|enabled|disabled)[.:!?)]{0,3}$/i

function withoutMembers(text: string, members: RegExp): string {
  return text.replace(members, (whole, ...groups: string[]) => {
    const [name, closing, between, opening, scheme, value] = groups as [string, string, string, string, string, string]
    if (NO_CREDENTIAL.test(value) || (scheme === '' && SCHEME_NAME.test(value))) return whole
    // A number of JSON becomes a text: the whole stays JSON.
    const quote = opening === '' ? closing : ''
    return `${name}${closing}${between}${opening}${quote}${scheme}${MARK}${quote}`
  })
}

const SCHEME = new RegExp(String.raw`${START}(bearer|basic)(\s{1,4}|%20|\+)([\w.~+/%-]{4,}={0,2})`, 'gi')

/** A text without authorization values (RFC 6750, RFC 7617) and tokens of this service. */
export function withoutCredentials(text: string): string {
  const withoutSchemes = withoutMembers(text, AUTHORIZATION).replace(
    SCHEME,
    (whole, scheme: string, space: string, value: string) => {
      const told = scheme.length === 'basic'.length ? isBasic(value) : isToken(value)
      return told ? `${scheme}${space}${MARK}` : whole
    },
  )
  // After a backslash, the first letter may be a part of an escape.
  return withoutSchemes.replace(OWN_TOKEN, (_whole, at: number) =>
    withoutSchemes[at - 1] === '\\' ? `n${MARK}` : MARK,
  )
}

/** User and password, as base64: "basic information" is none. */
function isBasic(value: string): boolean {
  return Buffer.from(value, 'base64').includes(':')
}

const LONG_TOKEN = 24

/** Words have neither digits nor capitals inside, and end sooner: "bearer authentication" stays as it is. */
function isToken(value: string): boolean {
  return value.length >= 8 && (value.length >= LONG_TOKEN || /\d|[a-z][A-Z]/.test(value))
}

const NAMES = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'x-api-key',
  'api-key',
  'access-token',
  'refresh-token',
  'id-token',
  'client-secret',
  'private-key',
  'password',
  'passphrase',
  'secret',
  'token',
]
const PLAIN_NAMES = new Set(NAMES.map(plainName))

function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '')
}

const LONGEST_NAME = 32

/** Whether what stands under a name is a credential, however the name is spelled: `api_key`, `apiKey`, `API-Key`. */
export function isTellingName(name: string): boolean {
  return name.length <= LONGEST_NAME && PLAIN_NAMES.has(plainName(name))
}

const HEADER_NAMES = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie', 'x-api-key'])

/** As `isTellingName`, for names that nobody lists for another reason than to say a header. */
export function isHeaderName(name: string): boolean {
  return name.length <= LONGEST_NAME && HEADER_NAMES.has(name.toLowerCase())
}

const SPELLED = NAMES.map((name) => name.replaceAll('-', '[-_]?')).join('|')
const COOKIES = new RegExp(String.raw`${START}((?:set-)?cookie\s{0,4}:\s{0,4})[^\r\n"\\]+`, 'gi')
const MEMBERS = member(SPELLED, '&')
const USER_INFO = /(:\/\/[^\s/:@"]{0,256}:)[^\s/@"]{1,512}@/g
const ANY_SCHEME = /\b((?:bearer|basic)\s{1,4})[\w.~+/%-]+=*/gi

/** As `withoutCredentials`, and what stands under a telling name in header lines, JSON, settings and URLs. */
export function withoutNamed(text: string): string {
  const headers = withoutCredentials(text).replace(ANY_SCHEME, `$1${MARK}`).replace(COOKIES, `$1${MARK}`)
  return withoutMembers(headers, MEMBERS).replace(USER_INFO, `$1${MARK}@`)
}
