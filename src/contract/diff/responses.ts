// Compares the answers of an operation: statuses, headers and contents.

import { type Json, type JsonMap, mapOf, resolveReference, unionOfKeys } from '../json.ts'
import { childPosition, type DiffPosition, noteDifference } from './position.ts'
import { diffSchema } from './schemas.ts'

/** Statuses that may be added. Clients have to handle errors anyway, and 304 answers only a conditional request. */
const EXPECTED_STATUS = /^(304|[45]\d\d)$/

export function diffResponses(place: DiffPosition, old: JsonMap, next: JsonMap): void {
  for (const status of unionOfKeys(old, next)) {
    const at = childPosition(place, ` ${status}`)
    const [a, b] = [
      resolveReference(place.documents.old, old[status]),
      resolveReference(place.documents.new, next[status]),
    ]
    const expected = EXPECTED_STATUS.test(status)
    if (b === undefined)
      noteDifference(at, expected ? 'additive' : 'breaking', 'status-removed', 'is no longer answered')
    else if (a === undefined) noteDifference(at, expected ? 'additive' : 'risky', 'status-added', 'may be answered now')
    else diffResponse(at, mapOf(a), mapOf(b))
  }
}

function diffResponse(place: DiffPosition, old: JsonMap, next: JsonMap): void {
  diffContents(place, mapOf(old.content), mapOf(next.content))
  const [before, after] = [mapOf(old.headers), mapOf(next.headers)]
  for (const name of unionOfKeys(before, after))
    diffHeader(childPosition(place, ` header ${name}`), before[name], after[name])
}

function diffContents(place: DiffPosition, old: JsonMap, next: JsonMap): void {
  for (const type of unionOfKeys(old, next)) {
    const at = childPosition(place, ` ${type}`)
    if (next[type] === undefined) noteDifference(at, 'breaking', 'content-removed', 'is no longer given')
    else if (old[type] === undefined) noteDifference(at, 'additive', 'content-added', 'can be given too')
    else diffSchema(at, mapOf(old[type]).schema ?? {}, mapOf(next[type]).schema ?? {})
  }
}

function diffHeader(place: DiffPosition, old: Json | undefined, next: Json | undefined): void {
  if (next === undefined) return noteDifference(place, 'breaking', 'header-removed', 'is gone')
  if (old === undefined) return noteDifference(place, 'additive', 'header-added', 'is new')
  const [a, b] = [mapOf(resolveReference(place.documents.old, old)), mapOf(resolveReference(place.documents.new, next))]
  if (a.required === true && b.required !== true)
    noteDifference(place, 'breaking', 'header-optional', 'may be missing now')
  diffSchema(place, a.schema ?? {}, b.schema ?? {})
}
