// A request in OpenAI's form as Anthropic's Messages API takes it. What that cannot honour is refused; what one model takes and another does
// not is left to Anthropic's own answer, which names the field.

import { answerFormat } from './anthropic-format.ts'
import { thinkingFields } from './anthropic-thinking.ts'
import type { ClaudeTraits } from './anthropic-traits.ts'
import type { CompletionRequest } from './provider.ts'
import { refuseUnsupported } from './supported.ts'
import type { Media } from './vendor-media.ts'
import type { OwnCalls } from './vendor-memory.ts'
import { ToolNames } from './vendor-names.ts'
import { notTaken } from './vendor-refusals.ts'
import { type ToolPlan, toolsOf } from './vendor-tools.ts'
import { type Conversation, conversationOf, type Item, type Turn } from './vendor-turns.ts'

type Json = { [key: string]: unknown }

/** Blocks of thinking, as they came before a call of a tool. */
export type Thoughts = readonly Json[]

export interface AnthropicRequest {
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
    'tools',
    'tool_choice',
    'parallel_tool_calls',
    'response_format',
    'reasoning_effort',
  ],
  parts: ['image_url', 'file'],
} as const

const NAME = /^[a-zA-Z0-9_-]{1,64}$/
const IMAGES = /^image\/(?:jpeg|png|gif|webp)$/

/** Where nobody knows how long an answer may be. */
const MOST_TOKENS = 8_192
/** @throws ProviderError `unsupported`, `rejected` */
export function anthropicRequest(
  request: CompletionRequest,
  traits: ClaudeTraits,
  provider: string,
  memory: Pick<OwnCalls<Thoughts>, 'of'>,
): AnthropicRequest {
  refuseUnsupported(request, HONOURED, provider)
  const conversation = conversationOf(request.messages, provider)
  if (conversation.turns.length === 0)
    throw notTaken(provider, 'messages', 'takes no conversation in which nobody has said anything')
  const plan = toolsOf(request, provider)
  const names = new ToolNames(NAME, [...plan.tools.map(({ name }) => name), ...called(conversation)])
  const max_tokens = request.max_completion_tokens ?? request.max_tokens ?? traits.most ?? MOST_TOKENS
  const body = {
    model: request.model,
    max_tokens,
    stream: true,
    ...(conversation.system.length > 0 ? { system: conversation.system.map(textBlock) } : {}),
    messages: conversation.turns.map((turn) => message(turn, names, memory, provider)),
    ...toolFields(plan, conversation, names),
    ...sampling(request, provider),
    ...outputFields(request, traits, max_tokens, conversation, memory, provider),
    ...userFields(request),
  }
  return { body, names }
}

function sampling({ temperature, top_p, stop }: CompletionRequest, provider: string): Json {
  if (temperature != null && temperature > 1) throw notTaken(provider, 'temperature', 'takes a temperature from 0 to 1')
  return {
    ...(temperature == null ? {} : { temperature }),
    ...(top_p == null ? {} : { top_p }),
    ...(stop == null ? {} : { stop_sequences: typeof stop === 'string' ? [stop] : stop }),
  }
}

function userFields({ user, safety_identifier }: CompletionRequest): Json {
  const user_id = safety_identifier ?? user
  return user_id ? { metadata: { user_id } } : {}
}

function outputFields(
  request: CompletionRequest,
  traits: ClaudeTraits,
  max_tokens: number,
  { turns }: Conversation,
  memory: Pick<OwnCalls<Thoughts>, 'of'>,
  provider: string,
): Json {
  const format = answerFormat(request.response_format ?? null, traits.structured, provider)
  const { effort, thinking } = thinkingFields(request.reasoning_effort ?? null, traits, max_tokens, provider)
  // With a budget, an answer that goes on after calls must have thought before them, in blocks that are gone by now.
  const forgotten = traits.thinking === 'budget' && goesOn(turns) && thoughtsBefore(turns.at(-2)!, memory) === null
  const output = { ...(effort ? { effort } : {}), ...(format ? { format } : {}) }
  return {
    ...(thinking && !(forgotten && thinking.type === 'enabled') ? { thinking } : {}),
    ...(Object.keys(output).length > 0 ? { output_config: output } : {}),
  }
}

/** Whether the answer to come goes on after results of tools. */
function goesOn(turns: readonly Turn[]): boolean {
  return turns.length > 1 && turns.at(-1)!.items.some(({ type }) => type === 'result')
}

function toolFields({ tools, choice, parallel }: ToolPlan, conversation: Conversation, names: ToolNames): Json {
  if (tools.length === 0) return historyOfTools(conversation, names)
  const listed = tools.map(({ name, description, schema, strict }) => ({
    name: names.out(name),
    ...(description === null ? {} : { description }),
    input_schema: { type: 'object', ...schema },
    ...(strict ? { strict } : {}),
  }))
  const single = parallel ? {} : { disable_parallel_tool_use: true }
  if (choice === 'none') return { tools: listed, tool_choice: { type: 'none' } }
  if (typeof choice === 'object')
    return { tools: listed, tool_choice: { type: 'tool', name: names.out(choice.name), ...single } }
  if (choice === 'auto' && parallel) return { tools: listed }
  return { tools: listed, tool_choice: { type: choice === 'auto' ? 'auto' : 'any', ...single } }
}

/** Tools that were called must be there, even where none may be called any more. */
function historyOfTools(conversation: Conversation, names: ToolNames): Json {
  const tools = [...new Set(called(conversation))].map((name) => ({
    name: names.out(name),
    input_schema: { type: 'object' },
  }))
  return tools.length > 0 ? { tools, tool_choice: { type: 'none' } } : {}
}

function called({ turns }: Conversation): string[] {
  return turns.flatMap(({ items }) => items.flatMap((item) => (item.type === 'call' ? [item.name] : [])))
}

function message({ role, items }: Turn, names: ToolNames, memory: Pick<OwnCalls<Thoughts>, 'of'>, provider: string) {
  const thoughts = thoughtsBefore({ role, items }, memory) ?? []
  return { role, content: [...thoughts, ...items.map((item) => blockOf(item, names, provider))] }
}

function thoughtsBefore({ items }: Turn, memory: Pick<OwnCalls<Thoughts>, 'of'>): Thoughts | null {
  for (const item of items) {
    const thoughts = item.type === 'call' ? memory.of(item.id) : null
    if (thoughts) return thoughts
  }
  return null
}

function blockOf(item: Item, names: ToolNames, provider: string): Json {
  if (item.type === 'text') return textBlock(item.text)
  if (item.type === 'media') return mediaBlock(item, provider)
  if (item.type === 'call') return { type: 'tool_use', id: item.id, name: names.out(item.name), input: item.input }
  return { type: 'tool_result', tool_use_id: item.id, ...(item.text === '' ? {} : { content: item.text }) }
}

function textBlock(text: string): Json {
  return { type: 'text', text }
}

function mediaBlock({ media_type, data, name, place }: Media, provider: string): Json {
  const title = name === null ? {} : { title: name }
  if (IMAGES.test(media_type)) return { type: 'image', source: { type: 'base64', media_type, data } }
  if (media_type === 'application/pdf')
    return { type: 'document', source: { type: 'base64', media_type, data }, ...title }
  if (media_type === 'text/plain') {
    const text = Buffer.from(data, 'base64').toString('utf8')
    return { type: 'document', source: { type: 'text', media_type, data: text }, ...title }
  }
  throw notTaken(provider, place, 'reads pictures (JPEG, PNG, GIF, WebP), PDF and plain text alone')
}
