// A request in OpenAI's form as the Gemini API takes it. What that cannot honour is refused; what one model takes and another does not is left
// to Google's own answer.
import { thinkingConfig } from './google-thinking.ts'
import type { CompletionRequest } from './provider.ts'
import { refuseUnsupported } from './supported.ts'
import type { OwnCalls } from './vendor-memory.ts'
import { ToolNames } from './vendor-names.ts'
import { notTaken } from './vendor-refusals.ts'
import { type Tool, type ToolPlan, toolsOf } from './vendor-tools.ts'
import { type Conversation, conversationOf, type Item, type Turn } from './vendor-turns.ts'

type Json = { [key: string]: unknown }

/** What came with a call: the id that it has there, and the seal upon what was thought before it. */
export interface Sealed {
  readonly id: string | null
  readonly signature: string | null
}

export interface GoogleRequest {
  readonly body: Json
  readonly names: ToolNames
}

const HONOURED = {
  fields: [
    'max_tokens',
    'max_completion_tokens',
    'temperature',
    'top_p',
    'stop',
    'seed',
    'frequency_penalty',
    'presence_penalty',
    'tools',
    'tool_choice',
    'parallel_tool_calls',
    'response_format',
    'reasoning_effort',
  ],
  parts: ['image_url', 'input_audio', 'file'],
} as const

/** Names of functions there; the length is that of older models. */
const NAME = /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/
const MOST_STOPS = 5
const MOST_SEED = 2 ** 31 - 1

/** In the place of a seal that is not there: models from Gemini 3 on want one upon the first call of each turn. */
const UNSEALED = 'skip_thought_signature_validator'

/** `thinks`: whether the model does, as far as anybody knows. @throws ProviderError `unsupported`, `rejected` */
export function googleRequest(
  request: CompletionRequest,
  thinks: boolean | null,
  provider: string,
  memory: Pick<OwnCalls<Sealed>, 'of'>,
): GoogleRequest {
  refuseUnsupported(request, HONOURED, provider)
  const conversation = conversationOf(request.messages, provider)
  if (conversation.turns.length === 0)
    throw notTaken(provider, 'messages', 'takes no conversation in which nobody has said anything')
  const plan = toolsOf(request, provider)
  if (plan.tools.length > 0 && !plan.parallel)
    throw notTaken(provider, 'parallel_tool_calls', 'has no way to ask for one call at a time')
  const names = new ToolNames(NAME, [...plan.tools.map(({ name }) => name), ...called(conversation)])
  const body = {
    ...(conversation.system.length > 0
      ? { systemInstruction: { parts: conversation.system.map((text) => ({ text })) } }
      : {}),
    contents: conversation.turns.map((turn) => contentOf(turn, names, memory, wantsSeals(request.model))),
    ...toolFields(plan, names),
    generationConfig: {
      ...sampling(request, provider),
      ...formatOf(request.response_format ?? null),
      ...thinkingConfig(request.reasoning_effort ?? null, request.model, thinks, provider),
    },
  }
  return { body, names }
}

function sampling(request: CompletionRequest, provider: string): Json {
  const { temperature, top_p, stop, seed, frequency_penalty, presence_penalty } = request
  const most = request.max_completion_tokens ?? request.max_tokens
  const stops = typeof stop === 'string' ? [stop] : stop
  if (stops && stops.length > MOST_STOPS) throw notTaken(provider, 'stop', `takes at most ${MOST_STOPS} texts that end`)
  if (seed != null && Math.abs(seed) > MOST_SEED) throw notTaken(provider, 'seed', 'takes seeds of 32 bits alone')
  const given = {
    maxOutputTokens: most,
    temperature,
    topP: top_p,
    stopSequences: stops,
    seed,
    frequencyPenalty: frequency_penalty,
    presencePenalty: presence_penalty,
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value != null))
}

function formatOf(format: NonNullable<CompletionRequest['response_format']> | null): Json {
  if (format === null || format.type === 'text') return {}
  const schema = format.type === 'json_schema' ? format.json_schema.schema : null
  return { responseMimeType: 'application/json', ...(schema ? { responseJsonSchema: schema } : {}) }
}

function toolFields({ tools, choice }: ToolPlan, names: ToolNames): Json {
  if (tools.length === 0) return {}
  const functionDeclarations = tools.map(({ name, description, schema }) => ({
    name: names.out(name),
    ...(description === null ? {} : { description }),
    ...(schema === null || isEmpty(schema) ? {} : { parametersJsonSchema: schema }),
  }))
  const config =
    typeof choice === 'object'
      ? { mode: 'ANY', allowedFunctionNames: [names.out(choice.name)] }
      : { mode: modeOf(choice, tools) }
  return { tools: [{ functionDeclarations }], toolConfig: { functionCallingConfig: config } }
}

/** Only where the model is held to schemas, or must call, its arguments match them. */
function modeOf(choice: 'auto' | 'none' | 'required', tools: readonly Tool[]): string {
  if (choice === 'auto') return tools.some(({ strict }) => strict) ? 'VALIDATED' : 'AUTO'
  return choice === 'none' ? 'NONE' : 'ANY'
}

/** A function without arguments has no schema there. */
function isEmpty({ properties }: Readonly<Json>): boolean {
  return typeof properties !== 'object' || properties === null || Object.keys(properties).length === 0
}

function called({ turns }: Conversation): string[] {
  return turns.flatMap(({ items }) => items.flatMap((item) => (item.type === 'call' ? [item.name] : [])))
}

function contentOf({ role, items }: Turn, names: ToolNames, memory: Pick<OwnCalls<Sealed>, 'of'>, seals: boolean) {
  const first = items.find(({ type }) => type === 'call')
  const parts = items.map((item) => {
    const sealed = item.type === 'call' || item.type === 'result' ? memory.of(item.id) : null
    const part = partOf(item, names, sealed)
    if (item.type !== 'call') return part
    const seal = sealed?.signature ?? (seals && item === first ? UNSEALED : null)
    return seal === null ? part : { ...part, thoughtSignature: seal }
  })
  return { role: role === 'user' ? 'user' : 'model', parts }
}

function partOf(item: Item, names: ToolNames, sealed: Sealed | null): Json {
  if (item.type === 'text') return { text: item.text }
  if (item.type === 'media') return { inlineData: { mimeType: item.media_type, data: item.data } }
  const named = { ...(sealed?.id ? { id: sealed.id } : {}), name: names.out(item.name) }
  if (item.type === 'call') return { functionCall: { ...named, args: item.input } }
  return { functionResponse: { ...named, response: { output: item.text } } }
}

function wantsSeals(model: string): boolean {
  const version = /^gemini-(\d+)/.exec(model)
  return version !== null && Number(version[1]) >= 3
}
