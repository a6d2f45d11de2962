// Reads a streamed answer of Anthropic's Messages API: events become parts. Unknown events and blocks are ignored.

import type { CompletionPart, FinishReason, TokenCounts } from '../../provider.ts'
import type { ProviderError, ProviderFault } from '../../provider-error.ts'
import { MalformedDataError } from '../shared/provider-data-validation.ts'
import type { ToolNameMapping } from '../shared/tool-name-mapping.ts'
import { parseVendorError, readField, type VendorErrorBody } from '../shared/vendor-errors.ts'
import type { ThinkingBlocks } from './request.ts'

const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
}

/** By Anthropic's error types; for other types the status decides. */
const FAULTS_BY_ERROR_TYPE: Readonly<Record<string, ProviderFault>> = {
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

export function mapAnthropicError({ type }: VendorErrorBody): ProviderFault | null {
  return Object.hasOwn(FAULTS_BY_ERROR_TYPE, type) ? FAULTS_BY_ERROR_TYPE[type]! : null
}

interface AnthropicAnswerHandlers {
  readonly names: ToolNameMapping
  /** Converts the vendor's error object. */
  createError(fault: ProviderFault, told: VendorErrorBody): ProviderError
  /** Keeps the thinking before the first tool call. */
  storeThinking(id: string, thoughts: ThinkingBlocks): void
  /** Receives the token counts so far. */
  reportUsage(counted: TokenCounts): void
}

type ContentBlock =
  | { readonly type: 'tool_use'; readonly index: number; input: string; written: boolean }
  | { readonly type: 'thinking'; thinking: string; signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string }

/** In characters, of the kept content of an answer's blocks, plus a charge for each block: more than any answer may have. */
const MAX_BLOCKS_LENGTH = 16_777_216
const CHARACTERS_PER_BLOCK = 100

const USAGE_FIELDS = [
  'input_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
  'output_tokens',
] as const

export class AnthropicAnswerReader {
  readonly #handlers: AnthropicAnswerHandlers
  /** Open blocks by their index in the answer, without text blocks. */
  readonly #blocks = new Map<number | null, ContentBlock>()
  #blocksLength = 0
  readonly #counts: Record<(typeof USAGE_FIELDS)[number], number> = {
    input_tokens: 0,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 0,
  }
  #callCount = 0
  #finish: FinishReason | null = null
  /** The thinking blocks before any other content. */
  #leadingThinking: ContentBlock[] = []
  #hasSpoken = false

  constructor(reading: AnthropicAnswerHandlers) {
    this.#handlers = reading
  }

  /** @throws ProviderError where the event is an error; MalformedDataError where the blocks are too long */
  readEvent(event: unknown): CompletionPart[] {
    const index = readField(event, 'index')
    const place = typeof index === 'number' ? index : null
    const readers: Readonly<Record<string, () => CompletionPart[]>> = {
      message_start: () => this.#readUsage(readField(readField(event, 'message'), 'usage')),
      content_block_start: () => this.#startBlock(place, readField(event, 'content_block')),
      content_block_delta: () => this.#readDelta(place, readField(event, 'delta')),
      content_block_stop: () => this.#stopBlock(place),
      message_delta: () => this.#readEnding(readField(event, 'delta'), readField(event, 'usage')),
      error: () => this.#throwError(event),
    }
    const type = readField(event, 'type')
    return typeof type === 'string' && Object.hasOwn(readers, type) ? readers[type]!() : []
  }

  /** Gives the last part; null where the answer broke off. */
  createEndPart(): CompletionPart | null {
    if (this.#finish === null) return null
    return { type: 'end', usage: { ...this.#totalUsage(), cost: null }, finish_reason: this.#finish }
  }

  #totalUsage(): TokenCounts {
    const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens } = this.#counts
    return { input_tokens: input_tokens + cache_creation_input_tokens + cache_read_input_tokens, output_tokens }
  }

  /** Counts are of the whole answer so far: later ones replace earlier ones. */
  #readUsage(usage: unknown): CompletionPart[] {
    for (const name of USAGE_FIELDS) {
      const count = readField(usage, name)
      if (Number.isSafeInteger(count) && (count as number) >= 0) this.#counts[name] = count as number
    }
    this.#handlers.reportUsage(this.#totalUsage())
    return []
  }

  #startBlock(place: number | null, block: unknown): CompletionPart[] {
    const [type, text] = [readField(block, 'type'), readField(block, 'text')]
    if (type === 'thinking') {
      const thinking = readText(readField(block, 'thinking'))
      this.#startThinking(place, { type, thinking, signature: readText(readField(block, 'signature')) })
      return thinking === '' ? [] : [{ type: 'thinking', text: thinking }]
    }
    if (type === 'redacted_thinking') {
      this.#startThinking(place, { type, data: readText(readField(block, 'data')) })
      return []
    }
    if (type === 'text') {
      this.#hasSpoken = true
      return readText(text) === '' ? [] : [{ type: 'text', text: readText(text) }]
    }
    return type === 'tool_use' ? this.#startToolCall(place, block) : []
  }

  #startThinking(place: number | null, block: ContentBlock): void {
    this.#addBlock(place, block)
    if (!this.#hasSpoken) this.#leadingThinking.push(block)
  }

  #addBlock(place: number | null, block: ContentBlock): void {
    this.#blocks.set(place, block)
    this.#countLength(CHARACTERS_PER_BLOCK)
    for (const text of Object.values(block)) if (typeof text === 'string') this.#countLength(text.length)
  }

  #countLength(length: number): void {
    this.#blocksLength += length
    if (this.#blocksLength > MAX_BLOCKS_LENGTH)
      throw new MalformedDataError(`blocks of more than ${MAX_BLOCKS_LENGTH} characters`)
  }

  #startToolCall(place: number | null, block: unknown): CompletionPart[] {
    const [id, name, input] = [readField(block, 'id'), readField(block, 'name'), readField(block, 'input')]
    const index = this.#callCount++
    this.#addBlock(place, { type: 'tool_use', index, input: JSON.stringify(input ?? {}), written: false })
    if (index === 0 && typeof id === 'string' && this.#leadingThinking.length > 0)
      this.#handlers.storeThinking(
        id,
        this.#leadingThinking.map((one) => ({ ...one })),
      )
    this.#hasSpoken = true
    return [
      {
        type: 'tool_call',
        index,
        id: readText(id),
        name: this.#handlers.names.fromVendorName(readText(name)),
        arguments: '',
      },
    ]
  }

  #readDelta(place: number | null, delta: unknown): CompletionPart[] {
    const block = this.#blocks.get(place)
    const text = (name: string) => readText(readField(delta, name))
    const readers: Readonly<Record<string, () => CompletionPart[]>> = {
      text_delta: () => [{ type: 'text', text: text('text') }],
      thinking_delta: () => {
        this.#countLength(text('thinking').length)
        if (block?.type === 'thinking') block.thinking += text('thinking')
        return [{ type: 'thinking', text: text('thinking') }]
      },
      signature_delta: () => {
        this.#countLength(text('signature').length)
        if (block?.type === 'thinking') block.signature += text('signature')
        return []
      },
      input_json_delta: () => {
        if (block?.type !== 'tool_use' || text('partial_json') === '') return []
        block.written = true
        return [{ type: 'tool_call', index: block.index, arguments: text('partial_json') }]
      },
    }
    const type = readField(delta, 'type')
    return typeof type === 'string' && Object.hasOwn(readers, type) ? readers[type]!() : []
  }

  /** A call without argument deltas has its arguments from its start event. */
  #stopBlock(place: number | null): CompletionPart[] {
    const block = this.#blocks.get(place)
    this.#blocks.delete(place)
    if (block?.type !== 'tool_use' || block.written) return []
    return [{ type: 'tool_call', index: block.index, arguments: block.input }]
  }

  #readEnding(delta: unknown, usage: unknown): CompletionPart[] {
    this.#readUsage(usage)
    const reason = readField(delta, 'stop_reason')
    if (typeof reason !== 'string') return []
    this.#finish = Object.hasOwn(FINISH_REASONS, reason) ? FINISH_REASONS[reason]! : 'stop'
    const why = readText(readField(readField(delta, 'stop_details'), 'explanation'))
    return reason === 'refusal' && why !== '' ? [{ type: 'refusal', text: why }] : []
  }

  #throwError(event: unknown): never {
    const told = parseVendorError(event)
    throw this.#handlers.createError(mapAnthropicError(told) ?? 'failed', told)
  }
}

function readText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
