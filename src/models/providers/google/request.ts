// Converts a request from OpenAI's form for the Gemini API. Fields that the API cannot honour are refused. Google's own answer decides about
// fields that only some models take.

import type { CompletionRequest } from '../../provider.ts'
import {
  type ConversationItem,
  type ConversationTurn,
  listCalledTools,
  parseConversation,
} from '../shared/conversation.ts'
import type { OwnerToolCallStates } from '../shared/tool-call-state-cache.ts'
import { ToolNameMapping } from '../shared/tool-name-mapping.ts'
import { createToolPlan, type FunctionTool, type ToolPlan } from '../shared/tool-plan.ts'
import { createUnsupportedError } from '../shared/unsupported-error.ts'
import { rejectUnsupportedFields } from '../shared/unsupported-fields.ts'
import { createThinkingConfig } from './thinking-options.ts'

type JsonRecord = { [key: string]: unknown }

/** The state of a tool call: Google's id, and the signature of the thoughts before the call. */
export interface GoogleCallState {
  readonly id: string | null
  readonly signature: string | null
}

export interface GoogleRequest {
  readonly body: JsonRecord
  readonly names: ToolNameMapping
}

const SUPPORTED_FEATURES = {
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

/** Google's function names; the length limit is that of older models. */
const FUNCTION_NAME = /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/
const MAX_STOPS = 5
const MAX_SEED = 2 ** 31 - 1

/** Replaces a missing signature: models from Gemini 3 on require one with the first call of each turn. */
const MISSING_SIGNATURE = 'skip_thought_signature_validator'

/** `thinks`: whether the model thinks; null: unknown. @throws ProviderError `unsupported`, `rejected` */
export function createGoogleRequest(
  request: CompletionRequest,
  thinks: boolean | null,
  provider: string,
  memory: Pick<OwnerToolCallStates<GoogleCallState>, 'of'>,
): GoogleRequest {
  rejectUnsupportedFields(request, SUPPORTED_FEATURES, provider)
  const conversation = parseConversation(request.messages, provider)
  const plan = createToolPlan(request, provider)
  if (plan.tools.length > 0 && !plan.parallel)
    throw createUnsupportedError(provider, 'parallel_tool_calls', 'cannot limit the model to one tool call at a time')
  const names = new ToolNameMapping(FUNCTION_NAME, [
    ...plan.tools.map(({ name }) => name),
    ...listCalledTools(conversation),
  ])
  const body = {
    ...(conversation.system.length > 0
      ? { systemInstruction: { parts: conversation.system.map((text) => ({ text })) } }
      : {}),
    contents: conversation.turns.map((turn) => createContent(turn, names, memory, requiresSignatures(request.model))),
    ...createToolFields(plan, names),
    generationConfig: {
      ...createSamplingConfig(request, provider),
      ...createFormatConfig(request.response_format ?? null),
      ...createThinkingConfig(request.reasoning_effort ?? null, request.model, thinks, provider),
    },
  }
  return { body, names }
}

function createSamplingConfig(request: CompletionRequest, provider: string): JsonRecord {
  const { temperature, top_p, stop, seed, frequency_penalty, presence_penalty } = request
  const most = request.max_completion_tokens ?? request.max_tokens
  const stops = typeof stop === 'string' ? [stop] : stop
  if (stops && stops.length > MAX_STOPS)
    throw createUnsupportedError(provider, 'stop', `takes at most ${MAX_STOPS} \`stop\` strings`)
  if (seed != null && Math.abs(seed) > MAX_SEED)
    throw createUnsupportedError(provider, 'seed', 'takes only seeds of 32 bits')
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

function createFormatConfig(format: NonNullable<CompletionRequest['response_format']> | null): JsonRecord {
  if (format === null || format.type === 'text') return {}
  const schema = format.type === 'json_schema' ? format.json_schema.schema : null
  return { responseMimeType: 'application/json', ...(schema ? { responseJsonSchema: schema } : {}) }
}

function createToolFields({ tools, choice }: ToolPlan, names: ToolNameMapping): JsonRecord {
  if (tools.length === 0) return {}
  const functionDeclarations = tools.map(({ name, description, schema }) => ({
    name: names.toVendorName(name),
    ...(description === null ? {} : { description }),
    ...(schema === null || hasNoProperties(schema) ? {} : { parametersJsonSchema: schema }),
  }))
  const config =
    typeof choice === 'object'
      ? { mode: 'ANY', allowedFunctionNames: [names.toVendorName(choice.name)] }
      : { mode: selectCallingMode(choice, tools) }
  return { tools: [{ functionDeclarations }], toolConfig: { functionCallingConfig: config } }
}

/** Arguments match the schemas only in the modes VALIDATED and ANY. */
function selectCallingMode(choice: 'auto' | 'none' | 'required', tools: readonly FunctionTool[]): string {
  if (choice === 'auto') return tools.some(({ strict }) => strict) ? 'VALIDATED' : 'AUTO'
  return choice === 'none' ? 'NONE' : 'ANY'
}

/** Google takes no schema for a function without arguments. */
function hasNoProperties({ properties }: Readonly<JsonRecord>): boolean {
  return typeof properties !== 'object' || properties === null || Object.keys(properties).length === 0
}

function createContent(
  { role, items }: ConversationTurn,
  names: ToolNameMapping,
  memory: Pick<OwnerToolCallStates<GoogleCallState>, 'of'>,
  needsSignatures: boolean,
) {
  const first = items.find(({ type }) => type === 'call')
  const parts = items.map((item) => {
    const callState = item.type === 'call' || item.type === 'result' ? memory.of(item.id) : null
    const part = createPart(item, names, callState)
    if (item.type !== 'call') return part
    const signature = callState?.signature ?? (needsSignatures && item === first ? MISSING_SIGNATURE : null)
    return signature === null ? part : { ...part, thoughtSignature: signature }
  })
  return { role: role === 'user' ? 'user' : 'model', parts }
}

function createPart(item: ConversationItem, names: ToolNameMapping, callState: GoogleCallState | null): JsonRecord {
  if (item.type === 'text') return { text: item.text }
  if (item.type === 'media') return { inlineData: { mimeType: item.media_type, data: item.data } }
  const named = { ...(callState?.id ? { id: callState.id } : {}), name: names.toVendorName(item.name) }
  if (item.type === 'call') return { functionCall: { ...named, args: item.input } }
  return { functionResponse: { ...named, response: { output: item.text } } }
}

function requiresSignatures(model: string): boolean {
  const version = /^gemini-(\d+)/.exec(model)
  return version !== null && Number(version[1]) >= 3
}
