// Credentials that are known by how they look: authorization values, this service's own tokens, and what stands under a telling name.
import type { Steps } from '../../shared/time-slices.ts'
import type { Continuation } from '../streams/secret-replacer.ts'
import {
  INITIAL_PATTERN_STATE,
  type PatternState,
  replacePattern,
  replacePatternInPiece,
} from './pattern-replacement.ts'
import {
  AUTHORIZATION_PATTERN,
  AUTHORIZATION_SCHEMES,
  createMemberPattern,
  REDACTION_MARK,
  SCHEME_PATTERN,
  SERVICE_TOKEN_PATTERN,
  WORD_START,
} from './patterns.ts'

const CREDENTIAL_HINT = /bearer|basic|authori[sz]ation|n(?:tk|ta|da)_/i

/** One look that tells most texts from those that `withoutCredentials` would change. */
export function mayHoldCredentials(text: string): boolean {
  return CREDENTIAL_HINT.test(text)
}

/** Each is looked for in what the one before leaves. */
const PATTERNS = [AUTHORIZATION_PATTERN, SCHEME_PATTERN, SERVICE_TOKEN_PATTERN]

/** A text without authorization values and tokens of this service. */
export function redactCredentials(text: string): string {
  return PATTERNS.reduce((left, shape) => replacePattern(shape, left), text)
}

/** What is known of each shape between two pieces of a text. */
export type CredentialStreamState = readonly PatternState[]

export const INITIAL_CREDENTIAL_STATE: CredentialStreamState = PATTERNS.map(() => INITIAL_PATTERN_STATE)

/**
 * What may be told of a text when its next piece has come, and what is known then. All that is told, joined, is what `withoutCredentials` makes of
 * the whole; where the rest is missing, a credential that has begun counts as one.
 */
export function redactCredentialsInPiece(before: CredentialStreamState, piece: string, rest: Continuation) {
  let told = piece
  const after: CredentialStreamState = PATTERNS.map((shape, at) => {
    const step = replacePatternInPiece(shape, before[at]!, told, rest)
    told = step.told
    return step.after
  })
  return { told, after }
}

const CREDENTIAL_NAMES = [
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
const PLAIN_CREDENTIAL_NAMES = new Set(CREDENTIAL_NAMES.map(toPlainName))

function toPlainName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '')
}

const LONGEST_NAME = 32

/** Whether what stands under a name is a credential, however the name is spelled: `api_key`, `apiKey`, `API-Key`. */
export function isCredentialName(name: string): boolean {
  return name.length <= LONGEST_NAME && PLAIN_CREDENTIAL_NAMES.has(toPlainName(name))
}

const HEADER_NAMES = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie', 'x-api-key'])

/** As `isTellingName`, for names that nobody lists for another reason than to say a header. */
export function isCredentialHeader(name: string): boolean {
  return name.length <= LONGEST_NAME && HEADER_NAMES.has(name.toLowerCase())
}

const NAME_PATTERN = CREDENTIAL_NAMES.map((name) => name.replaceAll('-', '[-_]?')).join('|')
const COOKIES = new RegExp(String.raw`${WORD_START}((?:set-)?cookie\s{0,4}:\s{0,4})[^\r\n"\\]+`, 'gi')
const MEMBERS = createMemberPattern(NAME_PATTERN, '&')
const USER_INFO = /(:\/\/[^\s/:@"]{0,256}:)[^\s/@"]{1,512}@/g
const ANY_SCHEME = /\b((?:bearer|basic)\s{1,4})[\w.~+/%-]+=*/gi

const NAMED_CREDENTIAL_HINT = new RegExp(`${CREDENTIAL_HINT.source}|cookie|://|${NAME_PATTERN}`, 'i')

/** One look that tells most texts from those that `withoutNamed` would change. */
export function mayHoldNamedCredentials(text: string): boolean {
  return NAMED_CREDENTIAL_HINT.test(text)
}

/** A text whose end may be the name of a value that follows, or the scheme of one. */
export const ENDS_WITH_CREDENTIAL_NAME = new RegExp(
  `(?:${NAME_PATTERN}|${AUTHORIZATION_SCHEMES})["'\\\\]{0,5}\\s{0,8}$`,
  'i',
)

/** Each takes what the one before leaves. */
const PASSES: readonly ((text: string) => string)[] = [
  ...PATTERNS.map((shape) => (text: string) => replacePattern(shape, text)),
  (text) => text.replace(ANY_SCHEME, `$1${REDACTION_MARK}`),
  (text) => text.replace(COOKIES, `$1${REDACTION_MARK}`),
  (text) => replacePattern(MEMBERS, text),
  (text) => text.replace(USER_INFO, `$1${REDACTION_MARK}@`),
]

/** As `withoutCredentials`, and what stands under a telling name in header lines, JSON, settings and URLs. */
export function redactNamedCredentials(text: string): string {
  return mayHoldNamedCredentials(text) ? PASSES.reduce((left, pass) => pass(left), text) : text
}

/** `withoutNamed` in few steps, each of which looks at all of the text. */
export function* redactNamedCredentialsSteps(text: string): Steps<string> {
  if (!mayHoldNamedCredentials(text)) return text
  let left = text
  for (const pass of PASSES) {
    left = pass(left)
    yield
  }
  return left
}
