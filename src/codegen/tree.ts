// Plain JSON trees: their types, and JSON pointers into them (RFC 6901).

export type Json = null | boolean | number | string | Json[] | JsonMap

export interface JsonMap {
  [key: string]: Json
}

export function isMap(value: unknown): value is JsonMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value as a map; an empty one where it is none. */
export function mapOf(value: Json | undefined): JsonMap {
  return isMap(value) ? value : {}
}

export function listOf(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : []
}

export function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

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

/** The reference of a node that is one. */
export function referenceOf(value: Json | undefined): string | null {
  return isMap(value) && typeof value.$ref === 'string' ? value.$ref : null
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
