// Converts the parts of an answer to OpenAI's format: to one completion, or to the chunks of a stream.
import type { ChatCompletion, ChatCompletionChunk, CompletionUsage, ToolCall } from '../../../generated/types.ts'
import type { ModelToolCall, ModelUsage } from '../../engine/node-api/services/models.ts'
import type { Platform } from '../../platform.ts'
import type { AnswerPart } from './generator.ts'

/** Fields that all chunks of an answer repeat. */
export interface AnswerHead {
  readonly id: string
  /** In Unix seconds. */
  readonly created: number
  readonly model: string
}

/** The id has a dash, as OpenAI's ids have. */
export function createCompletionId(platform: Pick<Platform, 'id'>): string {
  return platform.id('chatcmpl').replace('_', '-')
}

type Delta = ChatCompletionChunk['choices'][number]['delta']
type Message = ChatCompletion['choices'][number]['message']

export function toCompletionUsage({
  input_tokens,
  output_tokens,
}: Pick<ModelUsage, 'input_tokens' | 'output_tokens'>): CompletionUsage {
  return {
    prompt_tokens: input_tokens,
    completion_tokens: output_tokens,
    total_tokens: input_tokens + output_tokens,
  }
}

/** @throws what `parts` throws */
export async function assembleCompletion(parts: AsyncIterable<AnswerPart>, head: AnswerHead): Promise<ChatCompletion> {
  const joined = new MessageBuilder()
  let finish_reason = 'stop'
  let usage = toCompletionUsage({ input_tokens: 0, output_tokens: 0 })
  for await (const part of parts) {
    if (part.type === 'end') {
      finish_reason = part.finish_reason
      usage = toCompletionUsage(part.use)
    } else if (part.type !== 'job') joined.add(part)
  }
  const choices = [{ index: 0, message: joined.message(), logprobs: null, finish_reason }]
  return { id: head.id, object: 'chat.completion', created: head.created, model: head.model, choices, usage }
}

/** Collects the parts of one message. */
export class MessageBuilder {
  readonly #texts = { text: '', thinking: '', refusal: '' }
  readonly #tool_calls = new Map<number, { custom: boolean; id: string; name: string; text: string }>()

  add(part: Exclude<AnswerPart, { type: 'end' | 'job' }>): void {
    if (part.type === 'tool_call') this.#addToolCall(part)
    else this.#texts[part.type] += part.text
  }

  get text(): string {
    return this.#texts.text
  }

  get thinking(): string {
    return this.#texts.thinking
  }

  /** Sorted by index. */
  toolCalls(): ToolCall[] {
    return [...this.#tool_calls]
      .sort(([a], [b]) => a - b)
      .map(([, { custom, id, name, text }]) =>
        custom
          ? { id, type: 'custom', custom: { name, input: text } }
          : { id, type: 'function', function: { name, arguments: text } },
      )
  }

  message(): Message {
    const { text, thinking, refusal } = this.#texts
    const tool_calls = this.toolCalls()
    const content = text === '' && (tool_calls.length > 0 || refusal !== '') ? null : text
    return {
      role: 'assistant',
      content,
      refusal: refusal === '' ? null : refusal,
      ...(thinking === '' ? {} : { reasoning_content: thinking }),
      ...(tool_calls.length === 0 ? {} : { tool_calls }),
    }
  }

  #addToolCall({ index, custom, id, name, arguments: text }: ModelToolCall): void {
    const call = this.#tool_calls.get(index) ?? { custom: custom === true, id: '', name: '', text: '' }
    this.#tool_calls.set(index, call)
    call.id ||= id ?? createCallId(index)
    call.name ||= name ?? ''
    call.text += text
  }
}

/** Some providers give a call no id. */
function createCallId(index: number): string {
  return `call_${index}`
}

/**
 * Encodes the chunks of a streamed answer: the role, the content, the finish reason, and the usage if the client
 * requested it.
 */
export async function* encodeChunks(
  parts: AsyncIterable<AnswerPart>,
  head: AnswerHead,
  include_usage: boolean,
): AsyncGenerator<ChatCompletionChunk, void, void> {
  /** By index of the call: whether its tool is a custom tool. */
  const custom_tools = new Map<number, boolean>()
  let role: Delta = { role: 'assistant', content: '' }
  const chunk = (delta: Delta, finish_reason: string | null = null): ChatCompletionChunk => {
    const choices = [{ index: 0, delta: { ...role, ...delta }, logprobs: null, finish_reason }]
    role = {}
    return createChunk(head, choices, include_usage ? { usage: null } : {})
  }
  for await (const part of parts) {
    // A job may take long to give output: this chunk tells the client that the job has started.
    if (part.type === 'job') yield chunk({})
    else if (part.type !== 'end') yield chunk(toDelta(part, custom_tools))
    else {
      yield chunk({}, part.finish_reason)
      if (include_usage) yield createChunk(head, [], { usage: toCompletionUsage(part.use) })
    }
  }
}

function createChunk(
  { id, created, model }: AnswerHead,
  choices: ChatCompletionChunk['choices'],
  more: Pick<ChatCompletionChunk, 'usage'>,
): ChatCompletionChunk {
  return { id, object: 'chat.completion.chunk', created, model, choices, ...more }
}

function toDelta(part: Exclude<AnswerPart, { type: 'end' | 'job' }>, custom_tools: Map<number, boolean>): Delta {
  if (part.type === 'tool_call') return toToolCallDelta(part, custom_tools)
  if (part.type === 'refusal') return { refusal: part.text }
  return part.type === 'thinking' ? { reasoning_content: part.text } : { content: part.text }
}

function toToolCallDelta(part: ModelToolCall, custom_tools: Map<number, boolean>): Delta {
  const { index, id, name, arguments: text } = part
  const known = custom_tools.get(index)
  const custom = known ?? part.custom ?? false
  custom_tools.set(index, custom)
  const first = known === undefined ? { id: id ?? createCallId(index), type: custom ? 'custom' : 'function' } : {}
  const its = known === undefined ? { name: name ?? '' } : {}
  const body = custom ? { custom: { ...its, input: text } } : { function: { ...its, arguments: text } }
  return { tool_calls: [{ index, ...first, ...body }] }
}
