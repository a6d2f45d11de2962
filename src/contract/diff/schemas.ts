// Compares two versions of a schema at one position: values that clients may no longer send, and values that they never had to expect.

import { canonicalJson, isMap, type Json, readReference, unionOfKeys } from '../json.ts'
import { acceptsAnything, type EffectiveSchema, resolveEffectiveSchema } from './effective-schema.ts'
import { diffKeywords } from './keywords.ts'
import { childPosition, type DiffPosition, noteDifference, noteRangeChange } from './position.ts'
import { diffUnions } from './unions.ts'

/** Compares two versions of a schema. A schema in several positions is compared once for each direction. */
export function diffSchema(place: DiffPosition, old: Json | undefined, next: Json | undefined): void {
  if (acceptsAnything(old) && acceptsAnything(next)) return
  const inside = enterSchema(place, old, next)
  if (inside === null) return
  const a = resolveEffectiveSchema(place.documents.old, old)
  const b = resolveEffectiveSchema(place.documents.new, next)
  diffTypes(inside, a, b)
  // Where only one version has a union, the same rules stand in different places.
  if ((a.unions.length === 0) === (b.unions.length === 0)) {
    diffValues(inside, a, b)
    diffProperties(inside, a, b)
    diffAdditional(inside, a, b)
    diffKeywords(inside, a, b, diffSchema)
  }
  diffUnions(inside, { old, next, a, b }, diffSchema)
}

/** Returns the position of a shared schema; null where this pair has been compared. */
function enterSchema(place: DiffPosition, old: Json | undefined, next: Json | undefined): DiffPosition | null {
  if (![old, next].some((one) => isMap(one) && ('$ref' in one || 'allOf' in one))) return place
  const id = [place.direction, place.live, canonicalJson(old), canonicalJson(next)].join('\n')
  if (place.findings.comparedPositions.has(id)) return null
  place.findings.comparedPositions.add(id)
  const [before, after] = [readReference(old), readReference(next)]
  if (before === null || before !== after || !before.startsWith('#/components/schemas/')) return place
  return { ...place, at: `${before.split('/').at(-1)} (${place.direction})` }
}

function diffTypes(place: DiffPosition, { types: old }: EffectiveSchema, { types: next }: EffectiveSchema): void {
  const gone = old === null ? null : next === null ? [] : [...old].filter((type) => !next.has(type))
  const come = next === null ? null : old === null ? [] : [...next].filter((type) => !old.has(type))
  if (old === null && next === null) return
  const said = (types: readonly string[] | null) => (types === null ? 'other types' : types.join(', '))
  if (gone === null || gone.length > 0)
    noteRangeChange(place, 'narrower', 'type-narrowed', `no longer takes ${said(gone)}`, 'breaking')
  if (come === null || come.length > 0)
    noteRangeChange(place, 'wider', 'type-widened', `may be ${said(come)} now`, 'breaking')
}

function diffValues(place: DiffPosition, { values: old }: EffectiveSchema, { values: next }: EffectiveSchema): void {
  if (old === null && next === null) return
  if (old === null)
    return noteRangeChange(place, 'narrower', 'values-closed', `is one of ${[...next!].join(', ')} now`, 'risky')
  if (next === null) return noteRangeChange(place, 'wider', 'values-opened', 'takes any value now', 'risky')
  const gone = [...old].filter((value) => !next.has(value))
  const come = [...next].filter((value) => !old.has(value))
  if (gone.length > 0 && gone.length === old.size)
    return noteDifference(
      place,
      'breaking',
      'values-replaced',
      `is ${[...next].join(', ')} in place of ${[...old].join(', ')}`,
    )
  if (gone.length > 0) noteRangeChange(place, 'narrower', 'value-removed', `is no longer ${gone.join(', ')}`, 'risky')
  if (come.length > 0) noteRangeChange(place, 'wider', 'value-added', `may be ${come.join(', ')} now`, 'risky')
}

function diffProperties(place: DiffPosition, a: EffectiveSchema, b: EffectiveSchema): void {
  for (const name of unionOfKeys(a.properties, b.properties)) {
    const at = childPosition(place, `/${name}`)
    const [old, next] = [a.properties[name], b.properties[name]]
    if (next === undefined) noteDifference(at, 'breaking', 'property-removed', 'is gone')
    else if (old === undefined) noteNewProperty(at, b, name)
    else diffSchema(at, old, next)
  }
  for (const name of new Set([...a.required, ...b.required])) {
    // A new or removed property is already recorded.
    if ((a.properties[name] === undefined) !== (b.properties[name] === undefined)) continue
    diffRequired(childPosition(place, `/${name}`), a.required.has(name), b.required.has(name))
  }
}

function noteNewProperty(place: DiffPosition, { required }: EffectiveSchema, name: string): void {
  const demanded = place.direction === 'request' && required.has(name)
  noteDifference(
    place,
    demanded ? 'breaking' : 'additive',
    'property-added',
    demanded ? 'is new and required' : 'is new',
  )
}

function diffRequired(place: DiffPosition, old: boolean, next: boolean): void {
  if (old === next) return
  const hurts = place.direction === 'request' ? next : old
  noteDifference(
    place,
    hurts ? 'breaking' : 'additive',
    next ? 'property-required' : 'property-optional',
    `is ${next ? 'required' : 'optional'} now`,
  )
}

/** Answers may have members that a client does not know, whether the schema names them or not. */
function diffAdditional(
  place: DiffPosition,
  { additional: old }: EffectiveSchema,
  { additional: next }: EffectiveSchema,
): void {
  if (old === false && next === false) return
  if (next === false) return noteRangeChange(place, 'narrower', 'closed', 'refuses unknown properties now', 'risky')
  if (old === false) return noteRangeChange(place, 'wider', 'opened', 'takes unknown properties now', 'additive')
  diffSchema(childPosition(place, '/*'), old, next)
}
