// One answer of the Gemini API as it is streamed: its chunks, read as parts. What is not known in them means nothing here.
import { Malformed } from './checked.ts'
import type { Sealed } from './google-request.ts'
import type { CompletionPart, Counted, FinishReason } from './provider.ts'
import type { ProviderError, ProviderFault } from './provider-error.ts'
import { field, toldIn, type VendorFault } from './vendor-errors.ts'
import type { ToolNames } from './vendor-names.ts'

const FINISHES: Readonly<Record<string, FinishReason>> = {
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

/** In one chunk: they are read and told in one go. Chunks have a few. */
const MOST_PARTS = 10_000

/** The model went wrong itself: what there is of an answer is of no use. */
const FAILED = /^(?:MALFORMED_|UNEXPECTED_TOOL_CALL|TOO_MANY_TOOL_CALLS|MISSING_THOUGHT_SIGNATURE)/

/** By Google's words for errors (google.rpc.Code). */
const FAULTS: Readonly<Record<string, ProviderFault>> = {
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

/** A key that is none is an argument that is none, by its words. */
const WRONG_KEY = /^API[ _]key (?:not valid|expired|not found)/i

export function googleFault({ type, message }: VendorFault): ProviderFault | null {
  if (WRONG_KEY.test(message)) return 'no_key'
  return Object.hasOwn(FAULTS, type) ? FAULTS[type]! : null
}

interface Reading {
  readonly names: ToolNames
  /** Makes an error out of what the vendor says. */
  failed(fault: ProviderFault, told: VendorFault): ProviderError
  /** A new id for a call. */
  newId(): string
  /** What came with a call. */
  sealed(id: string, sealed: Sealed): void
  /** What was used so far. */
  counted(counted: Counted): void
}

export class GoogleAnswer {
  readonly #reading: Reading
  #calls = 0
  #finish: FinishReason | null = null
  #input_tokens = 0
  #output_tokens = 0

  constructor(reading: Reading) {
    this.#reading = reading
  }

  /** @throws ProviderError where the chunk is an error, or says that the model failed; Malformed where it has parts without end */
  read(chunk: unknown): CompletionPart[] {
    if (field(chunk, 'error') !== undefined) {
      const told = toldIn(chunk)
      throw this.#reading.failed(googleFault(told) ?? 'failed', told)
    }
    this.#count(field(chunk, 'usageMetadata'))
    if (typeof field(field(chunk, 'promptFeedback'), 'blockReason') === 'string') this.#finish = 'content_filter'
    const candidates = field(chunk, 'candidates')
    const candidate: unknown = Array.isArray(candidates) ? candidates[0] : null
    const parts = field(field(candidate, 'content'), 'parts')
    const given: readonly unknown[] = Array.isArray(parts) ? parts : []
    if (given.length > MOST_PARTS) throw new Malformed(`more than ${MOST_PARTS} parts in one chunk`)
    const read = given.flatMap((part) => this.#part(part))
    this.#ending(field(candidate, 'finishReason'))
    return read
  }

  /** The last part; null where the answer broke off before its end. */
  end(): CompletionPart | null {
    if (this.#finish === null) return null
    const finish_reason = this.#finish === 'stop' && this.#calls > 0 ? 'tool_calls' : this.#finish
    const usage = { input_tokens: this.#input_tokens, output_tokens: this.#output_tokens, cost: null }
    return { type: 'end', usage, finish_reason }
  }

  /** Counts are of the whole answer so far. What it thought is not among its candidates there. */
  #count(usage: unknown): void {
    if (usage === undefined) return
    this.#input_tokens = sum(usage, 'promptTokenCount', 'toolUsePromptTokenCount') || this.#input_tokens
    this.#output_tokens = sum(usage, 'candidatesTokenCount', 'thoughtsTokenCount') || this.#output_tokens
    this.#reading.counted({ input_tokens: this.#input_tokens, output_tokens: this.#output_tokens })
  }

  #part(part: unknown): CompletionPart[] {
    const call = field(part, 'functionCall')
    if (call !== undefined) return [this.#call(call, field(part, 'thoughtSignature'))]
    const text = field(part, 'text')
    if (typeof text !== 'string' || text === '') return []
    return [{ type: field(part, 'thought') === true ? 'thinking' : 'text', text }]
  }

  #call(call: unknown, signature: unknown): CompletionPart {
    const [theirs, name, args] = [field(call, 'id'), field(call, 'name'), field(call, 'args')]
    const id = this.#reading.newId()
    const sealed = {
      id: typeof theirs === 'string' ? theirs : null,
      signature: typeof signature === 'string' ? signature : null,
    }
    if (sealed.id !== null || sealed.signature !== null) this.#reading.sealed(id, sealed)
    return {
      type: 'tool_call',
      index: this.#calls++,
      id,
      name: this.#reading.names.back(typeof name === 'string' ? name : ''),
      arguments: JSON.stringify(args ?? {}),
    }
  }

  #ending(reason: unknown): void {
    if (typeof reason !== 'string') return
    if (FAILED.test(reason))
      throw this.#reading.failed('failed', { type: reason, message: `the answer ended with ${reason}` })
    this.#finish = Object.hasOwn(FINISHES, reason) ? FINISHES[reason]! : 'stop'
  }
}

function sum(usage: unknown, ...names: readonly string[]): number {
  return names.reduce((all, name) => {
    const count = field(usage, name)
    return Number.isSafeInteger(count) && (count as number) > 0 ? all + (count as number) : all
  }, 0)
}
