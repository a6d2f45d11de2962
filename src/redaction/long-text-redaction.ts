// Redacts one long text in steps: known secrets and credentials piece by piece, and named credentials between positions
// that no match crosses.
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

/** Longer texts are split. */
export const REDACTION_CHUNK_LENGTH = 65_536
/** Characters per step: with very many similar secrets, each takes microseconds. */
export const REDACTION_STEP_LENGTH = 16_384

interface TextReplacerFactory {
  createTextReplacer(): SecretReplacer
}

/** Like `Redactor.text`, in steps. */
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

/** Processes a piece, in one step or more. */
type PieceRedaction = (piece: string, rest: Continuation) => Steps<string>

function createSecretRedaction(redactor: TextReplacerFactory): PieceRedaction {
  const secrets = redactor.createTextReplacer()
  return function* (piece, rest) {
    const output = yield* secrets.pushSteps(piece, rest)
    yield
    return output
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

/** Returns an equal text if nothing is replaced. */
function* redactInPiecesSteps(text: string, take: PieceRedaction): Steps<string> {
  const outputs: string[] = []
  for (let at = 0; at < text.length; at += REDACTION_STEP_LENGTH)
    outputs.push(yield* take(text.slice(at, at + REDACTION_STEP_LENGTH), 'more'))
  outputs.push(yield* take('', 'none'))
  return outputs.join('')
}

function* redactNamedSteps(text: string): Steps<string> {
  const outputs: string[] = []
  const hasCookies = /cookie/i.test(text)
  yield
  for (let at = 0; at < text.length; ) {
    const from = at + REDACTION_CHUNK_LENGTH
    const near = findBreak(text, from, hasCookies)
    if (near === null && isPlainUntil(text, at, from)) {
      outputs.push(text.slice(at, from))
      at = from
    } else {
      const to = near ?? (yield* findBreakSteps(text, from + REDACTION_CHUNK_LENGTH, hasCookies))
      outputs.push(yield* redactNamedCredentialsSteps(text.slice(at, to)))
      at = to
    }
    yield
  }
  return outputs.join('')
}

/** Within this distance of a cut, no separator may join a name and its value. */
const MIN_CUT_DISTANCE = 12
const MAX_NAME_LENGTH = 40
/** Every match can be recognized after this many characters. A user in a URL is read no further before its `@`. */
const MAX_PREFIX_LENGTH = 1_024

const BREAK_CHARACTER = /[\s,]/g

/** The next position near `from` at which the text can be cut: no match crosses it. Null if there is none nearby. */
function findBreak(text: string, from: number, hasCookies: boolean): number | null {
  for (const { index } of text.slice(from, from + REDACTION_CHUNK_LENGTH).matchAll(BREAK_CHARACTER))
    if (canCut(text, from + index) && !(hasCookies && isInCookie(text, from + index))) return from + index
  return from + REDACTION_CHUNK_LENGTH < text.length ? null : text.length
}

/** Like `findBreak`, at any distance. */
function* findBreakSteps(text: string, from: number, hasCookies: boolean): Steps<number> {
  for (let at = from; ; at += REDACTION_CHUNK_LENGTH) {
    const found = findBreak(text, at, hasCookies)
    if (found !== null) return found
    yield
  }
}

function canCut(text: string, at: number): boolean {
  // Of all matches, only users in URLs may contain a comma.
  if (text.charAt(at) === ',') return !text.slice(Math.max(0, at - MAX_PREFIX_LENGTH), at).includes('://')
  return (
    !/[:=]/.test(text.slice(at - MIN_CUT_DISTANCE, at + MIN_CUT_DISTANCE)) &&
    !ENDS_WITH_CREDENTIAL_NAME.test(text.slice(at - MAX_NAME_LENGTH, at))
  )
}

/** Whether a position may be inside a cookie value, which ends at the line end, a quote or a backslash. */
function isInCookie(text: string, at: number): boolean {
  if (/[\r\n]/.test(text.charAt(at))) return false
  const from = Math.max(0, at - MAX_PREFIX_LENGTH)
  const before = text.slice(from, at)
  const line = Math.max(before.lastIndexOf('\r'), before.lastIndexOf('\n'))
  const quote = Math.max(before.lastIndexOf('"'), before.lastIndexOf('\\'))
  if (line < 0 && quote < 0) return true
  // A line may end between the name and the value, so the name may come before the searched characters.
  const value = quote < 0 ? 0 : from + quote + 1
  return /cookie/i.test(text.slice(Math.max(value, from + line - 2 * MIN_CUT_DISTANCE), at))
}

/** Whether no match begins before `to` or at it. The text needs no break there. */
function isPlainUntil(text: string, from: number, to: number): boolean {
  if (mayHoldNamedCredentials(text.slice(to - MAX_NAME_LENGTH, to + MAX_NAME_LENGTH))) return false
  const piece = text.slice(from, to + MAX_PREFIX_LENGTH)
  return redactNamedCredentials(piece) === piece
}
