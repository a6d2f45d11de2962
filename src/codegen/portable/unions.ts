// Converts unions for client generators. Some languages use the first variant that matches; others require exactly one match. Both work
// where a type, or a property with different enumerated texts, distinguishes the variants. Indistinguishable variants become one variant. A
// union within a union is flattened.
import { canonicalJson } from '../../contract/json.ts'
import { type Json, type JsonMap, listOf, mapOf, textOf } from '../documents/json-pointer.ts'

const NULL: JsonMap = { type: 'null' }

/** Resolves the schema of a variant, with its parts merged. */
export type VariantResolver = (variant: Json) => JsonMap

/** Returns the portable form of a union. Returns the schema itself where nothing changes. */
export function toPortableUnion(schema: JsonMap, resolve: VariantResolver): JsonMap {
  const { oneOf, anyOf, ...rest } = schema
  const all = listOf(oneOf ?? anyOf).map(mapOf)
  const named = all.filter((one) => one.type !== 'null')
  const variants = named.length > 1 ? named.flatMap((one) => flattenUnion(one, resolve)) : named
  if (variants.length === 0) return schema
  const orNull = named.length < all.length ? [NULL] : []
  const kinds = variants.map((one) => findVariantType(one, resolve))
  if (kinds.includes(null)) return rest
  const of = (kind: string | null) => variants.filter((_, at) => kinds[at] === kind)
  const apart = [...new Set(kinds)]
    .flatMap((kind) => makeDistinguishable(of(kind), kind!, resolve))
    .map((one) => withOwnItems(one, variants, resolve))
  if (apart.length > 1) return keepIfSame(schema, { ...rest, oneOf: [...apart, ...orNull] })
  if (orNull.length > 0) return keepIfSame(schema, { ...rest, anyOf: [...apart, ...orNull] })
  return { ...rest, ...apart[0] }
}

/** Merges a union of objects into one object, because form fields cannot depend on each other. */
export function mergeUnion(schema: JsonMap, resolve: VariantResolver): JsonMap {
  const { oneOf, anyOf, ...rest } = schema
  const variants = listOf(oneOf ?? anyOf)
  return variants.length === 0 ? schema : { ...rest, ...mergeObjects(variants.map(resolve)) }
}

function keepIfSame(schema: JsonMap, form: JsonMap): JsonMap {
  return canonicalJson(schema) === canonicalJson(form) ? schema : form
}

/**
 * Gives a list in a union items that every language can use. Several objects become one, and a variant of the union is copied. Objects
 * without known members become any values, because they have no names.
 */
function withOwnItems(list: JsonMap, variants: readonly JsonMap[], resolve: VariantResolver): JsonMap {
  if (list.items === undefined) return list
  const items = resolve(list.items)
  if (isFreeObject(mapOf(list.items))) return { ...list, items: {} }
  const inner = listOf(items.oneOf ?? items.anyOf).map(resolve)
  if (inner.length > 0 && inner.every(({ type }) => type === 'object')) return { ...list, items: mergeObjects(inner) }
  const isVariant = variants.some((one) => one.$ref !== undefined && one.$ref === mapOf(list.items).$ref)
  return isVariant ? { ...list, items } : list
}

function isFreeObject({ type, properties }: JsonMap): boolean {
  return type === 'object' && properties === undefined
}

/** Merges the properties of several schemas. A property is required where all schemas require it. */
function mergeObjects(schemas: readonly JsonMap[]): JsonMap {
  const names = [...new Set(schemas.flatMap((one) => Object.keys(mapOf(one.properties))))]
  const of = (name: string) => schemas.flatMap((one) => mapOf(one.properties)[name] ?? [])
  const properties = Object.fromEntries(names.map((name) => [name, mergeProperty(of(name).map(mapOf))]))
  const required = names.filter((name) => schemas.every((one) => listOf(one.required).includes(name)))
  const isClosed = schemas.every(({ additionalProperties }) => additionalProperties === false)
  return {
    type: 'object',
    ...(required.length > 0 ? { required } : {}),
    ...(isClosed ? { additionalProperties: false } : {}),
    properties,
  }
}

