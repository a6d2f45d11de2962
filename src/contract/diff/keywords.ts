// Compares the keywords that bound a value, and the keywords that can be compared only by their text.

import { canonicalJson, type Json, unionOfKeys } from '../json.ts'
import { type EffectiveSchema, withoutDocumentation } from './effective-schema.ts'
import { childPosition, type DiffPosition, noteDifference, noteRangeChange } from './position.ts'

type DiffSchema = (place: DiffPosition, old: Json | undefined, next: Json | undefined) => void

const LOWER_BOUNDS = new Set(['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'])
const UPPER_BOUNDS = new Set(['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'])
const FORM_KEYWORDS = new Set(['pattern', 'format', 'multipleOf'])
/** Keywords with further conditions on a value. */
const CONDITION_KEYWORDS = new Set(['not', 'if', 'then', 'else'])
const SCHEMA_KEYWORDS = new Set(['items', 'propertyNames'])
const IGNORED_KEYWORDS = new Set(['deprecated'])

/** Compares all keywords besides types, values, properties and unions. */
export function diffKeywords(
  place: DiffPosition,
  a: EffectiveSchema,
  b: EffectiveSchema,
  diffSchema: DiffSchema,
): void {
  for (const key of unionOfKeys(a.rest, b.rest)) {
    const [old, next] = [a.rest[key], b.rest[key]]
    if (SCHEMA_KEYWORDS.has(key))
      diffSchema(childPosition(place, key === 'items' ? '/[]' : '/names'), old ?? {}, next ?? {})
    else if (
      canonicalJson(withoutDocumentationOrUndefined(old)) !== canonicalJson(withoutDocumentationOrUndefined(next))
    )
      diffKeyword(place, key, old, next)
  }
}

function withoutDocumentationOrUndefined(value: Json | undefined): Json | undefined {
  return value === undefined ? undefined : withoutDocumentation(value)
}

function diffKeyword(place: DiffPosition, key: string, old: Json | undefined, next: Json | undefined): void {
  const message = `${key} is ${formatValue(next)} in place of ${formatValue(old)}`
  if (LOWER_BOUNDS.has(key) || UPPER_BOUNDS.has(key)) return diffBound(place, key, old, next, message)
  if (FORM_KEYWORDS.has(key)) return diffForm(place, key, old, next, message)
  if (key === 'uniqueItems')
    return noteRangeChange(place, next === true ? 'narrower' : 'wider', 'unique', message, 'risky')
  if (key === 'contentEncoding' || key === 'contentMediaType')
    return noteDifference(place, 'breaking', 'encoding-changed', message)
  if (IGNORED_KEYWORDS.has(key)) return noteDifference(place, 'additive', key, message)
  // The default changes the meaning of an absent property in a request. It does not affect responses.
  if (key === 'default')
    return place.direction === 'request' ? noteDifference(place, 'risky', 'default-changed', message) : undefined
  // A changed condition may refuse values that the old one accepted. A removed condition refuses nothing.
  const refuses = CONDITION_KEYWORDS.has(key) && next !== undefined && place.direction === 'request'
  noteDifference(place, refuses ? 'breaking' : 'risky', 'keyword-changed', message)
}

function diffBound(
  place: DiffPosition,
  key: string,
  old: Json | undefined,
  next: Json | undefined,
  message: string,
): void {
  const none = LOWER_BOUNDS.has(key) ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  const [before, after] = [old, next].map((value) => (typeof value === 'number' ? value : none))
  const narrower = LOWER_BOUNDS.has(key) ? after! > before! : after! < before!
  noteRangeChange(
    place,
    narrower ? 'narrower' : 'wider',
    narrower ? 'bound-tightened' : 'bound-loosened',
    message,
    'risky',
  )
}

/** A changed pattern or format counts as breaking, because the wider of two cannot be determined. */
function diffForm(
  place: DiffPosition,
  key: string,
  old: Json | undefined,
  next: Json | undefined,
  message: string,
): void {
  if (old === undefined) return noteRangeChange(place, 'narrower', `${key}-added`, message, 'risky')
  if (next === undefined) return noteRangeChange(place, 'wider', `${key}-removed`, message, 'risky')
  noteDifference(place, place.direction === 'request' ? 'breaking' : 'risky', `${key}-changed`, message)
}

function formatValue(value: Json | undefined): string {
  return value === undefined ? 'nothing' : JSON.stringify(value)
}
