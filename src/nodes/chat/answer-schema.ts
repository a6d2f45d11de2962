// JSON schemas of answers: the engine types of their properties, the handles of a node that are properties, and whether a schema is strict.

import type { OutputValues } from '../../engine/node-api/firing-forms.ts'
import type { NodeContext } from '../../engine/node-api/node-context.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import { conforms } from '../../engine/node-api/values/type-conformance.ts'
import {
  ANY_TYPE,
  createEnumType,
  formatType,
  isAssignable,
  parseType,
  type TypeMetadata,
} from '../../engine/node-api/values/type-metadata.ts'
import { abbreviate } from '../shared/value-limits.ts'

export type JsonSchema = Readonly<Record<string, unknown>>

/** The most properties that an error lists. */
const MOST_LISTED_PROPERTIES = 20

const TYPES_BY_SCHEMA_TYPE: Readonly<Record<string, TypeMetadata>> = {
  string: parseType('str'),
  integer: parseType('int'),
  number: parseType('float'),
  boolean: parseType('bool'),
  array: parseType('list'),
  object: parseType('dict'),
}

export function isJsonSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function readSchemaProperties({ properties }: JsonSchema): JsonSchema {
  return isJsonSchema(properties) ? properties : {}
}

/** The engine type of the values that a schema allows, if the schema is simple. Null among them is ignored. */
export function schemaToType(schema: unknown): TypeMetadata {
  if (!isJsonSchema(schema)) return ANY_TYPE
  const { type, items } = schema
  const types = (Array.isArray(type) ? type : [type]).filter((one) => one !== 'null')
  const [only] = types
  if (types.length !== 1 || typeof only !== 'string' || !Object.hasOwn(TYPES_BY_SCHEMA_TYPE, only)) return ANY_TYPE
  if (only === 'array') return { ...parseType('list'), type_args: [schemaToType(items)] }
  return enumToType(schema) ?? TYPES_BY_SCHEMA_TYPE[only]!
}

function enumToType({ enum: values }: JsonSchema): TypeMetadata | null {
  if (!Array.isArray(values) || values.length === 0) return null
  const texts = values.filter((one) => one !== null)
  return texts.every((one) => typeof one === 'string') ? createEnumType(...texts) : null
}

/**
 * The handles of a node that its type does not declare. Each must be a property of the schema, with a compatible type. @throws NodeError
 * `bad_schema`
 */
export function resolvePropertyHandles(
  { outputs }: NodeContext,
  own: readonly string[],
  properties: JsonSchema,
): string[] {
  const names = [...outputs.keys()].filter((name) => !own.includes(name))
  for (const name of names) {
    if (!Object.hasOwn(properties, name)) {
      const known = Object.keys(properties)
      const more = known.length > MOST_LISTED_PROPERTIES ? ` and ${known.length - MOST_LISTED_PROPERTIES} more` : ''
      const listed = known.slice(0, MOST_LISTED_PROPERTIES).map(abbreviate).join(', ') + more
      throw new NodeError(
        `The output "${abbreviate(name)}" is not a property of the schema. Its properties are ${listed}.`,
        'bad_schema',
      )
    }
    const [given, declared] = [schemaToType(properties[name]), outputs.get(name)!.type]
    if (isAssignable(given, declared)) continue
    const text = `The output "${abbreviate(name)}" is declared as ${abbreviate(formatType(declared))}, but the schema gives ${abbreviate(formatType(given))}.`
    throw new NodeError(text, 'bad_schema')
  }
  return names
}

/** The value of each handle. A missing value gives no output, and so does null if the type of the handle has no null. */
export function spreadToHandles(value: JsonSchema, names: readonly string[], { outputs }: NodeContext): OutputValues {
  const given = names.filter((name) => {
    if (!Object.hasOwn(value, name)) return false
    return value[name] !== null || conforms(null, outputs.get(name)!.type)
  })
  return Object.fromEntries(given.map((name) => [name, value[name]]))
}

/** All keywords that providers accept for strict schemas. They refuse schemas with others, such as bounds. */
const STRICT_KEYWORDS: readonly string[] = [
  ...['type', 'properties', 'required', 'additionalProperties', 'items', 'enum', 'const', 'anyOf', '$defs', '$ref'],
  ...['title', 'description'],
]

/** Whether a schema is strict: providers demand that all properties of each object are required and that others are forbidden. */
export function isStrictSchema(schema: unknown): boolean {
  if (!isJsonSchema(schema) || !Object.keys(schema).every((key) => STRICT_KEYWORDS.includes(key))) return false
  const { type, properties, required, additionalProperties, items, anyOf, $defs } = schema
  const names = Object.keys(readSchemaProperties(schema))
  const isClosed =
    additionalProperties === false && Array.isArray(required) && names.every((name) => required.includes(name))
  if ((type === 'object' || properties !== undefined) && !isClosed) return false
  const inner = [
    ...(items === undefined ? [] : [items]),
    ...(Array.isArray(anyOf) ? anyOf : []),
    ...Object.values(readSchemaProperties(schema)),
    ...(isJsonSchema($defs) ? Object.values($defs) : []),
  ]
  return inner.every(isStrictSchema)
}
