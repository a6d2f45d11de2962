// The form of an answer: OpenAI's `response_format` as Anthropic's structured outputs take it.
import type { CompletionRequest } from './provider.ts'
import { notTaken } from './vendor-refusals.ts'

type Json = { [key: string]: unknown }

/** What such a schema may not say: it is told to the model in words. */
const UNHELD: readonly string[] = [
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
/** Under these stand schemas by names, lists of schemas, or one schema. */
const BY_NAME: readonly string[] = ['properties', '$defs', 'definitions']
const LISTS: readonly string[] = ['anyOf', 'allOf', 'oneOf', 'prefixItems']
const SINGLE: readonly string[] = ['items']
/** Schemas in a schema: all of them are looked at at once, and no model is held to so many. */
const MOST_PARTS = 10_000
const tooMany = () => `takes no schema of more than ${MOST_PARTS.toLocaleString('en')} parts`

/** @throws ProviderError `unsupported` */
export function answerFormat(
  format: NonNullable<CompletionRequest['response_format']> | null,
  structured: boolean,
  provider: string,
): Json | null {
  if (format === null || format.type === 'text') return null
  if (format.type === 'json_object')
    throw notTaken(provider, 'response_format', 'makes JSON by a schema alone: send one as json_schema')
  if (!structured) throw notTaken(provider, 'response_format', 'holds no answer of this model to a schema')
  const { schema } = format.json_schema
  if (!schema) throw notTaken(provider, 'response_format', 'needs the schema of the answer')
  let parts = 0
  const count = () => {
    if (++parts > MOST_PARTS) throw notTaken(provider, 'response_format', tooMany())
  }
  return { type: 'json_schema', schema: closed(schema, count) }
}

/** An object has no keys but those that are named; whatever the schema allows more, such an answer satisfies it. */
function closed(schema: Json, count: () => void): Json {
  count()
  const kept: Json = {}
  const told: string[] = []
  for (const [key, value] of Object.entries(schema)) {
    if (UNHELD.includes(key) || (key === 'minItems' && Number(value) > 1)) told.push(`${key}: ${JSON.stringify(value)}`)
    else kept[key] = closedAt(key, value, count)
  }
  if ('properties' in schema && !('additionalProperties' in schema)) kept.additionalProperties = false
  if (told.length > 0) kept.description = [schema.description, `(${told.join(', ')})`].filter(Boolean).join(' ')
  return kept
}

function closedAt(key: string, value: unknown, count: () => void): unknown {
  if (SINGLE.includes(key) && isObject(value)) return closed(value, count)
  if (LISTS.includes(key) && Array.isArray(value))
    return value.map((one: unknown) => (isObject(one) ? closed(one, count) : one))
  if (!BY_NAME.includes(key) || !isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, isObject(one) ? closed(one, count) : one]),
  )
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
