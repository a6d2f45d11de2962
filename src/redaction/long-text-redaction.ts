// Replaces secrets in one long text, in steps: known secrets and credentials piece by piece, and what stands under telling names between places at
// which nothing that is replaced goes on.
import type { Steps } from '../shared/time-slices.ts'
import {
  ENDS_WITH_CREDENTIAL_NAME,
  INITIAL_CREDENTIAL_STATE,
  mayHoldNamedCredentials,
  redactCredentialsInPiece,
  redactNamedCredentials,
  redactNamedCredentialsSteps,
} from './credentials/redaction.ts'
import type { RedactionOptions } from './options.ts'
import type { Continuation, SecretReplacer } from './streams/secret-replacer.ts'

/** A text of more characters is taken apart. */
export const REDACTION_CHUNK_LENGTH = 65_536
/** Characters that are looked at in one step: where very many secrets begin as a text does, each takes microseconds. */
export const REDACTION_STEP_LENGTH = 16_384

interface TextReplacerFactory {
  createTextReplacer(): SecretReplacer
}

/** As `Redactor.text`. */
export function* redactTextSteps(
  redactor: TextReplacerFactory,
  text: string,
  options: RedactionOptions,
): Steps<string> {
  const { names = false, credentials = true } = options
  const known = yield* redactInPiecesSteps(text, createSecretRedaction(redactor))
  if (!credentials) return known
  return names ? yield* redactNamedSteps(known) : yield* redactInPiecesSteps(known, createCredentialRedaction())
}

/** Takes a piece, in one step or more. */
type PieceRedaction = (piece: string, rest: Continuation) => Steps<string>

function createSecretRedaction(redactor: TextReplacerFactory): PieceRedaction {
  const secrets = redactor.createTextReplacer()
  return function* (piece, rest) {
    const told = yield* secrets.pushSteps(piece, rest)
    yield
    return told
  }
}

function createCredentialRedaction(): PieceRedaction {
  let before = INITIAL_CREDENTIAL_STATE
  return function* (piece, rest) {
    const { told, after } = redactCredentialsInPiece(before, piece, rest)
    before = after
    yield
    return told
  }
}

/** The same text where nothing is replaced. */
function* redactInPiecesSteps(text: string, take: PieceRedaction): Steps<string> {
  const told: string[] = []
  for (let at = 0; at < text.length; at += REDACTION_STEP_LENGTH)
    told.push(yield* take(text.slice(at, at + REDACTION_STEP_LENGTH), 'more'))
  told.push(yield* take('', 'none'))
  return told.join('')
}

function* redactNamedSteps(text: string): Steps<string> {
  const told: string[] = []
  const hasCookies = /cookie/i.test(text)
  yield
  for (let at = 0; at < text.length; ) {
    const from = at + REDACTION_CHUNK_LENGTH
    const near = findBreak(text, from, hasCookies)
    if (near === null && isPlainUntil(text, at, from)) {
      told.push(text.slice(at, from))
      at = from
    } else {
      const to = near ?? (yield* findBreakSteps(text, from + REDACTION_CHUNK_LENGTH, hasCookies))
      told.push(yield* redactNamedCredentialsSteps(text.slice(at, to)))
      at = to
    }
    yield
  }
  return told.join('')
}

/** So far around a cut there is nothing that joins a name and its value. */
const MIN_CUT_DISTANCE = 12
const MAX_NAME_LENGTH = 40
/** What is replaced shows that it is after fewer characters, however long it is. The user in a URL is read no further before its `@`. */
const MAX_PREFIX_LENGTH = 1_024

const BREAK_CHARACTER = /[\s,]/g

/** The next place, not far from `from`, at which the text may be cut: what is replaced neither goes on there nor begins before it. Null: there is none. */
function findBreak(text: string, from: number, hasCookies: boolean): number | null {
  for (const { index } of text.slice(from, from + REDACTION_CHUNK_LENGTH).matchAll(BREAK_CHARACTER))
    if (canCut(text, from + index) && !(hasCookies && isInCookie(text, from + index))) return from + index
  return from + REDACTION_CHUNK_LENGTH < text.length ? null : text.length
}

/** `breakIn`, however far. */
function* findBreakSteps(text: string, from: number, hasCookies: boolean): Steps<number> {
  for (let at = from; ; at += REDACTION_CHUNK_LENGTH) {
    const found = findBreak(text, at, hasCookies)
    if (found !== null) return found
    yield
  }
}

function canCut(text: string, at: number): boolean {
  // Of what is replaced, only users in URLs have a comma.
  if (text.charAt(at) === ',') return !text.slice(Math.max(0, at - MAX_PREFIX_LENGTH), at).includes('://')
  return (
    !/[:=]/.test(text.slice(at - MIN_CUT_DISTANCE, at + MIN_CUT_DISTANCE)) &&
    !ENDS_WITH_CREDENTIAL_NAME.test(text.slice(at - MAX_NAME_LENGTH, at))
  )
}

/** Whether a place may be in the value of a cookie, which goes on to the end of its line, or to a quote or a backslash. */
function isInCookie(text: string, at: number): boolean {
  if (/[\r\n]/.test(text.charAt(at))) return false
  const from = Math.max(0, at - MAX_PREFIX_LENGTH)
  const before = text.slice(from, at)
  const line = Math.max(before.lastIndexOf('\r'), before.lastIndexOf('\n'))
  const quote = Math.max(before.lastIndexOf('"'), before.lastIndexOf('\\'))
  if (line < 0 && quote < 0) return true
  // A line may end between the name and the value: the name may stand before the characters that were looked at.
  const value = quote < 0 ? 0 : from + quote + 1
  return /cookie/i.test(text.slice(Math.max(value, from + line - 2 * MIN_CUT_DISTANCE), at))
}

/** Whether nothing that is replaced begins before `to`, nor at it, where the text need have no break. */
function isPlainUntil(text: string, from: number, to: number): boolean {
  if (mayHoldNamedCredentials(text.slice(to - MAX_NAME_LENGTH, to + MAX_NAME_LENGTH))) return false
  const piece = text.slice(from, to + MAX_PREFIX_LENGTH)
  return redactNamedCredentials(piece) === piece
}
