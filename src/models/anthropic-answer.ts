// One answer of Anthropic's Messages API as it is streamed: its events, read as parts. Events and blocks that are not known mean nothing here.
import type { Thoughts } from './anthropic-request.ts'
import { Malformed } from './checked.ts'
import type { CompletionPart, Counted, FinishReason } from './provider.ts'
import type { ProviderError, ProviderFault } from './provider-error.ts'
import { field, toldIn, type VendorFault } from './vendor-errors.ts'
import type { ToolNames } from './vendor-names.ts'

const FINISHES: Readonly<Record<string, FinishReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
}

/** By Anthropic's words for errors; what is not here is told by the status. */
const FAULTS: Readonly<Record<string, ProviderFault>> = {
  invalid_request_error: 'rejected',
  request_too_large: 'rejected',
  authentication_error: 'no_key',
  permission_error: 'no_key',
  not_found_error: 'not_found',
  rate_limit_error: 'rate_limited',
  timeout_error: 'timed_out',
  overloaded_error: 'failed',
  api_error: 'failed',
  billing_error: 'failed',
}

export function anthropicFault({ type }: VendorFault): ProviderFault | null {
  return Object.hasOwn(FAULTS, type) ? FAULTS[type]! : null
}

interface Reading {
  readonly names: ToolNames
  /** Makes an error out of what the vendor says. */
  failed(fault: ProviderFault, told: VendorFault): ProviderError
  /** What was thought before the first call of a tool. */
  thought(id: string, thoughts: Thoughts): void
  /** What was used so far. */
  counted(counted: Counted): void
}

type Block =
  | { readonly type: 'tool_use'; readonly index: number; input: string; written: boolean }
  | { readonly type: 'thinking'; thinking: string; signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string }

/** In characters, of what is kept of an answer's blocks, each of which takes some itself: more than any answer may have. */
const MOST_KEPT = 16_777_216
const BLOCK = 100

const COUNTS = ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens', 'output_tokens'] as const

