// Types of inputs and properties as JSON schemas, in the words that models are told of tools.
import type { TypeMetadata } from '../engine/types.ts'

export type Schema = Readonly<Record<string, unknown>>

/** What is known of one argument. */
export interface Argument {
  readonly type: TypeMetadata
  readonly description?: string | undefined
  readonly default?: unknown
  readonly min?: number | undefined
  readonly max?: number | undefined
  readonly values?: readonly (string | number)[] | undefined
  /** It is a list of such values. */
  readonly stream?: boolean
}

const MEDIA = 'An object that refers to it: {"type": "%", "uri": "asset://…"}, or one with its address or data.'

const SCHEMAS: Readonly<Record<string, (type: TypeMetadata) => Schema>> = {
  str: () => ({ type: 'string' }),
  int: () => ({ type: 'integer' }),
  float: () => ({ type: 'number' }),
  bool: () => ({ type: 'boolean' }),
  enum: ({ values }) => ({ enum: [...values] }),
  // Without a word about the items, some providers refuse the whole tool.
  list: ({ type_args: [item] }) => ({ type: 'array', items: item ? schemaOf(item) : {} }),
  dict: ({ type_args: [, value] }) => ({ type: 'object', ...valuesOf(value) }),
  union: ({ type_args }) => ({ anyOf: type_args.map(schemaOf) }),
  ...Object.fromEntries(['image', 'audio', 'video', 'document'].map((type) => [type, () => media(type)])),
}

function media(type: string): Schema {
  return { type: 'object', description: MEDIA.replace('%', type) }
}

function valuesOf(type: TypeMetadata | undefined): Schema {
  return type && type.type !== 'any' ? { additionalProperties: schemaOf(type) } : {}
}

export function schemaOf(type: TypeMetadata): Schema {
  const schema = SCHEMAS[type.type]?.(type) ?? {}
  if (!type.optional || Object.keys(schema).length === 0) return schema
  return typeof schema.type === 'string'
    ? { ...schema, type: [schema.type, 'null'] }
    : { anyOf: [schema, { type: 'null' }] }
}

export function argumentSchema({ type, description, default: value, min, max, values, stream }: Argument): Schema {
  const one = {
    ...schemaOf(type),
    ...(values && values.length > 0 ? { enum: [...values] } : {}),
    ...(min === undefined ? {} : { minimum: min }),
    ...(max === undefined ? {} : { maximum: max }),
  }
  return {
    ...(stream ? { type: 'array', items: one } : one),
    ...(description ? { description } : {}),
    ...(value === null || value === undefined ? {} : { default: value }),
  }
}
