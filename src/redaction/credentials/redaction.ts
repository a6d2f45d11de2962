// Finds credentials by their form: authorization values, tokens of this service, and values with a name such as
// `password`.
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

/** A quick check that excludes most texts that `redactCredentials` would not change. */
export function mayHoldCredentials(text: string): boolean {
  return CREDENTIAL_HINT.test(text)
}

/** Applied in order, each to the result of the one before. */
const PATTERNS = [AUTHORIZATION_PATTERN, SCHEME_PATTERN, SERVICE_TOKEN_PATTERN]

/** Replaces authorization values and tokens of this service. */
export function redactCredentials(text: string): string {
  return PATTERNS.reduce((current, shape) => replacePattern(shape, current), text)
}

/** The states of all patterns between two pieces of a text. */
export type CredentialStreamState = readonly PatternState[]

export const INITIAL_CREDENTIAL_STATE: CredentialStreamState = PATTERNS.map(() => INITIAL_PATTERN_STATE)

/**
 * Processes the next piece of a text, and returns its output and the new state. The outputs, joined, equal the result
 * of `redactCredentials` for the whole text. If the rest is missing, a started credential counts as complete.
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

/** Whether a name means a credential, in any spelling: `api_key`, `apiKey`, `API-Key`. */
export function isCredentialName(name: string): boolean {
  return name.length <= LONGEST_NAME && PLAIN_CREDENTIAL_NAMES.has(toPlainName(name))
}

const HEADER_NAMES = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie', 'x-api-key'])

/** Like `isCredentialName`, but only for names that clearly mean a header. */
export function isCredentialHeader(name: string): boolean {
  return name.length <= LONGEST_NAME && HEADER_NAMES.has(name.toLowerCase())
}

const NAME_PATTERN = CREDENTIAL_NAMES.map((name) => name.replaceAll('-', '[-_]?')).join('|')
const COOKIES = new RegExp(String.raw`${WORD_START}((?:set-)?cookie\s{0,4}:\s{0,4})[^\r\n"\\]+`, 'gi')
const MEMBERS = createMemberPattern(NAME_PATTERN, '&')
const USER_INFO = /(:\/\/[^\s/:@"]{0,256}:)[^\s/@"]{1,512}@/g
const ANY_SCHEME = /\b((?:bearer|basic)\s{1,4})[\w.~+/%-]+=*/gi

const NAMED_CREDENTIAL_HINT = new RegExp(`${CREDENTIAL_HINT.source}|cookie|://|${NAME_PATTERN}`, 'i')

/** A quick check that excludes most texts that `redactNamedCredentials` would not change. */
export function mayHoldNamedCredentials(text: string): boolean {
  return NAMED_CREDENTIAL_HINT.test(text)
}

/** A text whose end may be the name of a following value, or its scheme. */
export const ENDS_WITH_CREDENTIAL_NAME = new RegExp(
  `(?:${NAME_PATTERN}|${AUTHORIZATION_SCHEMES})["'\\\\]{0,5}\\s{0,8}$`,
  'i',
)

/** Each works on the result of the one before. */
const PASSES: readonly ((text: string) => string)[] = [
  ...PATTERNS.map((shape) => (text: string) => replacePattern(shape, text)),
  (text) => text.replace(ANY_SCHEME, `$1${REDACTION_MARK}`),
  (text) => text.replace(COOKIES, `$1${REDACTION_MARK}`),
  (text) => replacePattern(MEMBERS, text),
  (text) => text.replace(USER_INFO, `$1${REDACTION_MARK}@`),
]

/** Like `redactCredentials`, and also replaces named values in header lines, JSON, settings and URLs. */
export function redactNamedCredentials(text: string): string {
  return mayHoldNamedCredentials(text) ? PASSES.reduce((current, pass) => pass(current), text) : text
}

/** Does the same in a few steps, each over the whole text. */
export function* redactNamedCredentialsSteps(text: string): Steps<string> {
  if (!mayHoldNamedCredentials(text)) return text
  let current = text
  for (const pass of PASSES) {
    current = pass(current)
    yield
  }
  return current
}
