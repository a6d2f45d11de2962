// Where schemas stand: inside one another, and inside a document.
import { child, isMap, type Json, type JsonMap } from './tree.ts'

export type VisitSchema = (schema: Json, pointer: string) => void

const ONE = ['items', 'additionalProperties', 'propertyNames', 'not', 'if', 'then', 'else']
const MANY = ['oneOf', 'anyOf', 'allOf']

/** Visits a schema and every schema inside it, without following references. */
export function walkSchema(schema: Json, pointer: string, visit: VisitSchema): void {
  visit(schema, pointer)
  if (!isMap(schema)) return
  for (const key of ONE) {
    if (isMap(schema[key])) walkSchema(schema[key], child(pointer, key), visit)
  }
  for (const key of MANY) {
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

const LITERALS = new Set(['example', 'examples', 'default', 'const', 'enum', 'value'])

/** Visits the schemas that a document writes in place: those of parameters, headers, bodies and payloads. */
export function walkInlineSchemas(document: JsonMap, visit: VisitSchema): void {
  const { components, ...rest } = document
  const { schemas: _shared, ...others } = isMap(components) ? components : {}
  search(rest, '', visit)
  search(others, '/components', visit)
}

function search(value: Json, pointer: string, visit: VisitSchema): void {
  if (Array.isArray(value)) {
    value.forEach((item, index) => {
      search(item, child(pointer, index), visit)
    })
  } else if (isMap(value)) {
    for (const [key, member] of Object.entries(value)) {
      const at = child(pointer, key)
      if ((key === 'schema' || key === 'payload') && isMap(member)) walkSchema(member, at, visit)
      else if (!LITERALS.has(key)) search(member, at, visit)
    }
  }
}
