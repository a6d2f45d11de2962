// The schemas of a document, each replaced by what is made of it.
import { isMap, type Json, type JsonMap, mapOf } from './json.ts'

/** Keywords whose value is one schema. */
export const SINGLE_SCHEMA_KEYWORDS = ['items', 'additionalProperties', 'propertyNames', 'not', 'if', 'then', 'else']
/** Keywords whose value is a list of schemas. */
export const SCHEMA_LIST_KEYWORDS = ['oneOf', 'anyOf', 'allOf']
/** Keys whose value is data. */
const LITERAL_KEYWORDS = new Set(['example', 'examples', 'default', 'const', 'enum', 'value'])

/** A copy of a document in which each outermost schema is changed. `path`: the names that lead to it. */
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

/** A copy of a schema whose parts are changed, and nothing else. */
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
