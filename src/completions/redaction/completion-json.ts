// Answers of servers as bytes, without secrets: what holds none passes byte by byte.

import { unescapeJsonTextSteps } from '../../redaction/json-unescaper.ts'
import type { Redactor } from '../../redaction/redactor.ts'
import { stringifySteps } from '../../shared/incremental-json.ts'
import { setOwnProperty } from '../../shared/own-property.ts'
import { forEachSteps, mapSteps, runToCompletion, type Steps } from '../../shared/time-slices.ts'
import { isRecord, type JsonRecord } from '../json/values.ts'
import { collectTextsSteps, isJsonText, removeLogprobs, type TextPiece } from './choice-texts.ts'

/** A character that is written by its number may be a part of what is looked for. */
const ESCAPE_START = '\\u00'
const UNICODE_ESCAPE = /\\u([0-9a-f]{4})/gi
/** Lists of objects and of texts. */
const LIST_START = /\[\s*[{"]/g
/** Of answers: words that look like credentials are left. */
export const MODEL_TEXT_OPTIONS = { credentials: false } as const

/** The JSON text of a completion; the same bytes where nothing is replaced in it. */
export function redactCompletionText<Text extends string | Uint8Array>(given: Text, redactor: Redactor): Text | string {
  const text = typeof given === 'string' ? given : decodeUtf8(given)
  const isSuspect = mayHideSecret(text, redactor)
  if (!isSuspect && !hasPieces(text)) return given
  const value: unknown = JSON.parse(text)
  const replaced = isRecord(value) ? redactJoinedTexts(value, redactor) : []
  const safe = redactModelValue(value, redactor)
  const isSame = safe === value && replaced.length === 0
  // A member that comes twice holds what its last value does not.
  if (isSame && !(isSuspect && holdsSecret(text, redactor))) return given
  return JSON.stringify(isRecord(value) ? removeLogprobs(safe as JsonRecord, value, replaced) : safe)
}

/** Whether a text may come in several, beside the list of choices. */
function hasPieces(text: string): boolean {
  LIST_START.lastIndex = 0
  return LIST_START.test(text) && LIST_START.test(text)
}

/** The JSON text of a completion that is written anew, in steps. */
export function* encodeRedactedSteps(completion: JsonRecord, redactor: Redactor): Steps<string> {
  const replaced = yield* redactJoinedTextsSteps(completion, redactor)
  const safe = yield* redactor.valueSteps(completion, MODEL_TEXT_OPTIONS)
  return yield* stringifySteps(removeLogprobs(safe, completion, replaced))
}

function redactJoinedTexts(completion: JsonRecord, redactor: Redactor): TextPiece[] {
  return runToCompletion(redactJoinedTextsSteps(completion, redactor))
}

/** Replaces, in place, secrets that are cut over several texts, or written by numbers in the arguments of a call; gives all pieces of those. */
function* redactJoinedTextsSteps(completion: JsonRecord, redactor: Redactor): Steps<TextPiece[]> {
  const texts = yield* groupByKeySteps(yield* collectTextsSteps(completion))
  const replaced: TextPiece[] = []
  for (const [key, pieces] of texts) {
    const isJson = isJsonText(key)
    if (pieces.length === 1 && !isJson) continue
    yield
    const given = (yield* mapSteps(pieces, ({ text }) => text)).join('')
    const joined = isJson ? yield* unescapeJsonTextSteps(given) : given
    const shown = yield* redactor.textSteps(joined, MODEL_TEXT_OPTIONS)
    if (shown === joined) continue
    for (const [at, { holder, name }] of pieces.entries()) setOwnProperty(holder, name, at === 0 ? shown : '')
    for (const piece of pieces) replaced.push(piece)
  }
  return replaced
}

function* groupByKeySteps(pieces: readonly TextPiece[]): Steps<Map<string, TextPiece[]>> {
  const texts = new Map<string, TextPiece[]>()
  yield* forEachSteps(pieces, (piece) => {
    const known = texts.get(piece.key)
    if (known) known.push(piece)
    else texts.set(piece.key, [piece])
  })
  return texts
}

/** Bytes of JSON as a text. */
export function decodeUtf8({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString()
}

/** Whether a text has to be read as JSON to know what is in it. */
export function mayHideSecret(text: string, redactor: Redactor): boolean {
  return redactor.mayHoldSecret(text) || text.includes(ESCAPE_START)
}

/** Whether JSON text tells a secret, in whatever place, also one that is no part of its value. */
export function holdsSecret(text: string, redactor: Redactor): boolean {
  const plain = text.replaceAll(UNICODE_ESCAPE, (_, number: string) => String.fromCharCode(Number.parseInt(number, 16)))
  return [text, plain].some((one) => redactModelValue(one, redactor) !== one)
}

/** A value of JSON; the same where nothing is replaced. */
export function redactModelValue<Value>(value: Value, redactor: Redactor): Value {
  return redactor.value(value, MODEL_TEXT_OPTIONS)
}
