// Restores the exact schemas of a published document. Published documents contain schemas that client generators understand. Where such a
// schema is too loose, `x-svc-rule` holds the exact one.
import { isMap, type Json, type JsonMap, mapOf } from './json.ts'
import { mapParts, mapSchemas } from './schema-mapping.ts'

/** The exact schema, which replaces its neighbours for validation. */
export const EXACT_SCHEMA_KEY = 'x-svc-rule'
/** Marks a schema that only generators use. No validation refers to it. */
export const ADDED_SCHEMA_KEY = 'x-svc-added'
/** The format of integers that may need more than 32 bits. The contract has no formats for numbers. */
export const WIDE_INTEGER_FORMAT = 'int64'
/** Keywords that name a schema for generators and do not restrict values. */
const NAMING_KEYWORDS = new Set(['title', 'x-enum-varnames'])

/** Returns the document with its exact schemas. */
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
