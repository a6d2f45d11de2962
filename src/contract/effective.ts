// A schema as a whole: what stands under `allOf` is brought together, so that it doesn't matter in which part a rule is written.
import { canonical, isMap, type Json, type JsonMap, listOf, mapOf, referenceOf, resolve } from './json.ts'

/** One schema with its references followed and its parts merged. */
export interface Effective {
  /** Names of the types that fit; null for any. */
  readonly types: ReadonlySet<string> | null
  /** The values that fit, as canonical text; null for any. */
  readonly values: ReadonlySet<string> | null
  readonly properties: Readonly<Record<string, Json>>
  readonly required: ReadonlySet<string>
  /** False where other properties are refused. */
  readonly additional: Json
  /** Unions, one list of variants each. */
  readonly unions: readonly (readonly Json[])[]
  /** All other keywords. */
  readonly rest: JsonMap
}

const DOCUMENTATION = new Set([
  'title',
  'description',
  'examples',
  'example',
  '$comment',
  'externalDocs',
  '$schema',
  '$id',
])
const HANDLED = new Set([
  '$ref',
  'allOf',
  'oneOf',
  'anyOf',
  'type',
  'enum',
  'const',
  'properties',
  'required',
  'additionalProperties',
])

/** Each node of a document is asked for again and again, in every position that refers to it. */
const known = new WeakMap<JsonMap, Effective>()

/** The effective schema. `true`, `{}` and a dangling reference take anything. */
export function effective(document: JsonMap, schema: Json | undefined): Effective {
  if (!isMap(schema)) return brought(document, schema)
  const found = known.get(schema) ?? brought(document, schema)
  known.set(schema, found)
  return found
}

function brought(document: JsonMap, schema: Json | undefined): Effective {
  const parts = partsOf(document, schema, new Set())
  return {
    types: typesTogether(document, parts),
    values: intersection(parts.map(valuesOf)),
    properties: mergedProperties(parts),
    required: new Set(parts.flatMap((part) => listOf(part.required) as string[])),
    additional: mergedAdditional(parts),
    unions: parts.flatMap((part) => [part.oneOf, part.anyOf].filter(Array.isArray)),
    rest: mergedRest(parts),
  }
}

function partsOf(document: JsonMap, schema: Json | undefined, through: Set<string>): JsonMap[] {
  const reference = referenceOf(schema)
  if (reference !== null && through.has(reference)) return []
  if (reference !== null) through.add(reference)
  const resolved = resolve(document, schema)
  if (resolved === false) return [{ not: {} }]
  if (!isMap(resolved)) return []
  return [resolved, ...listOf(resolved.allOf).flatMap((part) => partsOf(document, part, through))]
}

function typesOf({ type }: JsonMap): Set<string> | null {
  if (type === undefined) return null
  const types = new Set(Array.isArray(type) ? (type as string[]) : [String(type)])
  // Every integer is a number.
  if (types.has('number')) types.add('integer')
  return types
}

/** Types by node; none as long as they are being found, because a union adds nothing to itself. */
const knownTypes = new WeakMap<JsonMap, ReadonlySet<string> | null>()

function possibleTypes(document: JsonMap, schema: Json): ReadonlySet<string> | null {
  if (!isMap(schema)) return null
  const found = knownTypes.get(schema)
  if (found !== undefined) return found
  knownTypes.set(schema, new Set())
  const types = typesTogether(document, partsOf(document, schema, new Set()))
  knownTypes.set(schema, types)
  return types
}

/** What fits all parts, and for each union among them some variant. */
function typesTogether(document: JsonMap, parts: readonly JsonMap[]): ReadonlySet<string> | null {
  const unions = parts.flatMap((part) => [part.oneOf, part.anyOf].filter(Array.isArray))
  const unionTypes = unions.map((variants) => {
    const types = variants.map((variant) => possibleTypes(document, variant))
    return types.includes(null) ? null : new Set(types.flatMap((one) => [...one!]))
  })
  return intersection([...parts.map(typesOf), ...unionTypes])
}

function valuesOf(part: JsonMap): Set<string> | null {
  if (part.const !== undefined) return new Set([canonical(part.const)])
  return Array.isArray(part.enum) ? new Set(part.enum.map(canonical)) : null
}

function intersection(sets: readonly (ReadonlySet<string> | null)[]): ReadonlySet<string> | null {
  const [first, ...others] = sets.filter((set) => set !== null)
  return first === undefined ? null : new Set([...first].filter((one) => others.every((set) => set.has(one))))
}

/** A property that several parts speak of has to fit all of them. */
function mergedProperties(parts: readonly JsonMap[]): Record<string, Json> {
  const merged = new Map<string, Json[]>()
  for (const part of parts) {
    for (const [name, schema] of Object.entries(mapOf(part.properties))) {
      const known = merged.get(name) ?? []
      if (!known.some((one) => canonical(one) === canonical(schema))) merged.set(name, [...known, schema])
    }
  }
  const inOrder = (all: Json[]) => all.sort((a, b) => (canonical(a) < canonical(b) ? -1 : 1))
  return Object.fromEntries(
    [...merged].map(([name, all]) => [name, all.length === 1 ? all[0]! : { allOf: inOrder(all) }]),
  )
}

function mergedAdditional(parts: readonly JsonMap[]): Json {
  const said = parts.map((part) => part.additionalProperties).filter((value) => value !== undefined && value !== true)
  if (said.includes(false)) return false
  return said.length === 0 ? {} : said.length === 1 ? said[0]! : { allOf: said }
}

/** Bounds of several parts hold together; of other keywords each part's own counts. */
function mergedRest(parts: readonly JsonMap[]): JsonMap {
  const rest: JsonMap = {}
  for (const part of parts) {
    for (const [key, value] of Object.entries(part)) {
      if (HANDLED.has(key) || DOCUMENTATION.has(key) || key.startsWith('x-')) continue
      const known = rest[key]
      if (typeof known === 'number' && typeof value === 'number')
        rest[key] = /^(min|exclusiveMin)/.test(key) ? Math.max(known, value) : Math.min(known, value)
      else if (known === undefined || canonical(known) === canonical(value)) rest[key] = value
      else rest[key] = { allOf: [known, value] }
    }
  }
  return rest
}

/** Whether a schema says nothing of values. */
export function takesAnything(schema: Json | undefined): boolean {
  return (
    schema === undefined ||
    schema === true ||
    (isMap(schema) && Object.keys(schema).every((key) => DOCUMENTATION.has(key)))
  )
}

/** A copy without words for people, to compare what nothing else compares. */
export function withoutWords(value: Json, names = false): Json {
  if (Array.isArray(value)) return value.map((item) => withoutWords(item))
  if (!isMap(value)) return value
  const members = Object.entries(value).filter(([key]) => names || !DOCUMENTATION.has(key))
  return Object.fromEntries(members.map(([key, member]) => [key, withoutWords(member, !names && key === 'properties')]))
}
