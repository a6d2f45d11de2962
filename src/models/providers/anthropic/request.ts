// Converts a request from OpenAI's form for Anthropic's Messages API. Fields that the API cannot honour are refused. Anthropic's own answer, which
// names the field, decides about fields that only some models take.

import type { CompletionRequest } from '../../provider.ts'
import {
  type Conversation,
  type ConversationItem,
  type ConversationTurn,
  listCalledTools,
  parseConversation,
} from '../shared/conversation.ts'
import type { InlineMedia } from '../shared/inline-media.ts'
import type { OwnerToolCallStates } from '../shared/tool-call-state-cache.ts'
import { ToolNameMapping } from '../shared/tool-name-mapping.ts'
import { createToolPlan, type ToolPlan } from '../shared/tool-plan.ts'
import { createUnsupportedError } from '../shared/unsupported-error.ts'
import { rejectUnsupportedFields } from '../shared/unsupported-fields.ts'
import type { ClaudeTraits } from './model-traits.ts'
import { createOutputFormat } from './response-format.ts'
import { createThinkingFields } from './thinking-options.ts'

type JsonRecord = { [key: string]: unknown }

/** The thinking blocks before a tool call, unchanged. */
export type ThinkingBlocks = readonly JsonRecord[]

export interface AnthropicRequest {
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
    'tools',
    'tool_choice',
    'parallel_tool_calls',
    'response_format',
    'reasoning_effort',
  ],
  parts: ['image_url', 'file'],
} as const

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/
const IMAGE_TYPES = /^image\/(?:jpeg|png|gif|webp)$/

/** For a model whose maximum is unknown. */
const DEFAULT_MAX_TOKENS = 8_192
/** @throws ProviderError `unsupported`, `rejected` */
export function createAnthropicRequest(
  request: CompletionRequest,
  traits: ClaudeTraits,
  provider: string,
  memory: Pick<OwnerToolCallStates<ThinkingBlocks>, 'of'>,
): AnthropicRequest {
  rejectUnsupportedFields(request, SUPPORTED_FEATURES, provider)
  const conversation = parseConversation(request.messages, provider)
  const plan = createToolPlan(request, provider)
  const names = new ToolNameMapping(TOOL_NAME, [
    ...plan.tools.map(({ name }) => name),
    ...listCalledTools(conversation),
  ])
  const max_tokens =
    request.max_completion_tokens ?? request.max_tokens ?? traits.max_output_tokens ?? DEFAULT_MAX_TOKENS
  const body = {
    model: request.model,
    max_tokens,
    stream: true,
    ...(conversation.system.length > 0 ? { system: conversation.system.map(createTextBlock) } : {}),
    messages: conversation.turns.map((turn) => createMessage(turn, names, memory, provider)),
    ...createToolFields(plan, conversation, names),
    ...createSamplingFields(request, provider),
    ...createOutputFields(request, traits, max_tokens, conversation, memory, provider),
    ...createUserFields(request),
  }
  return { body, names }
}

function createSamplingFields({ temperature, top_p, stop }: CompletionRequest, provider: string): JsonRecord {
  if (temperature != null && temperature > 1)
    throw createUnsupportedError(provider, 'temperature', 'takes a temperature from 0 to 1')
  return {
    ...(temperature == null ? {} : { temperature }),
    ...(top_p == null ? {} : { top_p }),
    ...(stop == null ? {} : { stop_sequences: typeof stop === 'string' ? [stop] : stop }),
  }
}

function createUserFields({ user, safety_identifier }: CompletionRequest): JsonRecord {
  const user_id = safety_identifier ?? user
  return user_id ? { metadata: { user_id } } : {}
}

