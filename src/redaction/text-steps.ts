// Replaces secrets in one long text, in steps: known secrets and credentials piece by piece, and what stands under telling names between places at
// which nothing that is replaced goes on.
import type { Steps } from '../time-slices.ts'
import {
  credentialsTaken,
  ENDS_WITH_NAME,
  mayNameCredentials,
  NO_CREDENTIALS,
  withoutNamed,
  withoutNamedSteps,
} from './credentials.ts'
import type { RedactionOptions } from './options.ts'
import type { Rest, SecretsInPieces } from './secrets.ts'

/** A text of more characters is taken apart. */
export const LONG_TEXT = 65_536
/** Characters that are looked at in one step: where very many secrets begin as a text does, each takes microseconds. */
export const LOOKED_AT = 16_384

interface TextTools {
  secretsInParts(): SecretsInPieces
}

/** As `Redactor.text`. */
export function* textSteps(redactor: TextTools, text: string, options: RedactionOptions): Steps<string> {
  const { names = false, credentials = true } = options
  const known = yield* inPieces(text, secretsOf(redactor))
  if (!credentials) return known
  return names ? yield* namedSteps(known) : yield* inPieces(known, credentialsOf())
}

/** Takes a piece, in one step or more. */
type Taking = (piece: string, rest: Rest) => Steps<string>

function secretsOf(redactor: TextTools): Taking {
  const secrets = redactor.secretsInParts()
  return function* (piece, rest) {
    const told = yield* secrets.pushSteps(piece, rest)
    yield
    return told
  }
}

function credentialsOf(): Taking {
  let before = NO_CREDENTIALS
  return function* (piece, rest) {
    const { told, after } = credentialsTaken(before, piece, rest)
    before = after
    yield
    return told
  }
}

/** The same text where nothing is replaced. */
function* inPieces(text: string, take: Taking): Steps<string> {
  const told: string[] = []
  for (let at = 0; at < text.length; at += LOOKED_AT) told.push(yield* take(text.slice(at, at + LOOKED_AT), 'more'))
  told.push(yield* take('', 'none'))
  return told.join('')
}

function* namedSteps(text: string): Steps<string> {
  const told: string[] = []
  const hasCookies = /cookie/i.test(text)
  yield
  for (let at = 0; at < text.length; ) {
    const from = at + LONG_TEXT
    const near = breakIn(text, from, hasCookies)
    if (near === null && isPlainUntil(text, at, from)) {
      told.push(text.slice(at, from))
      at = from
    } else {
      const to = near ?? (yield* breakBehind(text, from + LONG_TEXT, hasCookies))
      told.push(yield* withoutNamedSteps(text.slice(at, to)))
      at = to
    }
    yield
  }
  return told.join('')
}

/** So far around a cut there is nothing that joins a name and its value. */
const AROUND = 12
const LONGEST_NAME = 40
/** What is replaced shows that it is after fewer characters, however long it is. The user in a URL is read no further before its `@`. */
const LONGEST_BEGINNING = 1_024

const BREAK = /[\s,]/g

/** The next place, not far from `from`, at which the text may be cut: what is replaced neither goes on there nor begins before it. Null: there is none. */
function breakIn(text: string, from: number, hasCookies: boolean): number | null {
  for (const { index } of text.slice(from, from + LONG_TEXT).matchAll(BREAK))
    if (mayCut(text, from + index) && !(hasCookies && isInCookie(text, from + index))) return from + index
  return from + LONG_TEXT < text.length ? null : text.length
}

/** `breakIn`, however far. */
function* breakBehind(text: string, from: number, hasCookies: boolean): Steps<number> {
  for (let at = from; ; at += LONG_TEXT) {
    const found = breakIn(text, at, hasCookies)
    if (found !== null) return found
    yield
  }
}

function mayCut(text: string, at: number): boolean {
  // Of what is replaced, only users in URLs have a comma.
  if (text.charAt(at) === ',') return !text.slice(Math.max(0, at - LONGEST_BEGINNING), at).includes('://')
  return !/[:=]/.test(text.slice(at - AROUND, at + AROUND)) && !ENDS_WITH_NAME.test(text.slice(at - LONGEST_NAME, at))
}

/** Whether a place may be in the value of a cookie, which goes on to the end of its line, or to a quote or a backslash. */
function isInCookie(text: string, at: number): boolean {
  if (/[\r\n]/.test(text.charAt(at))) return false
  const from = Math.max(0, at - LONGEST_BEGINNING)
  const before = text.slice(from, at)
  const line = Math.max(before.lastIndexOf('\r'), before.lastIndexOf('\n'))
  const quote = Math.max(before.lastIndexOf('"'), before.lastIndexOf('\\'))
  if (line < 0 && quote < 0) return true
  // A line may end between the name and the value: the name may stand before the characters that were looked at.
  const value = quote < 0 ? 0 : from + quote + 1
  return /cookie/i.test(text.slice(Math.max(value, from + line - 2 * AROUND), at))
}

/** Whether nothing that is replaced begins before `to`, nor at it, where the text need have no break. */
function isPlainUntil(text: string, from: number, to: number): boolean {
  if (mayNameCredentials(text.slice(to - LONGEST_NAME, to + LONGEST_NAME))) return false
  const piece = text.slice(from, to + LONGEST_BEGINNING)
  return withoutNamed(piece) === piece
}
