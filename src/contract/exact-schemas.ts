// The exact schemas of a published document. Generators of clients are given schemas that they understand; where those say less than what
// holds, the exact one stands beside them as `x-svc-rule`.
import { isMap, type Json, type JsonMap, mapOf } from './json.ts'
import { mapParts, mapSchemas } from './schema-mapping.ts'

/** What a schema is replaced by where something is judged by it. */
export const EXACT_SCHEMA_KEY = 'x-svc-rule'
/** What marks a schema that only generators are given: where something is judged, nothing refers to it. */
export const ADDED_SCHEMA_KEY = 'x-svc-added'
/** The format of integers that may need more than 32 bits. The contract has no formats for numbers. */
export const WIDE_INTEGER_FORMAT = 'int64'
/** What names a schema for generators, and says nothing of values. */
const NAMING_KEYWORDS = new Set(['title', 'x-enum-varnames'])

/** A document whose schemas say all that holds, as they are written. */
export function restoreExactSchemas(document: JsonMap): JsonMap {
  const judged = mapSchemas(document, restoreExactSchema)
  const components = mapOf(judged.components)
  if (components.schemas === undefined) return judged
  const schemas = Object.entries(mapOf(components.schemas)).filter(
    ([, schema]) => mapOf(schema)[ADDED_SCHEMA_KEY] !== true,
  )
  return { ...judged, components: { ...components, schemas: Object.fromEntries(schemas) } }
}

function restoreExactSchema(schema: JsonMap): Json {
  if (isMap(schema[EXACT_SCHEMA_KEY])) return schema[EXACT_SCHEMA_KEY]
  const said = Object.entries(schema).filter(
    ([key, value]) => !NAMING_KEYWORDS.has(key) && !(key === 'format' && value === WIDE_INTEGER_FORMAT),
  )
  return mapParts(Object.fromEntries(said), restoreExactSchema)
}