function createOutputFields(
  request: CompletionRequest,
  traits: ClaudeTraits,
  max_tokens: number,
  { turns }: Conversation,
  memory: Pick<OwnerToolCallStates<ThinkingBlocks>, 'of'>,
  provider: string,
): JsonRecord {
  const format = createOutputFormat(request.response_format ?? null, traits.structured_output, provider)
  const { effort, thinking } = createThinkingFields(request.reasoning_effort ?? null, traits, max_tokens, provider)
  // With a thinking budget, an answer after tool calls needs the thinking blocks before these calls, and they may be lost.
  const isThinkingLost =
    traits.thinking === 'budget' && continuesAfterTools(turns) && findThinking(turns.at(-2)!, memory) === null
  const output = { ...(effort ? { effort } : {}), ...(format ? { format } : {}) }
  return {
    ...(thinking && !(isThinkingLost && thinking.type === 'enabled') ? { thinking } : {}),
    ...(Object.keys(output).length > 0 ? { output_config: output } : {}),
  }
}

/** Whether the next answer follows tool results. */
function continuesAfterTools(turns: readonly ConversationTurn[]): boolean {
  return turns.length > 1 && turns.at(-1)!.items.some(({ type }) => type === 'result')
}

function createToolFields(
  { tools, choice, parallel }: ToolPlan,
  conversation: Conversation,
  names: ToolNameMapping,
): JsonRecord {
  if (tools.length === 0) return createToolHistoryFields(conversation, names)
  const listed = tools.map(({ name, description, schema, strict }) => ({
    name: names.toVendorName(name),
    ...(description === null ? {} : { description }),
    input_schema: { type: 'object', ...schema },
    ...(strict ? { strict } : {}),
  }))
  const single = parallel ? {} : { disable_parallel_tool_use: true }
  if (choice === 'none') return { tools: listed, tool_choice: { type: 'none' } }
  if (typeof choice === 'object')
    return { tools: listed, tool_choice: { type: 'tool', name: names.toVendorName(choice.name), ...single } }
  if (choice === 'auto' && parallel) return { tools: listed }
  return { tools: listed, tool_choice: { type: choice === 'auto' ? 'auto' : 'any', ...single } }
}

/** Anthropic requires the tools of earlier calls, even where no tool may be called now. */
function createToolHistoryFields(conversation: Conversation, names: ToolNameMapping): JsonRecord {
  const tools = [...new Set(listCalledTools(conversation))].map((name) => ({
    name: names.toVendorName(name),
    input_schema: { type: 'object' },
  }))
  return tools.length > 0 ? { tools, tool_choice: { type: 'none' } } : {}
}

function createMessage(
  { role, items }: ConversationTurn,
  names: ToolNameMapping,
  memory: Pick<OwnerToolCallStates<ThinkingBlocks>, 'of'>,
  provider: string,
) {
  const thoughts = findThinking({ role, items }, memory) ?? []
  return { role, content: [...thoughts, ...items.map((item) => createBlock(item, names, provider))] }
}

function findThinking(
  { items }: ConversationTurn,
  memory: Pick<OwnerToolCallStates<ThinkingBlocks>, 'of'>,
): ThinkingBlocks | null {
  for (const item of items) {
    const thoughts = item.type === 'call' ? memory.of(item.id) : null
    if (thoughts) return thoughts
  }
  return null
}

function createBlock(item: ConversationItem, names: ToolNameMapping, provider: string): JsonRecord {
  if (item.type === 'text') return createTextBlock(item.text)
  if (item.type === 'media') return createMediaBlock(item, provider)
  if (item.type === 'call')
    return { type: 'tool_use', id: item.id, name: names.toVendorName(item.name), input: item.input }
  return { type: 'tool_result', tool_use_id: item.id, ...(item.text === '' ? {} : { content: item.text }) }
}

function createTextBlock(text: string): JsonRecord {
  return { type: 'text', text }
}

function createMediaBlock({ media_type, data, name, place }: InlineMedia, provider: string): JsonRecord {
  const title = name === null ? {} : { title: name }
  if (IMAGE_TYPES.test(media_type)) return { type: 'image', source: { type: 'base64', media_type, data } }
  if (media_type === 'application/pdf')
    return { type: 'document', source: { type: 'base64', media_type, data }, ...title }
  if (media_type === 'text/plain') {
    const text = Buffer.from(data, 'base64').toString('utf8')
    return { type: 'document', source: { type: 'text', media_type, data: text }, ...title }
  }
  throw createUnsupportedError(provider, place, 'reads only images (JPEG, PNG, GIF, WebP), PDF and plain text')
}
