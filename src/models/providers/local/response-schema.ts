// Converts JSON schemas for local models. The runtime makes a grammar of a schema and ignores unknown keywords, so unknown keywords are refused
// here.

import { isRecord } from '../../../shared/record.ts'
import type { CompletionRequest } from '../../provider.ts'
import { ProviderError } from '../../provider-error.ts'

type ResponseFormat = NonNullable<CompletionRequest['response_format']>

const RESPONSE_FORMAT_PARAM = 'response_format'
const MAX_DEPTH = 64
/** Nested schemas, values and names in a schema. All are converted in one go, and a grammar with more is useless. */
const MAX_PARTS = 10_000
/** JSON has seven types. */
const MAX_TYPES = 7

/** Keywords that the runtime enforces, or that do not constrain the value. */
const SUPPORTED_KEYWORDS = new Set([
  'type',
  'enum',
  'const',
  'oneOf',
  'anyOf',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  '$ref',
  '$defs',
  '$schema',
  'title',
  'description',
])

const SCALAR_TYPES = new Set<unknown>(['number', 'integer', 'boolean', 'null'])
const DEFINITION_PREFIX = '#/$defs/'

/** Gives the schema for the runtime, `any` for any JSON object, null for text. @throws ProviderError `unsupported` */
export function createLocalSchema(format: ResponseFormat | null): object | 'any' | null {
  if (format === null || format.type === 'text') return null
  if (format.type === 'json_object') return 'any'
  const { schema } = format.json_schema
  const place = {
    path: `${RESPONSE_FORMAT_PARAM}.json_schema.schema`,
    depth: 0,
    definitions: null,
    remaining: { parts: MAX_PARTS },
  }
  return schema ? convertSchema(schema, place) : 'any'
}

interface SchemaPosition {
  readonly path: string
  readonly depth: number
  /** The definitions that a `$ref` may name. */
  readonly definitions: SchemaDefinitions | null
  /** How many more parts the whole schema may have. */
  readonly remaining: { parts: number }
}

/** Definitions by name, and those of the enclosing schemas. */
interface SchemaDefinitions {
  readonly own: Record<string, unknown>
  readonly outer: SchemaDefinitions | null
}

function convertSchema(schema: unknown, place: SchemaPosition): object {
  if (!isRecord(schema) || place.depth > MAX_DEPTH) throw createUnsupportedPartError(place.path)
  countParts(1, place)
  for (const key of Object.keys(schema))
    if (!SUPPORTED_KEYWORDS.has(key)) throw createUnsupportedPartError(`${place.path}.${key.slice(0, 64)}`)
  const { $schema, title, description, $defs = {}, ...said } = schema
  if (!isRecord($defs)) throw createUnsupportedPartError(`${place.path}.$defs`)
  const within = { ...place, definitions: { own: $defs, outer: place.definitions } }
  const definitions = convertEach($defs, positionBelow(within, '$defs'))
  return {
    ...convertValueSchema(said, within),
    ...(Object.keys(definitions).length === 0 ? {} : { $defs: definitions }),
  }
}

/** The constraints of a value. The runtime enforces only one kind of them, so a mix is refused. */
function convertValueSchema(said: Record<string, unknown>, place: SchemaPosition): object {
  const { $ref, anyOf, oneOf = anyOf, type } = said
  const keys = Object.keys(said)
  if ($ref !== undefined || oneOf !== undefined) {
    if (keys.length > 1)
      throw createUnsupportedPartError(
        `${place.path}.${keys.find((key) => !/^(\$ref|anyOf|oneOf)$/.test(key)) ?? keys[1]}`,
      )
    return $ref === undefined ? { oneOf: convertVariants(oneOf, place) } : { $ref: requireReference($ref, place) }
  }
  if (Array.isArray(type) && type.length > MAX_TYPES) throw createUnsupportedPartError(`${place.path}.type`)
  const literals = said.enum ?? (said.const === undefined ? undefined : [said.const])
  if (literals !== undefined) {
    if (!Array.isArray(literals) || literals.length === 0 || !literals.every(isLiteral))
      throw createUnsupportedPartError(place.path)
    countParts(literals.length, place)
    const kinds = type === undefined ? null : [type].flat()
    const fits = (value: unknown) => kinds === null || kinds.some((kind) => isOfType(value, kind))
    if (!literals.every(fits)) throw createUnsupportedPartError(`${place.path}.type`)
    return { enum: literals }
  }
  if (Array.isArray(type) && type.length > 0)
    return { oneOf: type.map((one) => convertTypedSchema({ ...said, type: one }, place)) }
  return convertTypedSchema(said, place)
}

