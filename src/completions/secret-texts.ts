// Answers of servers as bytes, without secrets: what holds none passes byte by byte.
import { jsonTextSteps } from '../json-steps.ts'
import { setMember } from '../members.ts'
import { plainEscapesSteps } from '../redaction/plain-escapes.ts'
import type { Redactor } from '../redaction/redactor.ts'
import { finish, forEachStep, mapStep, type Steps } from '../time-slices.ts'
import { isJsonText, type TextPiece, textsSteps, withoutTokens } from './choice-texts.ts'
import { isRecord, type Json } from './json-values.ts'

/** A character that is written by its number may be a part of what is looked for. */
const ESCAPED = '\\u00'
const NUMBERED = /\\u([0-9a-f]{4})/gi
/** Lists of objects and of texts. */
const LISTS = /\[\s*[{"]/g
/** Of answers: words that look like credentials are left. */
export const VALUES = { credentials: false } as const

/** The JSON text of a completion; the same bytes where nothing is replaced in it. */
export function withoutSecretsIn<Text extends string | Uint8Array>(given: Text, redactor: Redactor): Text | string {
  const text = typeof given === 'string' ? given : textOf(given)
  const isSuspect = mayHideSecret(text, redactor)
  if (!isSuspect && !hasPieces(text)) return given
  const value: unknown = JSON.parse(text)
  const replaced = isRecord(value) ? joinedIn(value, redactor) : []
  const safe = withoutSecretsInValue(value, redactor)
  const isSame = safe === value && replaced.length === 0
  // A member that comes twice holds what its last value does not.
  if (isSame && !(isSuspect && holdsSecret(text, redactor))) return given
  return JSON.stringify(isRecord(value) ? withoutTokens(safe as Json, value, replaced) : safe)
}

/** Whether a text may come in several, beside the list of choices. */
function hasPieces(text: string): boolean {
  LISTS.lastIndex = 0
  return LISTS.test(text) && LISTS.test(text)
}

/** The JSON text of a completion that is written anew, in steps. */
export function* safeTextSteps(completion: Json, redactor: Redactor): Steps<string> {
  const replaced = yield* joinedSteps(completion, redactor)
  const safe = yield* redactor.valueSteps(completion, VALUES)
  return yield* jsonTextSteps(withoutTokens(safe, completion, replaced))
}

function joinedIn(completion: Json, redactor: Redactor): TextPiece[] {
  return finish(joinedSteps(completion, redactor))
}

/** Replaces, in place, secrets that are cut over several texts, or written by numbers in the arguments of a call; gives all pieces of those. */
function* joinedSteps(completion: Json, redactor: Redactor): Steps<TextPiece[]> {
  const texts = yield* byKey(yield* textsSteps(completion))
  const replaced: TextPiece[] = []
  for (const [key, pieces] of texts) {
    const isJson = isJsonText(key)
    if (pieces.length === 1 && !isJson) continue
    yield
    const given = (yield* mapStep(pieces, ({ text }) => text)).join('')
    const joined = isJson ? yield* plainEscapesSteps(given) : given
    const shown = yield* redactor.textSteps(joined, VALUES)
    if (shown === joined) continue
    for (const [at, { holder, name }] of pieces.entries()) setMember(holder, name, at === 0 ? shown : '')
    for (const piece of pieces) replaced.push(piece)
  }
  return replaced
}

function* byKey(pieces: readonly TextPiece[]): Steps<Map<string, TextPiece[]>> {
  const texts = new Map<string, TextPiece[]>()
  yield* forEachStep(pieces, (piece) => {
    const known = texts.get(piece.key)
    if (known) known.push(piece)
    else texts.set(piece.key, [piece])
  })
  return texts
}

/** Bytes of JSON as a text. */
export function textOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString()
}

/** Whether a text has to be read as JSON to know what is in it. */
export function mayHideSecret(text: string, redactor: Redactor): boolean {
  return redactor.mayHoldSecret(text) || text.includes(ESCAPED)
}

/** Whether JSON text tells a secret, in whatever place, also one that is no part of its value. */
export function holdsSecret(text: string, redactor: Redactor): boolean {
  const plain = text.replaceAll(NUMBERED, (_, number: string) => String.fromCharCode(Number.parseInt(number, 16)))
  return [text, plain].some((one) => withoutSecretsInValue(one, redactor) !== one)
}

/** A value of JSON; the same where nothing is replaced. */
export function withoutSecretsInValue<Value>(value: Value, redactor: Redactor): Value {
  return redactor.value(value, VALUES)
}
