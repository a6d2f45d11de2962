// Refuses request fields that a provider cannot honour, by name and before anything is sent. Such fields are never dropped.
import type { CompletionRequest } from '../../provider.ts'
import { ProviderError } from '../../provider-error.ts'

type RequestField = Exclude<keyof CompletionRequest, number> & string
export type MessagePartType = 'text' | 'image_url' | 'input_audio' | 'file' | 'refusal'

export interface SupportedFeatures {
  /** The fields whose values the provider honours. */
  readonly fields: readonly string[]
  /** The types of message parts that the provider reads besides text and refusals. */
  readonly parts?: readonly MessagePartType[]
}

/** Fields of the conversation itself, of the form of the answer, and of records that other systems keep. */
const IGNORED_FIELDS = new Set<string>([
  'model',
  'messages',
  'stream',
  'stream_options',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'metadata',
  'store',
] satisfies RequestField[])

type NeutralValueCheck = (value: unknown, request: CompletionRequest) => boolean

/** Values that ask only for what every provider does anyway. */
const NEUTRAL_VALUES: Readonly<Record<string, NeutralValueCheck>> = {
  n: (value) => value === 1,
  logprobs: (value) => value === false,
  frequency_penalty: (value) => value === 0,
  presence_penalty: (value) => value === 0,
  logit_bias: isEmpty,
  tools: isEmpty,
  functions: isEmpty,
  tool_choice: (value) => value === 'none',
  function_call: (value) => value === 'none',
  parallel_tool_calls: (_value, { tools }) => isEmpty(tools ?? []),
  response_format: (value) => readType(value) === 'text',
  modalities: (value) => Array.isArray(value) && value.every((one) => one === 'text'),
  reasoning_effort: (value) => value === 'none',
  verbosity: (value) => value === 'medium',
  service_tier: (value) => value === 'auto' || value === 'default',
} satisfies Partial<Record<RequestField, NeutralValueCheck>>

const UNIVERSAL_PART_TYPES: readonly string[] = ['text', 'refusal']

/** @throws ProviderError `unsupported` with the first field, known or not, that asks for what the provider does not honour */
export function rejectUnsupportedFields(
  request: CompletionRequest,
  { fields, parts = [] }: SupportedFeatures,
  provider: string,
): void {
  for (const [name, value] of Object.entries(request)) {
    if (value === null || value === undefined || IGNORED_FIELDS.has(name) || fields.includes(name)) continue
    const isNeutral = Object.hasOwn(NEUTRAL_VALUES, name) && NEUTRAL_VALUES[name]!(value, request)
    if (!isNeutral)
      throw createUnsupportedFieldError(
        `The provider "${provider}" does not honour "${truncateFieldName(name)}"`,
        name,
        value,
      )
  }
  for (const [at, { content }] of request.messages.entries()) {
    if (!Array.isArray(content)) continue
    const wrong = content.findIndex(
      ({ type }) => !UNIVERSAL_PART_TYPES.includes(type) && !parts.includes(type as MessagePartType),
    )
    if (wrong < 0) continue
    const text = `The provider "${provider}" does not read parts of the type "${content[wrong]!.type}".`
    throw new ProviderError('unsupported', text, { param: `messages[${at}].content[${wrong}]` })
  }
}

function createUnsupportedFieldError(what: string, param: string, value: unknown): ProviderError {
  const given = typeof value === 'number' || typeof value === 'boolean' ? ` with the value ${value}` : ''
  return new ProviderError('unsupported', `${what}${given}.`, { param: truncateFieldName(param) })
}

/** How much of a name an error shows. */
const MAX_SHOWN_NAME = 100

function truncateFieldName(name: string): string {
  return name.slice(0, MAX_SHOWN_NAME)
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

function readType(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'type' in value ? value.type : null
}
