// Turns types of inputs and properties into the JSON schemas that models get for tools.
import type { TypeMetadata } from '../../engine/node-api/values/type-metadata.ts'

export type ToolJsonSchema = Readonly<Record<string, unknown>>

/** The facts about one argument. */
export interface ToolArgument {
  readonly type: TypeMetadata
  readonly description?: string | undefined
  readonly default?: unknown
  readonly min?: number | undefined
  readonly max?: number | undefined
  readonly values?: readonly (string | number)[] | undefined
  /** Whether the argument is a list of such values. */
  readonly stream?: boolean
}

const MEDIA = 'An object that refers to it: {"type": "%", "uri": "asset://…"}, or one with its address or data.'

const SCHEMAS: Readonly<Record<string, (type: TypeMetadata) => ToolJsonSchema>> = {
  str: () => ({ type: 'string' }),
  int: () => ({ type: 'integer' }),
  float: () => ({ type: 'number' }),
  bool: () => ({ type: 'boolean' }),
  enum: ({ values }) => ({ enum: [...values] }),
  // Without a schema of the items, some providers refuse the whole tool.
  list: ({ type_args: [item] }) => ({ type: 'array', items: item ? toJsonSchema(item) : {} }),
  dict: ({ type_args: [, value] }) => ({ type: 'object', ...additionalProperties(value) }),
  union: ({ type_args }) => ({ anyOf: type_args.map(toJsonSchema) }),
  ...Object.fromEntries(['image', 'audio', 'video', 'document'].map((type) => [type, () => mediaSchema(type)])),
}

function mediaSchema(type: string): ToolJsonSchema {
  return { type: 'object', description: MEDIA.replace('%', type) }
}

function additionalProperties(type: TypeMetadata | undefined): ToolJsonSchema {
  return type && type.type !== 'any' ? { additionalProperties: toJsonSchema(type) } : {}
}

export function toJsonSchema(type: TypeMetadata): ToolJsonSchema {
  const schema = SCHEMAS[type.type]?.(type) ?? {}
  if (!type.optional || Object.keys(schema).length === 0) return schema
  return typeof schema.type === 'string'
    ? { ...schema, type: [schema.type, 'null'] }
    : { anyOf: [schema, { type: 'null' }] }
}

export function toArgumentSchema({
  type,
  description,
  default: value,
  min,
  max,
  values,
  stream,
}: ToolArgument): ToolJsonSchema {
  const one = {
    ...toJsonSchema(type),
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
