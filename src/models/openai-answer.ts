// The answer of a server that speaks OpenAI's protocol, from its chunks or as a whole, as parts. Only its first choice counts.
import { callPieces, guardChoices, ToolCalls } from './openai-calls.ts'
import { type Asked, errorInStream, senseless } from './openai-errors.ts'
import { failureIn } from './openai-events.ts'
import { errorText } from './openai-told.ts'
import type { CompletionPart, FinishReason, ProviderContext, Usage } from './provider.ts'

const FINISHES: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  max_tokens: 'length',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
}

type Json = Readonly<Record<string, unknown>>

export class OpenAiAnswer {
  readonly #asked: Asked
  readonly #heard: ProviderContext['heard']
  readonly #calls = new ToolCalls()
  #usage: Usage = { input_tokens: 0, output_tokens: 0, cost: null }
  #finish: FinishReason | null = null

  /** The answer has begun. */
  constructor(asked: Asked, heard: ProviderContext['heard']) {
    this.#asked = asked
    this.#heard = heard
    heard?.(null)
  }

  /** Whether the server has said why it ends. */
  get finished(): boolean {
    return this.#finish !== null
  }

  /** The parts of one chunk of a stream, or of a whole answer. @throws ProviderError; Malformed where it has too many choices, or calls too many tools */
  take(body: unknown): CompletionPart[] {
    if (!isRecord(body)) throw senseless(this.#asked, 'something that is no answer')
    const failure = failureIn(body)
    if (failure) throw errorInStream(this.#asked, errorText(failure))
    this.#count(body.usage)
    const choices = Array.isArray(body.choices) ? body.choices : []
    guardChoices(choices.length)
    const choice: unknown = choices.find((one) => isRecord(one) && (one.index ?? 0) === 0)
    if (!isRecord(choice)) return []
    const { finish_reason } = choice
    const said = isRecord(choice.delta) ? choice.delta : isRecord(choice.message) ? choice.message : {}
    const parts = this.#parts(said)
    if (typeof finish_reason === 'string' && finish_reason !== '') this.#finish = FINISHES[finish_reason] ?? 'stop'
    return parts
  }

  /** The last part. */
  end(): CompletionPart {
    const finish = this.#finish ?? 'stop'
    // Some say that they just stop where they call tools.
    const finish_reason = finish === 'stop' && this.#calls.any ? 'tool_calls' : finish
    return { type: 'end', usage: this.#usage, finish_reason }
  }

  #parts(said: Json): CompletionPart[] {
    const parts: CompletionPart[] = []
    const add = (type: 'text' | 'thinking' | 'refusal', text: string) => {
      if (text !== '') parts.push({ type, text })
    }
    add('thinking', textOf(said.reasoning_content) || textOf(said.reasoning))
    add('text', textOf(said.content))
    add('refusal', textOf(said.refusal))
    const old = isRecord(said.function_call) ? [{ index: 0, function: said.function_call }] : []
    for (const piece of [...callPieces(said.tool_calls), ...old]) {
      const part = this.#calls.read(piece)
      if (part) parts.push(part)
    }
    return parts
  }

  /** Some count in each chunk: the last count is the whole. */
  #count(usage: unknown): void {
    if (!isRecord(usage)) return
    const { prompt_tokens, completion_tokens, cost } = usage
    this.#usage = {
      input_tokens: typeof prompt_tokens === 'number' ? prompt_tokens : this.#usage.input_tokens,
      output_tokens: typeof completion_tokens === 'number' ? completion_tokens : this.#usage.output_tokens,
      cost: typeof cost === 'number' ? cost : this.#usage.cost,
    }
    this.#heard?.(this.#usage)
  }
}

/** A text, or a list of parts with texts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part) => (isRecord(part) && typeof part.text === 'string' ? part.text : '')).join('')
}

function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null
}
