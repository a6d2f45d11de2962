// Parts of an answer in OpenAI's form: joined to one completion, or one by one as the chunks of a stream.
import type { ChatCompletion, ChatCompletionChunk, CompletionUsage, ToolCall } from '../../generated/types.ts'
import type { ModelToolCall, ModelUse } from '../engine/services.ts'
import type { Platform } from '../platform.ts'
import type { AnswerPart } from './answering.ts'

/** What all chunks of an answer say of it. */
export interface AnswerHead {
  readonly id: string
  /** Unix seconds. */
  readonly created: number
  readonly model: string
}

/** With a dash, as OpenAI's are. */
export function completionId(platform: Pick<Platform, 'id'>): string {
  return platform.id('chatcmpl').replace('_', '-')
}

type Delta = ChatCompletionChunk['choices'][number]['delta']
type Message = ChatCompletion['choices'][number]['message']

export function usageOf({
  input_tokens,
  output_tokens,
}: Pick<ModelUse, 'input_tokens' | 'output_tokens'>): CompletionUsage {
  return {
    prompt_tokens: input_tokens,
    completion_tokens: output_tokens,
    total_tokens: input_tokens + output_tokens,
  }
}

/** The whole answer. @throws what the parts throw */
export async function completionOf(parts: AsyncIterable<AnswerPart>, head: AnswerHead): Promise<ChatCompletion> {
  const joined = new Joined()
  let finish_reason = 'stop'
  let usage = usageOf({ input_tokens: 0, output_tokens: 0 })
  for await (const part of parts) {
    if (part.type === 'end') {
      finish_reason = part.finish_reason
      usage = usageOf(part.use)
    } else if (part.type !== 'job') joined.add(part)
  }
  const choices = [{ index: 0, message: joined.message(), logprobs: null, finish_reason }]
  return { id: head.id, object: 'chat.completion', created: head.created, model: head.model, choices, usage }
}

/** The pieces of one message, as they come. */
export class Joined {
  readonly #texts = { text: '', thinking: '', refusal: '' }
  readonly #calls = new Map<number, { custom: boolean; id: string; name: string; text: string }>()

  add(part: Exclude<AnswerPart, { type: 'end' | 'job' }>): void {
    if (part.type === 'tool_call') this.#addCall(part)
    else this.#texts[part.type] += part.text
  }

  get text(): string {
    return this.#texts.text
  }

  get thinking(): string {
    return this.#texts.thinking
  }

  /** In the order of their indexes. */
  calls(): ToolCall[] {
    return [...this.#calls]
      .sort(([a], [b]) => a - b)
      .map(([, { custom, id, name, text }]) =>
        custom
          ? { id, type: 'custom', custom: { name, input: text } }
          : { id, type: 'function', function: { name, arguments: text } },
      )
  }

  message(): Message {
    const { text, thinking, refusal } = this.#texts
    const tool_calls = this.calls()
    const content = text === '' && (tool_calls.length > 0 || refusal !== '') ? null : text
    return {
      role: 'assistant',
      content,
      refusal: refusal === '' ? null : refusal,
      ...(thinking === '' ? {} : { reasoning_content: thinking }),
      ...(tool_calls.length === 0 ? {} : { tool_calls }),
    }
  }

  #addCall({ index, custom, id, name, arguments: text }: ModelToolCall): void {
    const call = this.#calls.get(index) ?? { custom: custom === true, id: '', name: '', text: '' }
    this.#calls.set(index, call)
    call.id ||= id ?? callId(index)
    call.name ||= name ?? ''
    call.text += text
  }
}

/** For providers that give a call none. */
function callId(index: number): string {
  return `call_${index}`
}

/** The chunks of a streamed answer: the role first, then its pieces, then why it ended, and what it used where that is asked for. */
export async function* chunksOf(
  parts: AsyncIterable<AnswerPart>,
  head: AnswerHead,
  include_usage: boolean,
): AsyncGenerator<ChatCompletionChunk, void, void> {
  /** By index: whether the tool is a custom one. */
  const named = new Map<number, boolean>()
  let role: Delta = { role: 'assistant', content: '' }
  const chunk = (delta: Delta, finish_reason: string | null = null): ChatCompletionChunk => {
    const choices = [{ index: 0, delta: { ...role, ...delta }, logprobs: null, finish_reason }]
    role = {}
    return chunkOf(head, choices, include_usage ? { usage: null } : {})
  }
  for await (const part of parts) {
    // What comes of a job may take long: whoever waits is told that it has begun.
    if (part.type === 'job') yield chunk({})
    else if (part.type !== 'end') yield chunk(deltaOf(part, named))
    else {
      yield chunk({}, part.finish_reason)
      if (include_usage) yield chunkOf(head, [], { usage: usageOf(part.use) })
    }
  }
}

function chunkOf(
  { id, created, model }: AnswerHead,
  choices: ChatCompletionChunk['choices'],
  more: Pick<ChatCompletionChunk, 'usage'>,
): ChatCompletionChunk {
  return { id, object: 'chat.completion.chunk', created, model, choices, ...more }
}

function deltaOf(part: Exclude<AnswerPart, { type: 'end' | 'job' }>, named: Map<number, boolean>): Delta {
  if (part.type === 'tool_call') return callDelta(part, named)
  if (part.type === 'refusal') return { refusal: part.text }
  return part.type === 'thinking' ? { reasoning_content: part.text } : { content: part.text }
}

function callDelta(part: ModelToolCall, named: Map<number, boolean>): Delta {
  const { index, id, name, arguments: text } = part
  const known = named.get(index)
  const custom = known ?? part.custom ?? false
  named.set(index, custom)
  const first = known === undefined ? { id: id ?? callId(index), type: custom ? 'custom' : 'function' } : {}
  const its = known === undefined ? { name: name ?? '' } : {}
  const body = custom ? { custom: { ...its, input: text } } : { function: { ...its, arguments: text } }
  return { tool_calls: [{ index, ...first, ...body }] }
}
