// Where schemas stand: inside one another, and inside a document.
import { mapSchemas, ONE_SCHEMA, SCHEMA_LISTS } from '../contract/map-schemas.ts'
import { child, isMap, type Json, type JsonMap, mapOf } from './tree.ts'

export type VisitSchema = (schema: Json, pointer: string) => void

/** Visits a schema and every schema inside it, without following references. */
export function walkSchema(schema: Json, pointer: string, visit: VisitSchema): void {
  visit(schema, pointer)
  if (!isMap(schema)) return
  for (const key of ONE_SCHEMA) {
    if (isMap(schema[key])) walkSchema(schema[key], child(pointer, key), visit)
  }
  for (const key of SCHEMA_LISTS) {
    const list = schema[key]
    if (!Array.isArray(list)) continue
    list.forEach((member, index) => {
      walkSchema(member, child(child(pointer, key), index), visit)
    })
  }
  if (!isMap(schema.properties)) return
  for (const [name, property] of Object.entries(schema.properties))
    walkSchema(property, child(child(pointer, 'properties'), name), visit)
}

/** Visits the schemas that a document writes in place: those of parameters, headers, bodies and payloads. */
export function walkInlineSchemas(document: JsonMap, visit: VisitSchema): void {
  const { schemas: _shared, ...components } = mapOf(document.components)
  mapSchemas({ ...document, components }, (schema, path) => {
    walkSchema(schema, path.reduce(child, ''), visit)
    return schema
  })
}
