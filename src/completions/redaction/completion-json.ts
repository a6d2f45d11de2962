// Redacts completions as JSON text. Text without secrets stays the same byte for byte.

import { unescapeJsonTextSteps } from '../../redaction/json-unescaper.ts'
import type { Redactor } from '../../redaction/redactor.ts'
import { stringifySteps } from '../../shared/incremental-json.ts'
import { setOwnProperty } from '../../shared/own-property.ts'
import { isRecord } from '../../shared/record.ts'
import { forEachSteps, mapSteps, runToCompletion, type Steps } from '../../shared/time-slices.ts'
import type { JsonRecord } from '../json/values.ts'
import { collectTextsSteps, isJsonText, removeLogprobs, type TextPiece } from './choice-texts.ts'

/** A secret may contain characters that the text writes as escapes. */
const ESCAPE_START = '\\u00'
const UNICODE_ESCAPE = /\\u([0-9a-f]{4})/gi
/** Matches lists of objects or strings. */
const LIST_START = /\[\s*[{"]/g
/** Answers of models may contain words that look like credentials: these words stay. */
export const MODEL_TEXT_OPTIONS = { credentials: false } as const

/** Redacts the JSON text of a completion. Returns the same text if nothing is replaced. */
export function redactCompletionText<Text extends string | Uint8Array>(given: Text, redactor: Redactor): Text | string {
  const text = typeof given === 'string' ? given : decodeUtf8(given)
  const isSuspect = mayHideSecret(text, redactor)
  if (!isSuspect && !hasPieces(text)) return given
  const value: unknown = JSON.parse(text)
  const replaced = isRecord(value) ? redactJoinedTexts(value, redactor) : []
  const safe = redactModelValue(value, redactor)
  const isSame = safe === value && replaced.length === 0
  // A duplicate member may contain a secret that the parsed value does not contain.
  if (isSame && !(isSuspect && holdsSecret(text, redactor))) return given
  return JSON.stringify(isRecord(value) ? removeLogprobs(safe as JsonRecord, value, replaced) : safe)
}

/** Whether a text may come in several pieces: the list of choices is one list, and a second list may have pieces. */
function hasPieces(text: string): boolean {
  LIST_START.lastIndex = 0
  return LIST_START.test(text) && LIST_START.test(text)
}

/** Redacts a parsed completion and encodes it as JSON, in steps. */
export function* encodeRedactedSteps(completion: JsonRecord, redactor: Redactor): Steps<string> {
  const replaced = yield* redactJoinedTextsSteps(completion, redactor)
  const safe = yield* redactor.valueSteps(completion, MODEL_TEXT_OPTIONS)
  return yield* stringifySteps(removeLogprobs(safe, completion, replaced))
}

function redactJoinedTexts(completion: JsonRecord, redactor: Redactor): TextPiece[] {
  return runToCompletion(redactJoinedTextsSteps(completion, redactor))
}

/**
 * Replaces, in place, secrets that are split across several texts, or escaped in the arguments of a tool call. Returns
 * all pieces of these texts.
 */
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

export function decodeUtf8({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString()
}

/** Whether the text must be parsed as JSON to find its secrets. */
export function mayHideSecret(text: string, redactor: Redactor): boolean {
  return redactor.mayHoldSecret(text) || text.includes(ESCAPE_START)
}

/** Whether JSON text contains a secret anywhere, also in a duplicate member that parsing drops. */
export function holdsSecret(text: string, redactor: Redactor): boolean {
  const plain = text.replaceAll(UNICODE_ESCAPE, (_, number: string) => String.fromCharCode(Number.parseInt(number, 16)))
  return [text, plain].some((one) => redactModelValue(one, redactor) !== one)
}

/** Returns the same value if nothing is replaced. */
export function redactModelValue<Value>(value: Value, redactor: Redactor): Value {
  return redactor.value(value, MODEL_TEXT_OPTIONS)
}
