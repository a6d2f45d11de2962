// Merges the parts of a schema under `allOf`, so that it does not matter which part holds a rule.
import {
  canonicalJson,
  isMap,
  type Json,
  type JsonMap,
  listOf,
  mapOf,
  readReference,
  resolveReference,
} from '../json.ts'

/** A schema with its references resolved and its parts merged. */
export interface EffectiveSchema {
  /** Names of the allowed types; null for any. */
  readonly types: ReadonlySet<string> | null
  /** The allowed values as canonical text; null for any. */
  readonly values: ReadonlySet<string> | null
  readonly properties: Readonly<Record<string, Json>>
  readonly required: ReadonlySet<string>
  /** False where unknown properties are refused. */
  readonly additional: Json
  /** The variants of each union. */
  readonly unions: readonly (readonly Json[])[]
  /** All other keywords. */
  readonly rest: JsonMap
}

const DOCUMENTATION_KEYWORDS = new Set([
  'title',
  'description',
  'examples',
  'example',
  '$comment',
  'externalDocs',
  '$schema',
  '$id',
])
const HANDLED_KEYWORDS = new Set([
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

/** A cache: each node is requested again for every position that refers to it. */
const effectiveSchemas = new WeakMap<JsonMap, EffectiveSchema>()

/** Returns the effective schema. `true`, `{}` and a dangling reference accept any value. */
export function resolveEffectiveSchema(document: JsonMap, schema: Json | undefined): EffectiveSchema {
  if (!isMap(schema)) return mergeSchemaParts(document, schema)
  const found = effectiveSchemas.get(schema) ?? mergeSchemaParts(document, schema)
  effectiveSchemas.set(schema, found)
  return found
}

function mergeSchemaParts(document: JsonMap, schema: Json | undefined): EffectiveSchema {
  const parts = listParts(document, schema, new Set())
  return {
    types: intersectTypes(document, parts),
    values: intersectSets(parts.map(readValues)),
    properties: mergeProperties(parts),
    required: new Set(parts.flatMap((part) => listOf(part.required) as string[])),
    additional: mergeAdditionalProperties(parts),
    unions: parts.flatMap((part) => [part.oneOf, part.anyOf].filter(Array.isArray)),
    rest: mergeOtherKeywords(parts),
  }
}

function listParts(document: JsonMap, schema: Json | undefined, through: Set<string>): JsonMap[] {
  const reference = readReference(schema)
  if (reference !== null && through.has(reference)) return []
  if (reference !== null) through.add(reference)
  const resolved = resolveReference(document, schema)
  if (resolved === false) return [{ not: {} }]
  if (!isMap(resolved)) return []
  return [resolved, ...listOf(resolved.allOf).flatMap((part) => listParts(document, part, through))]
}

function readTypes({ type }: JsonMap): Set<string> | null {
  if (type === undefined) return null
  const types = new Set(Array.isArray(type) ? (type as string[]) : [String(type)])
  // Every integer is a number.
  if (types.has('number')) types.add('integer')
  return types
}

/** A cache of types by node. It holds none while a node is being resolved, because a union adds no types to itself. */
const possibleTypesByNode = new WeakMap<JsonMap, ReadonlySet<string> | null>()

function findPossibleTypes(document: JsonMap, schema: Json): ReadonlySet<string> | null {
  if (!isMap(schema)) return null
  const found = possibleTypesByNode.get(schema)
  if (found !== undefined) return found
  possibleTypesByNode.set(schema, new Set())
  const types = intersectTypes(document, listParts(document, schema, new Set()))
  possibleTypesByNode.set(schema, types)
  return types
}

/** Returns the types that all parts allow, and of each union among them some variant. */
function intersectTypes(document: JsonMap, parts: readonly JsonMap[]): ReadonlySet<string> | null {
  const unions = parts.flatMap((part) => [part.oneOf, part.anyOf].filter(Array.isArray))
  const unionTypes = unions.map((variants) => {
    const types = variants.map((variant) => findPossibleTypes(document, variant))
    return types.includes(null) ? null : new Set(types.flatMap((one) => [...one!]))
  })
  return intersectSets([...parts.map(readTypes), ...unionTypes])
}

function readValues(part: JsonMap): Set<string> | null {
  if (part.const !== undefined) return new Set([canonicalJson(part.const)])
  return Array.isArray(part.enum) ? new Set(part.enum.map(canonicalJson)) : null
}

function intersectSets(sets: readonly (ReadonlySet<string> | null)[]): ReadonlySet<string> | null {
  const [first, ...others] = sets.filter((set) => set !== null)
  return first === undefined ? null : new Set([...first].filter((one) => others.every((set) => set.has(one))))
}

/** A property in several parts has to satisfy all of them. */
function mergeProperties(parts: readonly JsonMap[]): Record<string, Json> {
  const merged = new Map<string, Json[]>()
  for (const part of parts) {
    for (const [name, schema] of Object.entries(mapOf(part.properties))) {
      const known = merged.get(name) ?? []
      if (!known.some((one) => canonicalJson(one) === canonicalJson(schema))) merged.set(name, [...known, schema])
    }
  }
  const inOrder = (all: Json[]) => all.sort((a, b) => (canonicalJson(a) < canonicalJson(b) ? -1 : 1))
  return Object.fromEntries(
    [...merged].map(([name, all]) => [name, all.length === 1 ? all[0]! : { allOf: inOrder(all) }]),
  )
}

function mergeAdditionalProperties(parts: readonly JsonMap[]): Json {
  const said = parts.map((part) => part.additionalProperties).filter((value) => value !== undefined && value !== true)
  if (said.includes(false)) return false
  return said.length === 0 ? {} : said.length === 1 ? said[0]! : { allOf: said }
}

/** Bounds of several parts apply together. Other keywords are kept for each part. */
function mergeOtherKeywords(parts: readonly JsonMap[]): JsonMap {
  const rest: JsonMap = {}
  for (const part of parts) {
    for (const [key, value] of Object.entries(part)) {
      if (HANDLED_KEYWORDS.has(key) || DOCUMENTATION_KEYWORDS.has(key) || key.startsWith('x-')) continue
      const known = rest[key]
      if (typeof known === 'number' && typeof value === 'number')
        rest[key] = /^(min|exclusiveMin)/.test(key) ? Math.max(known, value) : Math.min(known, value)
      else if (known === undefined || canonicalJson(known) === canonicalJson(value)) rest[key] = value
      else rest[key] = { allOf: [known, value] }
    }
  }
  return rest
}

/** Whether a schema accepts any value. */
export function acceptsAnything(schema: Json | undefined): boolean {
  return (
    schema === undefined ||
    schema === true ||
    (isMap(schema) && Object.keys(schema).every((key) => DOCUMENTATION_KEYWORDS.has(key)))
  )
}

/** Copies a value without documentation, for a comparison by text. */
export function withoutDocumentation(value: Json, names = false): Json {
  if (Array.isArray(value)) return value.map((item) => withoutDocumentation(item))
  if (!isMap(value)) return value
  const members = Object.entries(value).filter(([key]) => names || !DOCUMENTATION_KEYWORDS.has(key))
  return Object.fromEntries(
    members.map(([key, member]) => [key, withoutDocumentation(member, !names && key === 'properties')]),
  )
}
