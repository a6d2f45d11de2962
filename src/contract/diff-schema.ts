// Two versions of a schema at one position: what clients may no longer send, and what they may get that they never had to expect.

import { diffKeywords } from './diff-keywords.ts'
import { diffUnions } from './diff-unions.ts'
import { type Effective, effective, takesAnything } from './effective.ts'
import { canonical, isMap, type Json, names, referenceOf } from './json.ts'
import { into, note, noteRange, type Place } from './place.ts'

/** Compares a schema of each version. A schema that stands in several positions is compared once for each direction. */
export function diffSchema(place: Place, old: Json | undefined, next: Json | undefined): void {
  if (takesAnything(old) && takesAnything(next)) return
  const inside = named(place, old, next)
  if (inside === null) return
  const a = effective(place.documents.old, old)
  const b = effective(place.documents.new, next)
  diffTypes(inside, a, b)
  // Where one version has a union and the other none, what the schemas say stands in different places.
  if ((a.unions.length === 0) === (b.unions.length === 0)) {
    diffValues(inside, a, b)
    diffProperties(inside, a, b)
    diffAdditional(inside, a, b)
    diffKeywords(inside, a, b, diffSchema)
  }
  diffUnions(inside, { old, next, a, b }, diffSchema)
}

/** Shared schemas are places of their own; null where this pair has been compared. */
function named(place: Place, old: Json | undefined, next: Json | undefined): Place | null {
  if (![old, next].some((one) => isMap(one) && ('$ref' in one || 'allOf' in one))) return place
  const id = [place.direction, place.live, canonical(old), canonical(next)].join('\n')
  if (place.findings.seen.has(id)) return null
  place.findings.seen.add(id)
  const [before, after] = [referenceOf(old), referenceOf(next)]
  if (before === null || before !== after || !before.startsWith('#/components/schemas/')) return place
  return { ...place, at: `${before.split('/').at(-1)} (${place.direction})` }
}

function diffTypes(place: Place, { types: old }: Effective, { types: next }: Effective): void {
  const gone = old === null ? null : next === null ? [] : [...old].filter((type) => !next.has(type))
  const come = next === null ? null : old === null ? [] : [...next].filter((type) => !old.has(type))
  if (old === null && next === null) return
  const said = (types: readonly string[] | null) => (types === null ? 'other types' : types.join(', '))
  if (gone === null || gone.length > 0)
    noteRange(place, 'narrower', 'type-narrowed', `no longer takes ${said(gone)}`, 'breaking')
  if (come === null || come.length > 0)
    noteRange(place, 'wider', 'type-widened', `may be ${said(come)} now`, 'breaking')
}

function diffValues(place: Place, { values: old }: Effective, { values: next }: Effective): void {
  if (old === null && next === null) return
  if (old === null)
    return noteRange(place, 'narrower', 'values-closed', `is one of ${[...next!].join(', ')} now`, 'risky')
  if (next === null) return noteRange(place, 'wider', 'values-opened', 'takes any value now', 'risky')
  const gone = [...old].filter((value) => !next.has(value))
  const come = [...next].filter((value) => !old.has(value))
  if (gone.length > 0 && gone.length === old.size)
    return note(place, 'breaking', 'values-replaced', `is ${[...next].join(', ')} in place of ${[...old].join(', ')}`)
  if (gone.length > 0) noteRange(place, 'narrower', 'value-removed', `is no longer ${gone.join(', ')}`, 'risky')
  if (come.length > 0) noteRange(place, 'wider', 'value-added', `may be ${come.join(', ')} now`, 'risky')
}

function diffProperties(place: Place, a: Effective, b: Effective): void {
  for (const name of names(a.properties, b.properties)) {
    const at = into(place, `/${name}`)
    const [old, next] = [a.properties[name], b.properties[name]]
    if (next === undefined) note(at, 'breaking', 'property-removed', 'is gone')
    else if (old === undefined) newProperty(at, b, name)
    else diffSchema(at, old, next)
  }
  for (const name of new Set([...a.required, ...b.required])) {
    // Of one that is new or gone that is said already.
    if ((a.properties[name] === undefined) !== (b.properties[name] === undefined)) continue
    diffRequired(into(place, `/${name}`), a.required.has(name), b.required.has(name))
  }
}

function newProperty(place: Place, { required }: Effective, name: string): void {
  const demanded = place.direction === 'request' && required.has(name)
  note(place, demanded ? 'breaking' : 'additive', 'property-added', demanded ? 'is new and required' : 'is new')
}

function diffRequired(place: Place, old: boolean, next: boolean): void {
  if (old === next) return
  const hurts = place.direction === 'request' ? next : old
  note(
    place,
    hurts ? 'breaking' : 'additive',
    next ? 'property-required' : 'property-optional',
    `is ${next ? 'required' : 'optional'} now`,
  )
}

/** Answers may hold members that a client doesn't know, whether they are named or not. */
function diffAdditional(place: Place, { additional: old }: Effective, { additional: next }: Effective): void {
  if (old === false && next === false) return
  if (next === false) return noteRange(place, 'narrower', 'closed', 'refuses unknown properties now', 'risky')
  if (old === false) return noteRange(place, 'wider', 'opened', 'takes unknown properties now', 'additive')
  diffSchema(into(place, '/*'), old, next)
}
