// Two versions of a union: which variant of one is which of the other, what has gone and what has come.
import { type Effective, effective, withoutWords } from './effective.ts'
import { canonical, type Json, type JsonMap, mapOf, referenceOf } from './json.ts'
import { into, note, noteRange, type Place } from './place.ts'

type DiffSchema = (place: Place, old: Json | undefined, next: Json | undefined) => void

interface Sides {
  readonly old: Json | undefined
  readonly next: Json | undefined
  readonly a: Effective
  readonly b: Effective
}

/** Compares unions in the order in which they are written. Where only one version has one, the other counts as a union of itself. */
export function diffUnions(place: Place, { old, next, a, b }: Sides, diffSchema: DiffSchema): void {
  if (a.unions.length === 0 && b.unions.length === 0) return
  if (a.unions.length === b.unions.length) {
    a.unions.forEach((variants, index) => {
      diffVariants(place, variants, b.unions[index]!, diffSchema)
    })
  } else if (a.unions.length === 0 && b.unions.length === 1)
    diffVariants(place, spread(old), whole(next, b), diffSchema)
  else if (a.unions.length === 1 && b.unions.length === 0) diffVariants(place, whole(old, a), spread(next), diffSchema)
  else
    note(place, place.direction === 'request' ? 'breaking' : 'risky', 'union-changed', 'is put together in another way')
}

/** A schema of several types as variants of one each. */
function spread(schema: Json | undefined): Json[] {
  const { type } = mapOf(schema)
  return Array.isArray(type) ? type.map((one) => ({ ...mapOf(schema), type: one })) : [schema ?? {}]
}

/** The variants of a union, each with what stands beside the union. */
function whole(schema: Json | undefined, { unions }: Effective): Json[] {
  const { oneOf, anyOf, description: _words, ...beside } = mapOf(schema)
  const variants = [...unions[0]!]
  const alone = (oneOf ?? anyOf) !== undefined && Object.keys(beside).length === 0
  return alone || (oneOf ?? anyOf) === undefined ? variants : variants.map((variant) => ({ allOf: [beside, variant] }))
}

function diffVariants(place: Place, old: readonly Json[], next: readonly Json[], diffSchema: DiffSchema): void {
  const { pairs, gone, come } = matched(place, old, next)
  for (const [before, after] of pairs) diffSchema(into(place, `/${label(place.documents.old, before)}`), before, after)
  for (const variant of gone)
    if (!isNull(place.documents.old, variant))
      note(
        place,
        place.direction === 'request' ? 'breaking' : 'risky',
        'variant-removed',
        `is no longer ${label(place.documents.old, variant)}`,
      )
  for (const variant of come) {
    if (isNull(place.documents.new, variant)) continue
    noteRange(place, 'wider', 'variant-added', `may be ${label(place.documents.new, variant)} now`, 'risky')
  }
}

interface Way {
  readonly key: (document: JsonMap, variant: Json) => string | null
  /** Whether variants of one key are as good as each other; otherwise a key that several share tells nothing. */
  readonly equal: boolean
}

/** Ways to know a variant again, the surest first. */
const WAYS: readonly Way[] = [
  { key: (_document, variant) => referenceOf(variant), equal: true },
  { key: (_document, variant) => canonical(withoutWords(variant)), equal: true },
  { key: (document, variant) => constants(document, variant) || null, equal: false },
  { key: (document, variant) => [...(effective(document, variant).types ?? [])].sort().join() || null, equal: false },
]

function matched({ documents }: Place, old: readonly Json[], next: readonly Json[]) {
  const pairs: [Json, Json][] = []
  const gone = new Set(old.keys())
  const come = new Set(next.keys())
  for (const way of WAYS) {
    const mine = keyed(documents.old, old, gone, way)
    const theirs = keyed(documents.new, next, come, way)
    for (const [key, places] of mine) {
      const others = theirs.get(key) ?? []
      if (!way.equal && (places.length > 1 || others.length > 1)) continue
      for (const [index, other] of others.slice(0, places.length).entries()) {
        pairs.push([old[places[index]!]!, next[other]!])
        gone.delete(places[index]!)
        come.delete(other)
      }
    }
  }
  return { pairs, gone: [...gone].map((at) => old[at]!), come: [...come].map((at) => next[at]!) }
}

/** The places of the variants that are left, by key. */
function keyed(document: JsonMap, variants: readonly Json[], left: ReadonlySet<number>, { key: keyOf }: Way) {
  const byKey = new Map<string, number[]>()
  for (const at of left) {
    const key = keyOf(document, variants[at]!)
    if (key !== null) byKey.set(key, [...(byKey.get(key) ?? []), at])
  }
  return byKey
}

/** The constant properties of a variant, which tell it from the others. */
function constants(document: JsonMap, variant: Json): string {
  return Object.entries(effective(document, variant).properties)
    .map(([name, schema]) => [name, effective(document, schema).values] as const)
    .flatMap(([name, values]) => (values?.size === 1 ? [`${name}=${[...values][0]}`] : []))
    .sort()
    .join()
}

/** Whether a variant is null alone: that is a matter of types. */
function isNull(document: JsonMap, variant: Json): boolean {
  const { types } = effective(document, variant)
  return types?.size === 1 && types.has('null')
}

function label(document: JsonMap, variant: Json): string {
  const name = referenceOf(variant)?.split('/').at(-1)
  return (
    name ?? (constants(document, variant) || [...(effective(document, variant).types ?? ['anything'])].join(' or '))
  )
}
