// What an operation answers with: statuses, headers and contents.
import { diffSchema } from './diff-schema.ts'
import { type Json, type JsonMap, mapOf, names, resolve } from './json.ts'
import { into, note, type Place } from './place.ts'

/** Answers that nobody gets who didn't ask for them: errors, which have to be handled anyway, and 304, which answers a condition. */
const EXPECTED = /^(304|[45]\d\d)$/

/** Compares the replies by status. */
export function diffReplies(place: Place, old: JsonMap, next: JsonMap): void {
  for (const status of names(old, next)) {
    const at = into(place, ` ${status}`)
    const [a, b] = [resolve(place.documents.old, old[status]), resolve(place.documents.new, next[status])]
    const expected = EXPECTED.test(status)
    if (b === undefined) note(at, expected ? 'additive' : 'breaking', 'status-removed', 'is no longer answered')
    else if (a === undefined) note(at, expected ? 'additive' : 'risky', 'status-added', 'may be answered now')
    else diffReply(at, mapOf(a), mapOf(b))
  }
}

function diffReply(place: Place, old: JsonMap, next: JsonMap): void {
  diffContents(place, mapOf(old.content), mapOf(next.content))
  const [before, after] = [mapOf(old.headers), mapOf(next.headers)]
  for (const name of names(before, after)) diffHeader(into(place, ` header ${name}`), before[name], after[name])
}

function diffContents(place: Place, old: JsonMap, next: JsonMap): void {
  for (const type of names(old, next)) {
    const at = into(place, ` ${type}`)
    if (next[type] === undefined) note(at, 'breaking', 'content-removed', 'is no longer given')
    else if (old[type] === undefined) note(at, 'additive', 'content-added', 'can be given too')
    else diffSchema(at, mapOf(old[type]).schema ?? {}, mapOf(next[type]).schema ?? {})
  }
}

function diffHeader(place: Place, old: Json | undefined, next: Json | undefined): void {
  if (next === undefined) return note(place, 'breaking', 'header-removed', 'is gone')
  if (old === undefined) return note(place, 'additive', 'header-added', 'is new')
  const [a, b] = [mapOf(resolve(place.documents.old, old)), mapOf(resolve(place.documents.new, next))]
  if (a.required === true && b.required !== true) note(place, 'breaking', 'header-optional', 'may be missing now')
  diffSchema(place, a.schema ?? {}, b.schema ?? {})
}
