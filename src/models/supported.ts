// What of a request a provider cannot honour: refused with the name of the field before anybody is asked, and never dropped.
import type { CompletionRequest } from './provider.ts'
import { ProviderError } from './provider-error.ts'

type Field = Exclude<keyof CompletionRequest, number> & string
export type PartType = 'text' | 'image_url' | 'input_audio' | 'file' | 'refusal'

export interface Honoured {
  /** What it takes the value of into account. */
  readonly fields: readonly string[]
  /** The parts of messages that it reads besides text and refusals. */
  readonly parts?: readonly PartType[]
}

/** The conversation itself, what the door makes of the answer, and what is for the records of somebody else alone. */
const HARMLESS = new Set<string>([
  'model',
  'messages',
  'stream',
  'stream_options',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'metadata',
  'store',
] satisfies Field[])

type Neutral = (value: unknown, request: CompletionRequest) => boolean

/** Values that ask for nothing but what everybody does anyway. */
const NEUTRAL: Readonly<Record<string, Neutral>> = {
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
  response_format: (value) => typeOf(value) === 'text',
  modalities: (value) => Array.isArray(value) && value.every((one) => one === 'text'),
  reasoning_effort: (value) => value === 'none',
  verbosity: (value) => value === 'medium',
  service_tier: (value) => value === 'auto' || value === 'default',
} satisfies Partial<Record<Field, Neutral>>

const READ_BY_ALL: readonly string[] = ['text', 'refusal']

/** @throws ProviderError `unsupported` with the first field, known or not, that asks for what the provider does not honour */
export function refuseUnsupported(
  request: CompletionRequest,
  { fields, parts = [] }: Honoured,
  provider: string,
): void {
  for (const [name, value] of Object.entries(request)) {
    if (value === null || value === undefined || HARMLESS.has(name) || fields.includes(name)) continue
    const isNeutral = Object.hasOwn(NEUTRAL, name) && NEUTRAL[name]!(value, request)
    if (!isNeutral) throw unsupported(`The provider "${provider}" does not honour "${shown(name)}"`, name, value)
  }
  for (const [at, { content }] of request.messages.entries()) {
    if (!Array.isArray(content)) continue
    const wrong = content.findIndex(({ type }) => !READ_BY_ALL.includes(type) && !parts.includes(type as PartType))
    if (wrong < 0) continue
    const text = `The provider "${provider}" does not read parts of the type "${content[wrong]!.type}".`
    throw new ProviderError('unsupported', text, { param: `messages[${at}].content[${wrong}]` })
  }
}

function unsupported(what: string, param: string, value: unknown): ProviderError {
  const given = typeof value === 'number' || typeof value === 'boolean' ? ` with the value ${value}` : ''
  return new ProviderError('unsupported', `${what}${given}.`, { param: shown(param) })
}

/** How much of a name an error shows. */
const SHOWN = 100

function shown(name: string): string {
  return name.slice(0, SHOWN)
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

function typeOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'type' in value ? value.type : null
}