function mergeProperty(schemas: readonly JsonMap[]): JsonMap {
  const bare = schemas.map(({ description: _, ...one }) => one)
  if (bare.every((one) => canonicalJson(one) === canonicalJson(bare[0]!))) return schemas[0]!
  const values = schemas.map(listEnumeratedTexts)
  if (values.every((one) => one !== null)) return { type: 'string', enum: [...new Set(values.flat())] }
  return {}
}

/** Returns the JSON type of a variant. Null for any value, or for an object without known members, which has no name. */
function findVariantType(variant: JsonMap, resolve: VariantResolver): string | null {
  const { oneOf, anyOf, type } = resolve(variant)
  const parts = listOf(oneOf ?? anyOf).map(mapOf)
  if (parts.length > 0) {
    const kinds = new Set(parts.map((one) => findVariantType(one, resolve)))
    return kinds.size === 1 ? [...kinds][0]! : null
  }
  if (type === 'integer') return 'number'
  return typeof type !== 'string' || isFreeObject(variant) ? null : type
}

/** Keeps variants of one type where they are distinguishable, and merges them otherwise. */
function makeDistinguishable(variants: JsonMap[], kind: string, resolve: VariantResolver): JsonMap[] {
  if (variants.length === 1 || areDistinguishable(variants, resolve)) return variants
  const schemas = variants.map(resolve)
  if (kind === 'object') return [mergeObjects(schemas)]
  return [kind === 'array' ? { type: kind, items: {} } : { type: kind }]
}

/** Returns the named variants of a nested union. */
function flattenUnion(variant: JsonMap, resolve: VariantResolver): JsonMap[] {
  const { oneOf, anyOf } = resolve(variant)
  const inner = listOf(oneOf ?? anyOf).map(mapOf)
  const isKept =
    inner.length === 0 || inner.some((one) => one.$ref === undefined) || !areDistinguishable(inner, resolve)
  return isKept ? [variant] : inner.flatMap((one) => flattenUnion(one, resolve))
}

/** Whether each two variants have a property with different enumerated texts. */
function areDistinguishable(variants: readonly JsonMap[], resolve: VariantResolver): boolean {
  const tags = variants.map((one) => listTags(resolve(one), resolve))
  return tags.every((one, at) =>
    tags.slice(at + 1).every((other) => [...one].some(([name, texts]) => areDisjoint(texts, other.get(name)))),
  )
}

function areDisjoint(texts: readonly string[], others: readonly string[] | undefined): boolean {
  return others?.every((one) => !texts.includes(one)) ?? false
}

/** Returns the required properties with enumerated texts, of an object or of all variants of a union. */
function listTags(schema: JsonMap, resolve: VariantResolver): Map<string, string[]> {
  const parts = listOf(schema.oneOf ?? schema.anyOf).map((one) => listTags(resolve(one), resolve))
  const tags = new Map<string, string[]>()
  for (const name of parts[0]?.keys() ?? []) {
    const texts = parts.map((one) => one.get(name) ?? null)
    if (!texts.includes(null)) tags.set(name, [...new Set(texts.flatMap((one) => one!))])
  }
  for (const [name, property] of Object.entries(mapOf(schema.properties))) {
    const texts = listEnumeratedTexts(resolve(property))
    if (texts !== null && listOf(schema.required).includes(name)) tags.set(name, texts)
  }
  return tags
}

/** Returns the values that a schema enumerates, or its constant. Empty where it has neither. */
export function listEnumeratedValues(schema: JsonMap): Json[] {
  return schema.const === undefined ? listOf(schema.enum) : [schema.const]
}

/** Returns the texts that a schema enumerates. Null where it has no enumeration, or one with other values. */
export function listEnumeratedTexts(schema: JsonMap): string[] | null {
  const values = listEnumeratedValues(schema)
  const isText = values.length > 0 && values.every((value) => typeof value === 'string')
  return isText ? values.map(textOf) : null
}
