// Walks through the schemas inside a schema, and inside a document.
import { mapSchemas, SCHEMA_LIST_KEYWORDS, SINGLE_SCHEMA_KEYWORDS } from '../../contract/schema-mapping.ts'
import { appendToPointer, isMap, type Json, type JsonMap, mapOf } from './json-pointer.ts'

export type SchemaVisitor = (schema: Json, pointer: string) => void

/** Visits a schema and all schemas inside it, without following references. */
export function walkSchema(schema: Json, pointer: string, visit: SchemaVisitor): void {
  visit(schema, pointer)
  if (!isMap(schema)) return
  for (const key of SINGLE_SCHEMA_KEYWORDS) {
    if (isMap(schema[key])) walkSchema(schema[key], appendToPointer(pointer, key), visit)
  }
  for (const key of SCHEMA_LIST_KEYWORDS) {
    const list = schema[key]
    if (!Array.isArray(list)) continue
    list.forEach((member, index) => {
      walkSchema(member, appendToPointer(appendToPointer(pointer, key), index), visit)
    })
  }
  if (!isMap(schema.properties)) return
  for (const [name, property] of Object.entries(schema.properties))
    walkSchema(property, appendToPointer(appendToPointer(pointer, 'properties'), name), visit)
}

/** Visits the schemas that a document writes in place: those of parameters, headers, bodies and payloads. */
export function walkInlineSchemas(document: JsonMap, visit: SchemaVisitor): void {
  const { schemas: _shared, ...components } = mapOf(document.components)
  mapSchemas({ ...document, components }, (schema, path) => {
    walkSchema(schema, path.reduce(appendToPointer, ''), visit)
    return schema
  })
}
