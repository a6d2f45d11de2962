// Reads an answer in OpenAI's protocol as parts, from stream chunks or from a whole body. Only the first choice counts.

import { isObject } from '../../../shared/record.ts'
import type { CompletionPart, FinishReason, ProviderContext, Usage } from '../../provider.ts'
import { stringifyErrorBody } from './error-body.ts'
import { createMalformedAnswerError, createStreamError, type ServerCredentials } from './errors.ts'
import { findFailure } from './event-classification.ts'
import { guardChoiceCount, listToolCallPieces, ToolCallReader } from './tool-call-reader.ts'

const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  max_tokens: 'length',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
}

type JsonRecord = Readonly<Record<string, unknown>>

export class OpenAiAnswerReader {
  readonly #server: ServerCredentials
  readonly #heard: ProviderContext['heard']
  readonly #toolCalls = new ToolCallReader()
  #usage: Usage = { input_tokens: 0, output_tokens: 0, cost: null }
  #finish: FinishReason | null = null

  /** Reports that the answer has begun. */
  constructor(server: ServerCredentials, heard: ProviderContext['heard']) {
    this.#server = server
    this.#heard = heard
    heard?.(null)
  }

  /** Whether the server has sent a finish reason. */
  get isFinished(): boolean {
    return this.#finish !== null
  }

  /** Reads one chunk of a stream, or a whole answer. @throws ProviderError; MalformedDataError for too many choices or tool calls */
  readChunk(body: unknown): CompletionPart[] {
    if (!isObject(body)) throw createMalformedAnswerError(this.#server, 'an invalid answer')
    const failure = findFailure(body)
    if (failure) throw createStreamError(this.#server, stringifyErrorBody(failure))
    this.#readUsage(body.usage)
    const choices = Array.isArray(body.choices) ? body.choices : []
    guardChoiceCount(choices.length)
    const choice: unknown = choices.find((one) => isObject(one) && (one.index ?? 0) === 0)
    if (!isObject(choice)) return []
    const { finish_reason } = choice
    const delta = isObject(choice.delta) ? choice.delta : isObject(choice.message) ? choice.message : {}
    const parts = this.#readParts(delta)
    if (typeof finish_reason === 'string' && finish_reason !== '')
      this.#finish = FINISH_REASONS[finish_reason] ?? 'stop'
    return parts
  }

  createEndPart(): CompletionPart {
    const finish = this.#finish ?? 'stop'
    // Some servers send the reason `stop` although they call tools.
    const finish_reason = finish === 'stop' && this.#toolCalls.hasCalls ? 'tool_calls' : finish
    return { type: 'end', usage: this.#usage, finish_reason }
  }

  #readParts(delta: JsonRecord): CompletionPart[] {
    const parts: CompletionPart[] = []
    const add = (type: 'text' | 'thinking' | 'refusal', text: string) => {
      if (text !== '') parts.push({ type, text })
    }
    add('thinking', readText(delta.reasoning_content) || readText(delta.reasoning))
    add('text', readText(delta.content))
    add('refusal', readText(delta.refusal))
    const legacyCalls = isObject(delta.function_call) ? [{ index: 0, function: delta.function_call }] : []
    for (const piece of [...listToolCallPieces(delta.tool_calls), ...legacyCalls]) {
      const part = this.#toolCalls.readPiece(piece)
      if (part) parts.push(part)
    }
    return parts
  }

  /** Some servers count in each chunk: the last count is the total. */
  #readUsage(usage: unknown): void {
    if (!isObject(usage)) return
    const { prompt_tokens, completion_tokens, cost } = usage
    this.#usage = {
      input_tokens: typeof prompt_tokens === 'number' ? prompt_tokens : this.#usage.input_tokens,
      output_tokens: typeof completion_tokens === 'number' ? completion_tokens : this.#usage.output_tokens,
      cost: typeof cost === 'number' ? cost : this.#usage.cost,
    }
    this.#heard?.(this.#usage)
  }
}

/** Content is a string, or a list of parts with texts. */
function readText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : '')).join('')
}
