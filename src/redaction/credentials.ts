// Credentials that are known by how they look: authorization values, this service's own tokens, and what stands under a telling name.
// Every pattern is tried in linear time: what may repeat without end is never followed by something that may fail.

export const MARK = '[redacted]'

const SUSPICIOUS = /bearer|basic|authori[sz]ation|n(?:tk|ta|da)_/i

/** One look that tells most texts from those that `withoutCredentials` would change. */
export function maySayCredentials(text: string): boolean {
  return SUSPICIOUS.test(text)
}

const OWN_TOKEN = /(?<![A-Za-z0-9])n(?:tk|ta|da)_[\w-]{16,}(?:\.[\w-]+)*/g
/** As a header line or a member of JSON. `\\` and the quotation marks: a JSON text may be a string of another. */
const AUTHORIZATION =
  /\b((?:proxy-)?authori[sz]ation\\{0,3}["']?\s{0,4}[:=]\s{0,4}\\{0,3}["']?)((?:bearer|basic|digest|token|negotiate|aws4-hmac-sha256)\s{1,4})?([^\s"'\\,;]+)/gi
const SCHEME = /\b(bearer|basic)(\s{1,4}|%20|\+)([\w.~+/%-]{4,}={0,2})/gi

/** A text without authorization values (RFC 6750, RFC 7617) and tokens of this service. */
export function withoutCredentials(text: string): string {
  return text
    .replace(AUTHORIZATION, (_whole, name: string, scheme: string | undefined) => `${name}${scheme ?? ''}${MARK}`)
    .replace(SCHEME, (whole, scheme: string, space: string, value: string) => {
      const told = scheme.length === 'basic'.length ? isBasic(value) : isToken(value)
      return told ? `${scheme}${space}${MARK}` : whole
    })
    .replace(OWN_TOKEN, MARK)
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
const COOKIES = /\b((?:set-)?cookie\s{0,4}:\s{0,4})[^\r\n"\\]+/gi
const MEMBERS = new RegExp(
  `(?<![A-Za-z0-9])((?:${SPELLED})\\\\{0,3}["']?\\s{0,4}[:=]\\s{0,4}\\\\{0,3}["']?)([^\\s"'\\\\&,;{\\[\\]}]+)`,
  'gi',
)
/** What is left of a header of which the credentials were replaced already. */
const SCHEME_NAME = /^(?:bearer|basic|digest|token|negotiate|aws4-hmac-sha256)$/i
const USER_INFO = /(:\/\/[^\s/:@"]{0,256}:)[^\s/@"]{1,512}@/g
const ANY_SCHEME = /\b((?:bearer|basic)\s{1,4})[\w.~+/%-]+=*/gi

/** As `withoutCredentials`, and what stands under a telling name in header lines, JSON, settings and URLs. */
export function withoutNamed(text: string): string {
  return withoutCredentials(text)
    .replace(ANY_SCHEME, `$1${MARK}`)
    .replace(COOKIES, `$1${MARK}`)
    .replace(MEMBERS, (whole, name: string, value: string) => (SCHEME_NAME.test(value) ? whole : `${name}${MARK}`))
    .replace(USER_INFO, `$1${MARK}@`)
}
