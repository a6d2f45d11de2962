// Plain JSON trees of a publication, and references within one document.

export type Json = null | boolean | number | string | Json[] | JsonMap

export interface JsonMap {
  [key: string]: Json
}

export function isMap(value: unknown): value is JsonMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value as a map. An empty map where it is none. */
export function mapOf(value: Json | undefined): JsonMap {
  return isMap(value) ? value : {}
}

export function listOf(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : []
}

export function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

export function readReference(value: Json | undefined): string | null {
  return isMap(value) && typeof value.$ref === 'string' ? value.$ref : null
}

/** Resolves references within the document. A dangling or circular reference resolves to nothing. */
export function resolveReference(document: JsonMap, value: Json | undefined): Json | undefined {
  let current = value
  for (let steps = 0; steps < 32; steps++) {
    const reference = readReference(current)
    if (reference === null) return current
    current = lookUpReference(document, reference)
  }
  return undefined
}

/** A cache: thousands of references lead to a few places. */
const resolvedReferences = new WeakMap<JsonMap, Map<string, Json | undefined>>()

function lookUpReference(document: JsonMap, reference: string): Json | undefined {
  const known = resolvedReferences.get(document) ?? new Map<string, Json | undefined>()
  resolvedReferences.set(document, known)
  if (!known.has(reference)) known.set(reference, followPointer(document, reference))
  return known.get(reference)
}

function followPointer(document: JsonMap, reference: string): Json | undefined {
  if (!reference.startsWith('#')) return undefined
  let value: Json | undefined = document
  for (const segment of reference.slice(1).split('/').slice(1)) {
    const key = segment.replaceAll('~1', '/').replaceAll('~0', '~')
    value =
      isMap(value) && Object.hasOwn(value, key) ? value[key] : Array.isArray(value) ? value[Number(key)] : undefined
  }
  return value
}

/** Equal values have one canonical text, whatever the order of their keys. */
export function canonicalJson(value: Json | undefined): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`
  if (!isMap(value)) return value === undefined ? '' : JSON.stringify(value)
  const members = Object.keys(value).sort()
  return `{${members.map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`).join()}}`
}

/** The names of both maps, sorted. */
export function unionOfKeys(a: JsonMap, b: JsonMap): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].sort()
}
