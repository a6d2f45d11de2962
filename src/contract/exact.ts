// The exact schemas of a published document. Generators of clients are given schemas that they understand; where those say less than what
// holds, the exact one stands beside them as `x-svc-rule`.
import { isMap, type Json, type JsonMap, mapOf } from './json.ts'
import { mapParts, mapSchemas } from './map-schemas.ts'

/** What a schema is replaced by where something is judged by it. */
export const RULE = 'x-svc-rule'
/** What marks a schema that only generators are given: where something is judged, nothing refers to it. */
export const ADDED = 'x-svc-added'
/** The format of integers that may need more than 32 bits. The contract has no formats for numbers. */
export const WIDTH = 'int64'
/** What names a schema for generators, and says nothing of values. */
const NAMES = new Set(['title', 'x-enum-varnames'])

/** A document whose schemas say all that holds, as they are written. */
export function exact(document: JsonMap): JsonMap {
  const judged = mapSchemas(document, exactSchema)
  const components = mapOf(judged.components)
  if (components.schemas === undefined) return judged
  const schemas = Object.entries(mapOf(components.schemas)).filter(([, schema]) => mapOf(schema)[ADDED] !== true)
  return { ...judged, components: { ...components, schemas: Object.fromEntries(schemas) } }
}

function exactSchema(schema: JsonMap): Json {
  if (isMap(schema[RULE])) return schema[RULE]
  const said = Object.entries(schema).filter(
    ([key, value]) => !NAMES.has(key) && !(key === 'format' && value === WIDTH),
  )
  return mapParts(Object.fromEntries(said), exactSchema)
}
