// The contract's schemas for the suite. Valid instances come from the examples. Invalid ones are valid ones with one change.
import { readFileSync } from 'node:fs'
import { restoreExactSchemas } from '../../contract/exact-schemas.ts'
import { isMap, type JsonMap, listOf, mapOf } from './json.ts'

/** The contract's documents. They belong to the suite; the documents of a server are only claims. */
export const openapiDocument = readJson('openapi.json')
export const asyncapiDocument = readJson('asyncapi.json')

function readJson(name: string): JsonMap {
  return restoreExactSchemas(JSON.parse(readFileSync(new URL(`../../../generated/${name}`, import.meta.url), 'utf8')))
}

export type SchemaMutation = 'missing-required' | 'wrong-type' | 'unknown-property' | 'out-of-bounds' | 'null'

export interface InvalidInstance {
  kind: SchemaMutation
  /** The changed position, as a JSON pointer into the instance. */
  at: string
  value: unknown
}

/** Resolves references and merges `allOf` and `oneOf: [schema, null]`, as far as the keywords of one object allow it. */
export function resolveSchema(schema: unknown, document: JsonMap = openapiDocument): JsonMap {
  const map = mapOf(schema)
  if (typeof map.$ref === 'string') return resolveSchema(followPointer(document, map.$ref), document)
  if (Array.isArray(map.allOf)) {
    const parts = map.allOf.map((part) => resolveSchema(part, document))
    return { ...Object.assign({}, ...parts), ...map, properties: mergeMembers(parts, 'properties'), allOf: undefined }
  }
  const variants = listOf(map.oneOf)
  const others = variants.filter((variant) => mapOf(variant).type !== 'null')
  if (others.length === 1 && variants.length === 2) return { ...resolveSchema(others[0], document), nullable: true }
  return map
}

function mergeMembers(parts: readonly JsonMap[], key: string): JsonMap {
  return Object.assign({}, ...parts.map((part) => mapOf(part[key])))
}

function followPointer(document: JsonMap, reference: string): unknown {
  let value: unknown = document
  for (const segment of reference.slice(2).split('/')) value = mapOf(value)[segment.replaceAll('~1', '/')]
  return value
}

function listTypes(schema: JsonMap): string[] {
  const types = typeof schema.type === 'string' ? [schema.type] : listOf(schema.type).map(String)
  return schema.nullable === true ? [...types, 'null'] : types
}

export function isNullable(schema: JsonMap): boolean {
  const free = schema.type === undefined && schema.enum === undefined && schema.const === undefined
  return (
    (free && schema.oneOf === undefined) || listTypes(schema).includes('null') || listOf(schema.enum).includes(null)
  )
}

/** Returns invalid instances, each with one change, at most two levels deep. */
export function createInvalidInstances(
  schema: unknown,
  valid: unknown,
  document: JsonMap = openapiDocument,
): InvalidInstance[] {
  const root = resolveSchema(schema, document)
  return [...mutateType(root, '', (value) => value), ...mutateMembers(root, valid, '', (value) => value, document, 2)]
}

type MemberReplacer = (value: unknown) => unknown

/** Yields an invalid instance for each keyword of an object's members. */
function* mutateMembers(
  schema: JsonMap,
  valid: unknown,
  at: string,
  put: MemberReplacer,
  document: JsonMap,
  depth: number,
): Generator<InvalidInstance> {
  if (!isMap(valid) || schema.properties === undefined || schema.oneOf !== undefined) return
  const required = listOf(schema.required).map(String)
  for (const key of required) {
    const { [key]: _, ...rest } = valid
    if (key in valid) yield { kind: 'missing-required', at: `${at}/${key}`, value: put(rest) }
  }
  if (schema.additionalProperties === false) {
    yield {
      kind: 'unknown-property',
      at: `${at}/conformance_unknown`,
      value: put({ ...valid, conformance_unknown: 1 }),
    }
  }
  for (const [key, member] of Object.entries(mapOf(schema.properties))) {
    const inner = resolveSchema(member, document)
    const place: MemberReplacer = (value) => put({ ...valid, [key]: value })
    yield* mutateType(inner, `${at}/${key}`, place)
    yield* mutateBounds(inner, `${at}/${key}`, place)
    if (depth > 1 && key in valid) yield* mutateMembers(inner, valid[key], `${at}/${key}`, place, document, depth - 1)
  }
}

const SAMPLE_VALUES: readonly [string, unknown][] = [
  ['string', 'conformance'],
  ['boolean', true],
  ['object', { conformance: true }],
  ['array', [[]]],
]

function* mutateType(schema: JsonMap, at: string, put: MemberReplacer): Generator<InvalidInstance> {
  const types = listTypes(schema)
  const values = listOf(schema.enum)
  if (types.length === 0 && values.length === 0 && schema.const === undefined) return
  const wrong = SAMPLE_VALUES.find(([type]) => !types.includes(type))
  if (wrong) yield { kind: 'wrong-type', at, value: put(wrong[1]) }
  if (!isNullable(schema)) yield { kind: 'null', at, value: put(null) }
}

function* mutateBounds(schema: JsonMap, at: string, put: MemberReplacer): Generator<InvalidInstance> {
  const types = listTypes(schema)
  for (const value of listOutOfBounds(schema, types)) yield { kind: 'out-of-bounds', at, value: put(value) }
}

/** Yields values of the right type outside the bounds. */
function* listOutOfBounds(schema: JsonMap, types: readonly string[]): Generator<unknown> {
  const { minimum, maximum, exclusiveMinimum, minLength, maxLength, maxItems } = schema
  const number = types.includes('integer') || types.includes('number')
  if (number && typeof minimum === 'number') yield minimum - 1
  if (number && typeof exclusiveMinimum === 'number') yield exclusiveMinimum
  if (number && typeof maximum === 'number' && Number.isSafeInteger(maximum + 1)) yield maximum + 1
  if (types.includes('integer')) yield 1.5
  if (typeof minLength === 'number' && minLength > 0) yield 'x'.repeat(minLength - 1)
  if (typeof maxLength === 'number' && maxLength < 100_000) yield 'x'.repeat(maxLength + 1)
  if (types.includes('string') && Array.isArray(schema.enum)) yield 'conformance_unknown'
  if (types.includes('array') && typeof maxItems === 'number' && maxItems <= 1_000) {
    yield Array.from({ length: maxItems + 1 }, (_, index) => `item-${index}`)
  }
}

/** Returns the optional properties of a request that allow null, each with null. */
export function createOptionalNulls(schema: unknown, document: JsonMap = openapiDocument): JsonMap {
  const { properties, required } = resolveSchema(schema, document)
  const names = new Set(listOf(required))
  const nulls = Object.entries(mapOf(properties)).filter(
    ([name, member]) => !names.has(name) && isNullable(resolveSchema(member, document)),
  )
  return Object.fromEntries(nulls.map(([name]) => [name, null]))
}