function convertTypedSchema(said: Record<string, unknown>, place: SchemaPosition): object {
  const { type, required, properties, items, additionalProperties, minItems, maxItems, minLength, maxLength } = said
  guardLimits({ minLength, maxLength, minItems, maxItems }, place)
  if (type === 'string') return { type, ...dropUndefined({ minLength, maxLength }) }
  if (type === 'array') {
    const of = items === undefined ? undefined : convertSchema(items, positionBelow(place, 'items'))
    return { type, ...dropUndefined({ minItems, maxItems, items: of }) }
  }
  if (type !== 'object') {
    if (!SCALAR_TYPES.has(type)) throw createUnsupportedPartError(`${place.path}.type`)
    return { type }
  }
  guardRequired(properties, required, place)
  return {
    type,
    ...dropUndefined({
      properties: properties === undefined ? undefined : convertEach(properties, positionBelow(place, 'properties')),
      additionalProperties:
        additionalProperties === undefined || typeof additionalProperties === 'boolean'
          ? additionalProperties
          : convertSchema(additionalProperties, positionBelow(place, 'additionalProperties')),
    }),
  }
}

/** More items or characters than an answer can have. */
const MAX_LIMIT = 100_000

/** Refuses invalid or useless limits: the runtime would ignore them, or fail during the answer. */
function guardLimits(
  limits: Readonly<Record<'minLength' | 'maxLength' | 'minItems' | 'maxItems', unknown>>,
  { path }: SchemaPosition,
) {
  for (const [name, limit] of Object.entries(limits)) {
    const fits = limit === undefined || (Number.isSafeInteger(limit) && Number(limit) >= 0)
    if (!fits || Number(limit) > MAX_LIMIT) throw createUnsupportedPartError(`${path}.${name}`)
  }
  const { minLength, maxLength, minItems, maxItems } = limits
  if (Number(minLength) > Number(maxLength)) throw createUnsupportedPartError(`${path}.maxLength`)
  if (Number(minItems) > Number(maxItems)) throw createUnsupportedPartError(`${path}.maxItems`)
}

function dropUndefined(members: Record<string, unknown>): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}

function convertVariants(given: unknown, place: SchemaPosition): object[] {
  if (!Array.isArray(given) || given.length === 0) throw createUnsupportedPartError(place.path)
  return given.map((one, at) => convertSchema(one, positionBelow(place, `oneOf[${at}]`)))
}

function requireReference(given: unknown, { path, definitions }: SchemaPosition): string {
  const name = String(given).startsWith(DEFINITION_PREFIX) ? String(given).slice(DEFINITION_PREFIX.length) : null
  if (name === null || !isDefined(name, definitions)) throw createUnsupportedPartError(`${path}.$ref`)
  return String(given)
}

function isDefined(name: string, definitions: SchemaDefinitions | null): boolean {
  for (let scope = definitions; scope; scope = scope.outer) if (Object.hasOwn(scope.own, name)) return true
  return false
}

function convertEach(given: unknown, place: SchemaPosition): Record<string, object> {
  if (!isRecord(given)) throw createUnsupportedPartError(place.path)
  return Object.fromEntries(
    Object.entries(given).map(([name, one]) => [name, convertSchema(one, positionBelow(place, name))]),
  )
}

function positionBelow(place: SchemaPosition, key: string): SchemaPosition {
  return { ...place, path: `${place.path}.${key.slice(0, 64)}`, depth: place.depth + 1 }
}

function isOfType(value: unknown, kind: unknown): boolean {
  if (kind === 'null') return value === null
  return kind === 'integer' ? Number.isInteger(value) : typeof value === kind
}

function isLiteral(value: unknown): boolean {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value)
}

/** The runtime writes every listed property, so optional ones need no care; it never writes an unlisted property, which must not be required. */
function guardRequired(properties: unknown, required: unknown, place: SchemaPosition): void {
  if (required === undefined) return
  if (Array.isArray(required)) countParts(required.length, place)
  const known = isRecord(properties) ? properties : {}
  const missing = !Array.isArray(required) || required.some((name) => !Object.hasOwn(known, String(name)))
  if (missing) throw createUnsupportedPartError(`${place.path}.required`)
}

function createUnsupportedPartError(param: string): ProviderError {
  return new ProviderError('unsupported', 'Local models cannot follow this part of the schema.', { param })
}

/** @throws ProviderError `unsupported` where there are too many together */
function countParts(parts: number, { remaining }: SchemaPosition): void {
  remaining.parts -= parts
  if (remaining.parts >= 0) return
  const text = `Local models cannot follow a schema of more than ${MAX_PARTS.toLocaleString('en')} parts.`
  throw new ProviderError('unsupported', text, { param: `${RESPONSE_FORMAT_PARAM}.json_schema.schema` })
}
