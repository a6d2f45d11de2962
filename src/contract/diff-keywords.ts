// The keywords that bound a value, and those that nobody can compare but by their text.
import { type Effective, withoutWords } from './effective.ts'
import { canonical, type Json, names } from './json.ts'
import { into, note, noteRange, type Place } from './place.ts'

type DiffSchema = (place: Place, old: Json | undefined, next: Json | undefined) => void

const LOWER = new Set(['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'])
const UPPER = new Set(['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'])
const FORMS = new Set(['pattern', 'format', 'multipleOf'])
/** Conditions that a value has to keep besides. */
const CONDITIONS = new Set(['not', 'if', 'then', 'else'])
const SCHEMAS = new Set(['items', 'propertyNames'])
const IGNORED = new Set(['deprecated'])

/** Compares what is neither type, value, property nor union. */
export function diffKeywords(place: Place, a: Effective, b: Effective, diffSchema: DiffSchema): void {
  for (const key of names(a.rest, b.rest)) {
    const [old, next] = [a.rest[key], b.rest[key]]
    if (SCHEMAS.has(key)) diffSchema(into(place, key === 'items' ? '/[]' : '/names'), old ?? {}, next ?? {})
    else if (canonical(plain(old)) !== canonical(plain(next))) diffKeyword(place, key, old, next)
  }
}

function plain(value: Json | undefined): Json | undefined {
  return value === undefined ? undefined : withoutWords(value)
}

function diffKeyword(place: Place, key: string, old: Json | undefined, next: Json | undefined): void {
  const message = `${key} is ${shown(next)} in place of ${shown(old)}`
  if (LOWER.has(key) || UPPER.has(key)) return diffBound(place, key, old, next, message)
  if (FORMS.has(key)) return diffForm(place, key, old, next, message)
  if (key === 'uniqueItems') return noteRange(place, next === true ? 'narrower' : 'wider', 'unique', message, 'risky')
  if (key === 'contentEncoding' || key === 'contentMediaType')
    return note(place, 'breaking', 'encoding-changed', message)
  if (IGNORED.has(key)) return note(place, 'additive', key, message)
  // An absent property means something else now; what is sent says nothing of defaults.
  if (key === 'default')
    return place.direction === 'request' ? note(place, 'risky', 'default-changed', message) : undefined
  // Whether another condition refuses what the old one took cannot be told; where it is gone, nothing more is refused.
  const refuses = CONDITIONS.has(key) && next !== undefined && place.direction === 'request'
  note(place, refuses ? 'breaking' : 'risky', 'keyword-changed', message)
}

function diffBound(place: Place, key: string, old: Json | undefined, next: Json | undefined, message: string): void {
  const none = LOWER.has(key) ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  const [before, after] = [old, next].map((value) => (typeof value === 'number' ? value : none))
  const narrower = LOWER.has(key) ? after! > before! : after! < before!
  noteRange(place, narrower ? 'narrower' : 'wider', narrower ? 'bound-tightened' : 'bound-loosened', message, 'risky')
}

/** Of two forms nobody can tell which is the wider one. */
function diffForm(place: Place, key: string, old: Json | undefined, next: Json | undefined, message: string): void {
  if (old === undefined) return noteRange(place, 'narrower', `${key}-added`, message, 'risky')
  if (next === undefined) return noteRange(place, 'wider', `${key}-removed`, message, 'risky')
  note(place, place.direction === 'request' ? 'breaking' : 'risky', `${key}-changed`, message)
}

function shown(value: Json | undefined): string {
  return value === undefined ? 'nothing' : JSON.stringify(value)
}
