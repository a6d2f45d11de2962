// Replaces secrets in one long text, in steps: known secrets and credentials piece by piece, and what stands under telling names between places at
// which nothing that is replaced goes on.
import type { Steps } from '../time-slices.ts'
import { credentialsTaken, ENDS_WITH_NAME, NO_CREDENTIALS, withoutNamed } from './credentials.ts'
import type { RedactionOptions } from './options.ts'
import type { Rest, SecretsInPieces } from './secrets.ts'

/** A text of more characters is taken apart. */
export const LONG_TEXT = 65_536

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

type Taking = (piece: string, rest: Rest) => string

function secretsOf(redactor: TextTools): Taking {
  const secrets = redactor.secretsInParts()
  return (piece, rest) => secrets.push(piece, rest)
}

function credentialsOf(): Taking {
  let before = NO_CREDENTIALS
  return (piece, rest) => {
    const { told, after } = credentialsTaken(before, piece, rest)
    before = after
    return told
  }
}

/** The same text where nothing is replaced. */
function* inPieces(text: string, take: Taking): Steps<string> {
  const told: string[] = []
  for (let at = 0; at < text.length; at += LONG_TEXT) {
    told.push(take(text.slice(at, at + LONG_TEXT), 'more'))
    yield
  }
  told.push(take('', 'none'))
  return told.join('')
}

function* namedSteps(text: string): Steps<string> {
  const told: string[] = []
  // The value of a cookie goes on to the end of its line.
  const isBreak = /cookie/i.test(text) ? /[\r\n]/ : /\s/
  yield
  for (let at = 0; at < text.length; ) {
    const to = cutAfter(text, at + LONG_TEXT, isBreak)
    const piece = text.slice(at, to)
    told.push(withoutNamed(piece))
    at = to
    yield
  }
  return told.join('')
}

/** So far around a cut there is nothing that joins a name and its value. */
const AROUND = 12
const LONGEST_NAME = 40

/** The next place at which the text may be cut: what is replaced neither goes on there nor begins before it. */
function cutAfter(text: string, from: number, isBreak: RegExp): number {
  for (let at = from; at < text.length; at++) {
    if (!isBreak.test(text.charAt(at))) continue
    if (/[:=]/.test(text.slice(at - AROUND, at + AROUND))) continue
    if (!ENDS_WITH_NAME.test(text.slice(at - LONGEST_NAME, at))) return at
  }
  return text.length
}
