// JSON pointers into plain JSON trees (RFC 6901), and helpers of `contract/json.ts`.
import { isMap, type Json, type JsonMap, listOf, mapOf, readReference, textOf } from '../../contract/json.ts'

export { isMap, type Json, type JsonMap, listOf, mapOf, readReference, textOf }

/** Appends a member's name to a pointer. */
export function appendToPointer(pointer: string, key: string | number): string {
  return `${pointer}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`
}

/** The member names of a pointer. */
export function parsePointer(pointer: string): string[] {
  if (pointer === '') return []
  return pointer
    .slice(1)
    .split('/')
    .map((segment) => decodeURIComponent(segment).replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** Returns the value that a pointer names, or undefined. */
export function followPointer(root: Json | undefined, pointer: string): Json | undefined {
  let value = root
  for (const segment of parsePointer(pointer)) {
    if (Array.isArray(value)) value = value[Number(segment)]
    else if (isMap(value) && Object.hasOwn(value, segment)) value = value[segment]
    else return undefined
  }
  return value
}

const SCHEMA_PREFIX = '#/components/schemas/'

export function createSchemaReference(name: string): JsonMap {
  return { $ref: SCHEMA_PREFIX + name }
}

/** Returns the name of the component schema that a node refers to, or null. */
export function readSchemaName(value: Json | undefined): string | null {
  const reference = readReference(value)
  return reference?.startsWith(SCHEMA_PREFIX) ? reference.slice(SCHEMA_PREFIX.length) : null
}

/** Returns a node, or the target of its reference within the document. */
export function resolveToMap(document: JsonMap, value: Json | undefined): JsonMap {
  const reference = readReference(value)
  return mapOf(reference?.startsWith('#') ? followPointer(document, reference.slice(1)) : value)
}

/** Returns a map with its keys in alphabetical order. */
export function sortKeys<T>(map: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)))
}
