// Credentials that are known by how they look: authorization values, this service's own tokens, and what stands under a telling name.
import type { Steps } from '../time-slices.ts'
import { BEGINNING, type Beginning, replaced, taken } from './replacing.ts'
import type { Rest } from './secrets.ts'
import { AUTHORIZATION, MARK, member, OWN_TOKEN, SCHEME, SCHEMES, START } from './shapes.ts'

const SUSPICIOUS = /bearer|basic|authori[sz]ation|n(?:tk|ta|da)_/i

/** One look that tells most texts from those that `withoutCredentials` would change. */
export function maySayCredentials(text: string): boolean {
  return SUSPICIOUS.test(text)
}

/** Each is looked for in what the one before leaves. */
const SHAPES = [AUTHORIZATION, SCHEME, OWN_TOKEN]

/** A text without authorization values and tokens of this service. */
export function withoutCredentials(text: string): string {
  return SHAPES.reduce((left, shape) => replaced(shape, left), text)
}

/** What is known of each shape between two pieces of a text. */
export type CredentialsSoFar = readonly Beginning[]

export const NO_CREDENTIALS: CredentialsSoFar = SHAPES.map(() => BEGINNING)

/**
 * What may be told of a text when its next piece has come, and what is known then. All that is told, joined, is what `withoutCredentials` makes of
 * the whole; where the rest is missing, a credential that has begun counts as one.
 */
export function credentialsTaken(before: CredentialsSoFar, piece: string, rest: Rest) {
  let told = piece
  const after: CredentialsSoFar = SHAPES.map((shape, at) => {
    const step = taken(shape, before[at]!, told, rest)
    told = step.told
    return step.after
  })
  return { told, after }
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

const NAMED = new RegExp(`${SUSPICIOUS.source}|cookie|://|${SPELLED}`, 'i')

/** One look that tells most texts from those that `withoutNamed` would change. */
export function mayNameCredentials(text: string): boolean {
  return NAMED.test(text)
}

/** A text whose end may be the name of a value that follows, or the scheme of one. */
export const ENDS_WITH_NAME = new RegExp(`(?:${SPELLED}|${SCHEMES})["'\\\\]{0,5}\\s{0,8}$`, 'i')

/** Each takes what the one before leaves. */
const PASSES: readonly ((text: string) => string)[] = [
  ...SHAPES.map((shape) => (text: string) => replaced(shape, text)),
  (text) => text.replace(ANY_SCHEME, `$1${MARK}`),
  (text) => text.replace(COOKIES, `$1${MARK}`),
  (text) => replaced(MEMBERS, text),
  (text) => text.replace(USER_INFO, `$1${MARK}@`),
]

/** As `withoutCredentials`, and what stands under a telling name in header lines, JSON, settings and URLs. */
export function withoutNamed(text: string): string {
  return mayNameCredentials(text) ? PASSES.reduce((left, pass) => pass(left), text) : text
}

/** `withoutNamed` in few steps, each of which looks at all of the text. */
export function* withoutNamedSteps(text: string): Steps<string> {
  if (!mayNameCredentials(text)) return text
  let left = text
  for (const pass of PASSES) {
    left = pass(left)
    yield
  }
  return left
}
