// The schemas of a document, each replaced by what is made of it.
import { isMap, type Json, type JsonMap, mapOf } from './json.ts'

/** What becomes of a schema that stands at `path`: the names and keywords that lead to it from the document. */
export type ChangeSchema = (schema: JsonMap, path: readonly string[]) => Json

const ONE = new Set(['items', 'additionalProperties', 'propertyNames', 'not', 'if', 'then', 'else'])
const MANY = new Set(['oneOf', 'anyOf', 'allOf'])
/** Keys whose value is data. */
const LITERALS = new Set(['example', 'examples', 'default', 'const', 'enum', 'value'])

/** A copy of a document in which each outermost schema is changed. */
export function mapSchemas(document: JsonMap, change: ChangeSchema): JsonMap {
  const components = mapOf(document.components)
  const schemas = mapEach(mapOf(components.schemas), (schema, name) =>
    isMap(schema) ? change(schema, ['components', 'schemas', name]) : schema,
  )
  const { components: _, ...rest } = document
  const { schemas: __, ...others } = components
  const copy = mapOf(search(rest, [], change))
  if (document.components === undefined) return copy
  const shared = { ...mapOf(search(others, ['components'], change)), ...(components.schemas ? { schemas } : {}) }
  return inOrderOf(document, { ...copy, components: inOrderOf(components, shared) })
}

function search(value: Json, path: readonly string[], change: ChangeSchema): Json {
  if (Array.isArray(value)) return value.map((item, at) => search(item, [...path, String(at)], change))
  if (!isMap(value)) return value
  return mapEach(value, (member, key) => {
    const at = [...path, key]
    if ((key === 'schema' || key === 'payload') && isMap(member)) return change(member, at)
    return LITERALS.has(key) ? member : search(member, at, change)
  })
}

/** A copy of a schema whose parts are changed, and nothing else. */
export function mapParts(schema: JsonMap, path: readonly string[], change: ChangeSchema): JsonMap {
  const one = (part: Json, ...more: string[]) => (isMap(part) ? change(part, [...path, ...more]) : part)
  return mapEach(schema, (member, key) => {
    if (ONE.has(key)) return one(member, key)
    if (MANY.has(key) && Array.isArray(member)) return member.map((part, at) => one(part, key, String(at)))
    if (key === 'properties') return mapEach(mapOf(member), (part, name) => one(part, key, name))
    return member
  })
}

function mapEach(map: JsonMap, change: (member: Json, key: string) => Json): JsonMap {
  return Object.fromEntries(Object.entries(map).map(([key, member]) => [key, change(member, key)]))
}

function inOrderOf(model: JsonMap, map: JsonMap): JsonMap {
  return Object.fromEntries(Object.keys(model).map((key) => [key, map[key]!]))
}
