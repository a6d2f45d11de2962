// Maps all schemas of a document.
import { isMap, type Json, type JsonMap, mapOf } from './json.ts'

/** Keywords whose value is one schema. */
export const SINGLE_SCHEMA_KEYWORDS = ['items', 'additionalProperties', 'propertyNames', 'not', 'if', 'then', 'else']
/** Keywords whose value is a list of schemas. */
export const SCHEMA_LIST_KEYWORDS = ['oneOf', 'anyOf', 'allOf']
/** Keywords whose value is data, not a schema. */
const LITERAL_KEYWORDS = new Set(['example', 'examples', 'default', 'const', 'enum', 'value'])

/** Copies a document and changes each outermost schema. `path`: the names that lead to the schema. */
export function mapSchemas(document: JsonMap, change: (schema: JsonMap, path: readonly string[]) => Json): JsonMap {
  const changed = (value: Json, path: readonly string[]): Json => {
    if (Array.isArray(value)) return value.map((item, at) => changed(item, [...path, String(at)]))
    if (!isMap(value)) return value
    const isShared = path.join() === 'components,schemas'
    return mapMembers(value, (member, key) => {
      const at = [...path, key]
      if ((isShared || key === 'schema' || key === 'payload') && isMap(member)) return change(member, at)
      return LITERAL_KEYWORDS.has(key) ? member : changed(member, at)
    })
  }
  return mapOf(changed(document, []))
}

/** Copies a schema and changes only its parts. */
export function mapParts(schema: JsonMap, change: (part: JsonMap) => Json): JsonMap {
  const one = (part: Json) => (isMap(part) ? change(part) : part)
  return mapMembers(schema, (member, key) => {
    if (SINGLE_SCHEMA_KEYWORDS.includes(key)) return one(member)
    if (SCHEMA_LIST_KEYWORDS.includes(key) && Array.isArray(member)) return member.map(one)
    return key === 'properties' ? mapMembers(mapOf(member), one) : member
  })
}

function mapMembers(map: JsonMap, change: (member: Json, key: string) => Json): JsonMap {
  return Object.fromEntries(Object.entries(map).map(([key, member]) => [key, change(member, key)]))
}
