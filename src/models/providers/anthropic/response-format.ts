// Converts OpenAI's `response_format` for Anthropic's structured outputs.
import type { CompletionRequest } from '../../provider.ts'
import { createUnsupportedError } from '../shared/unsupported-error.ts'

type JsonRecord = { [key: string]: unknown }

/** Keywords that the API refuses: they go into the description. */
const UNSUPPORTED_KEYWORDS: readonly string[] = [
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
]
/** Keywords whose values are schemas by name, lists of schemas, or one schema. */
const SCHEMA_MAP_KEYWORDS: readonly string[] = ['properties', '$defs', 'definitions']
const SCHEMA_LIST_KEYWORDS: readonly string[] = ['anyOf', 'allOf', 'oneOf', 'prefixItems']
const SINGLE_SCHEMA_KEYWORDS: readonly string[] = ['items']
/** Nested schemas: all are converted in one go, and no model supports so many. */
const MAX_PARTS = 10_000
const describeTooManyParts = () => `takes no schema of more than ${MAX_PARTS.toLocaleString('en')} parts`

/** @throws ProviderError `unsupported` */
export function createOutputFormat(
  format: NonNullable<CompletionRequest['response_format']> | null,
  structured: boolean,
  provider: string,
): JsonRecord | null {
  if (format === null || format.type === 'text') return null
  if (format.type === 'json_object')
    throw createUnsupportedError(provider, 'response_format', 'needs a schema for JSON: send one as json_schema')
  if (!structured) throw createUnsupportedError(provider, 'response_format', 'has no structured output for this model')
  const { schema } = format.json_schema
  if (!schema)
    throw createUnsupportedError(provider, 'response_format', 'needs a schema in `response_format.json_schema`')
  let parts = 0
  const count = () => {
    if (++parts > MAX_PARTS) throw createUnsupportedError(provider, 'response_format', describeTooManyParts())
  }
  return { type: 'json_schema', schema: closeSchema(schema, count) }
}

/** Forbids unnamed keys of objects, as the API requires. An answer without them also satisfies the original schema. */
function closeSchema(schema: JsonRecord, count: () => void): JsonRecord {
  count()
  const kept: JsonRecord = {}
  const described: string[] = []
  for (const [key, value] of Object.entries(schema)) {
    if (UNSUPPORTED_KEYWORDS.includes(key) || (key === 'minItems' && Number(value) > 1))
      described.push(`${key}: ${JSON.stringify(value)}`)
    else kept[key] = closeNestedSchemas(key, value, count)
  }
  if ('properties' in schema && !('additionalProperties' in schema)) kept.additionalProperties = false
  if (described.length > 0)
    kept.description = [schema.description, `(${described.join(', ')})`].filter(Boolean).join(' ')
  return kept
}

function closeNestedSchemas(key: string, value: unknown, count: () => void): unknown {
  if (SINGLE_SCHEMA_KEYWORDS.includes(key) && isObject(value)) return closeSchema(value, count)
  if (SCHEMA_LIST_KEYWORDS.includes(key) && Array.isArray(value))
    return value.map((one: unknown) => (isObject(one) ? closeSchema(one, count) : one))
  if (!SCHEMA_MAP_KEYWORDS.includes(key) || !isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, isObject(one) ? closeSchema(one, count) : one]),
  )
}

function isObject(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
