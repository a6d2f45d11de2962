// Reads a streamed answer of the Gemini API: chunks become parts. Unknown content is ignored.

import type { CompletionPart, FinishReason, TokenCounts } from '../../provider.ts'
import type { ProviderError, ProviderFault } from '../../provider-error.ts'
import { MalformedDataError } from '../shared/provider-data-validation.ts'
import type { ToolNameMapping } from '../shared/tool-name-mapping.ts'
import { parseVendorError, readField, type VendorErrorBody } from '../shared/vendor-errors.ts'
import type { GoogleCallState } from './request.ts'

const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  STOP: 'stop',
  MAX_TOKENS: 'length',
  SAFETY: 'content_filter',
  RECITATION: 'content_filter',
  LANGUAGE: 'content_filter',
  BLOCKLIST: 'content_filter',
  PROHIBITED_CONTENT: 'content_filter',
  SPII: 'content_filter',
  IMAGE_SAFETY: 'content_filter',
  IMAGE_PROHIBITED_CONTENT: 'content_filter',
  IMAGE_RECITATION: 'content_filter',
}

/** In one chunk, which is read in one go. Usual chunks have a few. */
const MAX_PARTS = 10_000

/** The model itself failed: the partial answer is useless. */
const FAILURE_REASONS = /^(?:MALFORMED_|UNEXPECTED_TOOL_CALL|TOO_MANY_TOOL_CALLS|MISSING_THOUGHT_SIGNATURE)/

/** By the names of google.rpc.Code. */
const FAULTS_BY_ERROR_STATUS: Readonly<Record<string, ProviderFault>> = {
  INVALID_ARGUMENT: 'rejected',
  FAILED_PRECONDITION: 'rejected',
  OUT_OF_RANGE: 'rejected',
  UNAUTHENTICATED: 'no_key',
  PERMISSION_DENIED: 'no_key',
  NOT_FOUND: 'not_found',
  RESOURCE_EXHAUSTED: 'rate_limited',
  DEADLINE_EXCEEDED: 'timed_out',
  INTERNAL: 'failed',
  UNAVAILABLE: 'failed',
  UNKNOWN: 'failed',
}

/** Google reports an invalid key as INVALID_ARGUMENT: only the message tells. */
const WRONG_KEY_MESSAGE = /^API[ _]key (?:not valid|expired|not found)/i

export function mapGoogleError({ type, message }: VendorErrorBody): ProviderFault | null {
  if (WRONG_KEY_MESSAGE.test(message)) return 'no_key'
  return Object.hasOwn(FAULTS_BY_ERROR_STATUS, type) ? FAULTS_BY_ERROR_STATUS[type]! : null
}

interface GoogleAnswerHandlers {
  readonly names: ToolNameMapping
  /** Converts the vendor's error object. */
  createError(fault: ProviderFault, told: VendorErrorBody): ProviderError
  /** Makes an id for a tool call. */
  newId(): string
  /** Keeps the state that came with a call. */
  storeCallState(id: string, sealed: GoogleCallState): void
  /** Receives the token counts so far. */
  reportUsage(counted: TokenCounts): void
}

export class GoogleAnswerReader {
  readonly #handlers: GoogleAnswerHandlers
  #callCount = 0
  #finish: FinishReason | null = null
  #input_tokens = 0
  #output_tokens = 0

  constructor(reading: GoogleAnswerHandlers) {
    this.#handlers = reading
  }

  /** @throws ProviderError where the chunk is an error, or says that the model failed; MalformedDataError where it has too many parts */
  readChunk(chunk: unknown): CompletionPart[] {
    if (readField(chunk, 'error') !== undefined) {
      const told = parseVendorError(chunk)
      throw this.#handlers.createError(mapGoogleError(told) ?? 'failed', told)
    }
    this.#readUsage(readField(chunk, 'usageMetadata'))
    if (typeof readField(readField(chunk, 'promptFeedback'), 'blockReason') === 'string')
      this.#finish = 'content_filter'
    const candidates = readField(chunk, 'candidates')
    const candidate: unknown = Array.isArray(candidates) ? candidates[0] : null
    const parts = readField(readField(candidate, 'content'), 'parts')
    const given: readonly unknown[] = Array.isArray(parts) ? parts : []
    if (given.length > MAX_PARTS) throw new MalformedDataError(`more than ${MAX_PARTS} parts in one chunk`)
    const read = given.flatMap((part) => this.#readPart(part))
    this.#readEnding(readField(candidate, 'finishReason'))
    return read
  }

  /** Gives the last part; null where the answer broke off. */
  createEndPart(): CompletionPart | null {
    if (this.#finish === null) return null
    const finish_reason = this.#finish === 'stop' && this.#callCount > 0 ? 'tool_calls' : this.#finish
    const usage = { input_tokens: this.#input_tokens, output_tokens: this.#output_tokens, cost: null }
    return { type: 'end', usage, finish_reason }
  }

  /** Counts are of the whole answer so far. The tokens of thoughts are counted apart from the candidates. */
  #readUsage(usage: unknown): void {
    if (usage === undefined) return
    this.#input_tokens = sumCounts(usage, 'promptTokenCount', 'toolUsePromptTokenCount') || this.#input_tokens
    this.#output_tokens = sumCounts(usage, 'candidatesTokenCount', 'thoughtsTokenCount') || this.#output_tokens
    this.#handlers.reportUsage({ input_tokens: this.#input_tokens, output_tokens: this.#output_tokens })
  }

  #readPart(part: unknown): CompletionPart[] {
    const call = readField(part, 'functionCall')
    if (call !== undefined) return [this.#readToolCall(call, readField(part, 'thoughtSignature'))]
    const text = readField(part, 'text')
    if (typeof text !== 'string' || text === '') return []
    return [{ type: readField(part, 'thought') === true ? 'thinking' : 'text', text }]
  }

  #readToolCall(call: unknown, signature: unknown): CompletionPart {
    const [googleId, name, args] = [readField(call, 'id'), readField(call, 'name'), readField(call, 'args')]
    const id = this.#handlers.newId()
    const sealed = {
      id: typeof googleId === 'string' ? googleId : null,
      signature: typeof signature === 'string' ? signature : null,
    }
    if (sealed.id !== null || sealed.signature !== null) this.#handlers.storeCallState(id, sealed)
    return {
      type: 'tool_call',
      index: this.#callCount++,
      id,
      name: this.#handlers.names.fromVendorName(typeof name === 'string' ? name : ''),
      arguments: JSON.stringify(args ?? {}),
    }
  }

  #readEnding(reason: unknown): void {
    if (typeof reason !== 'string') return
    if (FAILURE_REASONS.test(reason))
      throw this.#handlers.createError('failed', { type: reason, message: `the answer ended with ${reason}` })
    this.#finish = Object.hasOwn(FINISH_REASONS, reason) ? FINISH_REASONS[reason]! : 'stop'
  }
}

function sumCounts(usage: unknown, ...names: readonly string[]): number {
  return names.reduce((all, name) => {
    const count = readField(usage, name)
    return Number.isSafeInteger(count) && (count as number) > 0 ? all + (count as number) : all
  }, 0)
}
