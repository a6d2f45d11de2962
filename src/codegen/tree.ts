// JSON pointers into plain JSON trees (RFC 6901), beside what publications are read with.
import { isMap, type Json, type JsonMap, listOf, mapOf, referenceOf, textOf } from '../contract/json.ts'

export { isMap, type Json, type JsonMap, listOf, mapOf, referenceOf, textOf }

/** Appends a member's name to a pointer. */
export function child(pointer: string, key: string | number): string {
  return `${pointer}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`
}

/** The member names of a pointer. */
export function segments(pointer: string): string[] {
  if (pointer === '') return []
  return pointer
    .slice(1)
    .split('/')
    .map((segment) => decodeURIComponent(segment).replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** What a pointer names, or undefined. */
export function lookUp(root: Json | undefined, pointer: string): Json | undefined {
  let value = root
  for (const segment of segments(pointer)) {
    if (Array.isArray(value)) value = value[Number(segment)]
    else if (isMap(value) && Object.hasOwn(value, segment)) value = value[segment]
    else return undefined
  }
  return value
}

const SCHEMAS = '#/components/schemas/'

export function schemaReference(name: string): JsonMap {
  return { $ref: SCHEMAS + name }
}

/** The name of the component schema that a node refers to, or null. */
export function schemaName(value: Json | undefined): string | null {
  const reference = referenceOf(value)
  return reference?.startsWith(SCHEMAS) ? reference.slice(SCHEMAS.length) : null
}

/** A node, or what it refers to within the document. */
export function resolved(document: JsonMap, value: Json | undefined): JsonMap {
  const reference = referenceOf(value)
  return mapOf(reference?.startsWith('#') ? lookUp(document, reference.slice(1)) : value)
}

/** A map with its keys in alphabetical order. */
export function sorted<T>(map: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)))
}
