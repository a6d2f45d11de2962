// The exact schemas of a published document. Generators of clients are given schemas that they understand; where those say less than what
// holds, the exact one stands beside them as `x-svc-rule`.
import { isMap, type Json, type JsonMap } from './json.ts'
import { mapParts, mapSchemas } from './map-schemas.ts'

/** What a schema is replaced by where something is judged by it. */
export const RULE = 'x-svc-rule'
/** What names a schema for generators, and says nothing of values. */
const NAMES = new Set(['title', 'x-enum-varnames'])

/** A document whose schemas say all that holds, as they are written. */
export function exact(document: JsonMap): JsonMap {
  return mapSchemas(document, (schema) => exactSchema(schema))
}

function exactSchema(schema: JsonMap): Json {
  if (isMap(schema[RULE])) return schema[RULE]
  const named = Object.entries(schema).filter(([key]) => !NAMES.has(key))
  return mapParts(Object.fromEntries(named), exactSchema)
}