export class AnthropicAnswer {
  readonly #reading: Reading
  /** By their place in the answer. Texts are not among them. */
  readonly #blocks = new Map<number | null, Block>()
  #kept = 0
  readonly #counts: Record<(typeof COUNTS)[number], number> = {
    input_tokens: 0,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 0,
  }
  #calls = 0
  #finish: FinishReason | null = null
  /** Of what was thought, while nothing else was said. */
  #leading: Block[] = []
  #spoke = false

  constructor(reading: Reading) {
    this.#reading = reading
  }

  /** @throws ProviderError where the event is an error; Malformed where blocks have no end */
  read(event: unknown): CompletionPart[] {
    const index = field(event, 'index')
    const place = typeof index === 'number' ? index : null
    const readers: Readonly<Record<string, () => CompletionPart[]>> = {
      message_start: () => this.#count(field(field(event, 'message'), 'usage')),
      content_block_start: () => this.#start(place, field(event, 'content_block')),
      content_block_delta: () => this.#delta(place, field(event, 'delta')),
      content_block_stop: () => this.#stop(place),
      message_delta: () => this.#ending(field(event, 'delta'), field(event, 'usage')),
      error: () => this.#fail(event),
    }
    const type = field(event, 'type')
    return typeof type === 'string' && Object.hasOwn(readers, type) ? readers[type]!() : []
  }

  /** The last part; null where the answer broke off before its end. */
  end(): CompletionPart | null {
    if (this.#finish === null) return null
    return { type: 'end', usage: { ...this.#used(), cost: null }, finish_reason: this.#finish }
  }

  #used(): Counted {
    const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens } = this.#counts
    return { input_tokens: input_tokens + cache_creation_input_tokens + cache_read_input_tokens, output_tokens }
  }

  /** Counts are of the whole answer so far: later ones replace earlier ones. */
  #count(usage: unknown): CompletionPart[] {
    for (const name of COUNTS) {
      const count = field(usage, name)
      if (Number.isSafeInteger(count) && (count as number) >= 0) this.#counts[name] = count as number
    }
    this.#reading.counted(this.#used())
    return []
  }

  #start(place: number | null, block: unknown): CompletionPart[] {
    const [type, text] = [field(block, 'type'), field(block, 'text')]
    if (type === 'thinking') {
      const thinking = textOf(field(block, 'thinking'))
      this.#thinks(place, { type, thinking, signature: textOf(field(block, 'signature')) })
      return thinking === '' ? [] : [{ type: 'thinking', text: thinking }]
    }
    if (type === 'redacted_thinking') {
      this.#thinks(place, { type, data: textOf(field(block, 'data')) })
      return []
    }
    if (type === 'text') {
      this.#spoke = true
      return textOf(text) === '' ? [] : [{ type: 'text', text: textOf(text) }]
    }
    return type === 'tool_use' ? this.#call(place, block) : []
  }

  #thinks(place: number | null, block: Block): void {
    this.#begin(place, block)
    if (!this.#spoke) this.#leading.push(block)
  }

  #begin(place: number | null, block: Block): void {
    this.#blocks.set(place, block)
    this.#keep(BLOCK)
    for (const text of Object.values(block)) if (typeof text === 'string') this.#keep(text.length)
  }

  #keep(length: number): void {
    this.#kept += length
    if (this.#kept > MOST_KEPT) throw new Malformed('blocks without an end')
  }

  #call(place: number | null, block: unknown): CompletionPart[] {
    const [id, name, input] = [field(block, 'id'), field(block, 'name'), field(block, 'input')]
    const index = this.#calls++
    this.#begin(place, { type: 'tool_use', index, input: JSON.stringify(input ?? {}), written: false })
    if (index === 0 && typeof id === 'string' && this.#leading.length > 0)
      this.#reading.thought(
        id,
        this.#leading.map((one) => ({ ...one })),
      )
    this.#spoke = true
    return [{ type: 'tool_call', index, id: textOf(id), name: this.#reading.names.back(textOf(name)), arguments: '' }]
  }

  #delta(place: number | null, delta: unknown): CompletionPart[] {
    const block = this.#blocks.get(place)
    const text = (name: string) => textOf(field(delta, name))
    const readers: Readonly<Record<string, () => CompletionPart[]>> = {
      text_delta: () => [{ type: 'text', text: text('text') }],
      thinking_delta: () => {
        this.#keep(text('thinking').length)
        if (block?.type === 'thinking') block.thinking += text('thinking')
        return [{ type: 'thinking', text: text('thinking') }]
      },
      signature_delta: () => {
        this.#keep(text('signature').length)
        if (block?.type === 'thinking') block.signature += text('signature')
        return []
      },
      input_json_delta: () => {
        if (block?.type !== 'tool_use' || text('partial_json') === '') return []
        block.written = true
        return [{ type: 'tool_call', index: block.index, arguments: text('partial_json') }]
      },
    }
    const type = field(delta, 'type')
    return typeof type === 'string' && Object.hasOwn(readers, type) ? readers[type]!() : []
  }

  /** A call whose arguments did not come in pieces has them from its start. */
  #stop(place: number | null): CompletionPart[] {
    const block = this.#blocks.get(place)
    this.#blocks.delete(place)
    if (block?.type !== 'tool_use' || block.written) return []
    return [{ type: 'tool_call', index: block.index, arguments: block.input }]
  }

  #ending(delta: unknown, usage: unknown): CompletionPart[] {
    this.#count(usage)
    const reason = field(delta, 'stop_reason')
    if (typeof reason !== 'string') return []
    this.#finish = Object.hasOwn(FINISHES, reason) ? FINISHES[reason]! : 'stop'
    const why = textOf(field(field(delta, 'stop_details'), 'explanation'))
    return reason === 'refusal' && why !== '' ? [{ type: 'refusal', text: why }] : []
  }

  #fail(event: unknown): never {
    const told = toldIn(event)
    throw this.#reading.failed(anthropicFault(told) ?? 'failed', told)
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
