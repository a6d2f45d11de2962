// Compares two versions of a union: matches their variants, and finds removed and added ones.

import { canonicalJson, type Json, type JsonMap, mapOf, readReference } from '../json.ts'
import { type EffectiveSchema, resolveEffectiveSchema, withoutDocumentation } from './effective-schema.ts'
import { childPosition, type DiffPosition, noteDifference, noteRangeChange } from './position.ts'

type DiffSchema = (place: DiffPosition, old: Json | undefined, next: Json | undefined) => void

interface UnionSides {
  readonly old: Json | undefined
  readonly next: Json | undefined
  readonly a: EffectiveSchema
  readonly b: EffectiveSchema
}

/**
 * Compares unions in the order in which they are written. Where only one version has a union, the other counts as a union of one variant.
 */
export function diffUnions(place: DiffPosition, { old, next, a, b }: UnionSides, diffSchema: DiffSchema): void {
  if (a.unions.length === 0 && b.unions.length === 0) return
  if (a.unions.length === b.unions.length) {
    a.unions.forEach((variants, index) => {
      diffVariants(place, variants, b.unions[index]!, diffSchema)
    })
  } else if (a.unions.length === 0 && b.unions.length === 1)
    diffVariants(place, splitByType(old), listWholeVariants(next, b), diffSchema)
  else if (a.unions.length === 1 && b.unions.length === 0)
    diffVariants(place, listWholeVariants(old, a), splitByType(next), diffSchema)
  else
    noteDifference(
      place,
      place.direction === 'request' ? 'breaking' : 'risky',
      'union-changed',
      'is put together in another way',
    )
}

/** Splits a schema with several types into variants of one type each. */
function splitByType(schema: Json | undefined): Json[] {
  const { type } = mapOf(schema)
  return Array.isArray(type) ? type.map((one) => ({ ...mapOf(schema), type: one })) : [schema ?? {}]
}

/** Returns the variants of a union, each merged with the rest of the schema. */
function listWholeVariants(schema: Json | undefined, { unions }: EffectiveSchema): Json[] {
  const { oneOf, anyOf, description: _words, ...beside } = mapOf(schema)
  const variants = [...unions[0]!]
  const alone = (oneOf ?? anyOf) !== undefined && Object.keys(beside).length === 0
  return alone || (oneOf ?? anyOf) === undefined ? variants : variants.map((variant) => ({ allOf: [beside, variant] }))
}

function diffVariants(place: DiffPosition, old: readonly Json[], next: readonly Json[], diffSchema: DiffSchema): void {
  const { pairs, gone, come } = matchVariants(place, old, next)
  for (const [before, after] of pairs)
    diffSchema(childPosition(place, `/${variantLabel(place.documents.old, before)}`), before, after)
  for (const variant of gone)
    if (!isNullVariant(place.documents.old, variant))
      noteDifference(
        place,
        place.direction === 'request' ? 'breaking' : 'risky',
        'variant-removed',
        `is no longer ${variantLabel(place.documents.old, variant)}`,
      )
  for (const variant of come) {
    if (isNullVariant(place.documents.new, variant)) continue
    noteRangeChange(
      place,
      'wider',
      'variant-added',
      `may be ${variantLabel(place.documents.new, variant)} now`,
      'risky',
    )
  }
}

interface VariantMatcher {
  readonly key: (document: JsonMap, variant: Json) => string | null
  /** Whether variants with equal keys are interchangeable. Otherwise a shared key matches nothing. */
  readonly isUnambiguous: boolean
}

/** Ways to match variants, the most reliable first. */
const VARIANT_MATCHERS: readonly VariantMatcher[] = [
  { key: (_document, variant) => readReference(variant), isUnambiguous: true },
  { key: (_document, variant) => canonicalJson(withoutDocumentation(variant)), isUnambiguous: true },
  { key: (document, variant) => listConstants(document, variant) || null, isUnambiguous: false },
  {
    key: (document, variant) => [...(resolveEffectiveSchema(document, variant).types ?? [])].sort().join() || null,
    isUnambiguous: false,
  },
]

function matchVariants({ documents }: DiffPosition, old: readonly Json[], next: readonly Json[]) {
  const pairs: [Json, Json][] = []
  const gone = new Set(old.keys())
  const come = new Set(next.keys())
  for (const way of VARIANT_MATCHERS) {
    const mine = indexVariants(documents.old, old, gone, way)
    const theirs = indexVariants(documents.new, next, come, way)
    for (const [key, places] of mine) {
      const others = theirs.get(key) ?? []
      if (!way.isUnambiguous && (places.length > 1 || others.length > 1)) continue
      for (const [index, other] of others.slice(0, places.length).entries()) {
        pairs.push([old[places[index]!]!, next[other]!])
        gone.delete(places[index]!)
        come.delete(other)
      }
    }
  }
  return { pairs, gone: [...gone].map((at) => old[at]!), come: [...come].map((at) => next[at]!) }
}

/** Indexes the remaining variants by key. */
function indexVariants(
  document: JsonMap,
  variants: readonly Json[],
  left: ReadonlySet<number>,
  { key: keyOf }: VariantMatcher,
) {
  const byKey = new Map<string, number[]>()
  for (const at of left) {
    const key = keyOf(document, variants[at]!)
    if (key !== null) byKey.set(key, [...(byKey.get(key) ?? []), at])
  }
  return byKey
}

/** Returns the constant properties of a variant, which distinguish it from the others. */
function listConstants(document: JsonMap, variant: Json): string {
  return Object.entries(resolveEffectiveSchema(document, variant).properties)
    .map(([name, schema]) => [name, resolveEffectiveSchema(document, schema).values] as const)
    .flatMap(([name, values]) => (values?.size === 1 ? [`${name}=${[...values][0]}`] : []))
    .sort()
    .join()
}

/** Whether a variant is only null. The comparison of types covers it. */
function isNullVariant(document: JsonMap, variant: Json): boolean {
  const { types } = resolveEffectiveSchema(document, variant)
  return types?.size === 1 && types.has('null')
}

function variantLabel(document: JsonMap, variant: Json): string {
  const name = readReference(variant)?.split('/').at(-1)
  return (
    name ??
    (listConstants(document, variant) ||
      [...(resolveEffectiveSchema(document, variant).types ?? ['anything'])].join(' or '))
  )
}
