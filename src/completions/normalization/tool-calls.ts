// Completes tool calls of servers: adds missing ids and types, and encodes arguments as text. A client sends the calls
// back as it received them, and must be able to tell them apart.

import { guardChoiceCount, guardToolCallCount, ToolCallReader } from '../../models/providers/openai/tool-call-reader.ts'
import { MAX_TOOL_CALLS } from '../../models/providers/shared/provider-data-validation.ts'
import type { Platform } from '../../platform.ts'
import { isRecord } from '../../shared/record.ts'
import { AS_JSON_TEXT } from '../json/value-diff.ts'
import { isMissing, isNonEmptyText, type JsonRecord, withFields, withItems } from '../json/values.ts'

/**
 * Checks all choices of an answer or a chunk before any of them is normalized.
 * @throws MalformedDataError if there are too many choices, or too many tool calls in all of them
 */
export function refuseTooManyChoices(choices: readonly unknown[], said: 'message' | 'delta'): void {
  guardChoiceCount(choices.length)
  guardToolCallCount(
    choices.reduce<number>((sum, choice) => sum + countToolCalls(isRecord(choice) ? choice[said] : null), 0),
  )
}

function countToolCalls(said: unknown): number {
  return isRecord(said) && Array.isArray(said.tool_calls) ? said.tool_calls.length : 0
}

/** Completes a tool call of a buffered answer. Returns the same call if no field is missing. */
export function normalizeToolCall(call: unknown, platform: Pick<Platform, 'id'>): unknown {
  if (!isRecord(call)) return call
  const { id, type } = call
  return withFields(call, {
    id: isNonEmptyText(id) ? id : platform.id('call'),
    type: isNonEmptyText(type) ? type : detectToolType(call),
    ...normalizeFunction(call, '{}'),
  })
}

/**
 * Completes the tool calls in the chunks of one answer. The first piece of a call gets missing fields, and all pieces
 * get the index of their call.
 */
export class StreamedToolCalls {
  readonly #choices = new Map<unknown, ChoiceToolCalls>()
  #count = 0

  /**
   * Returns the same chunk if no field is missing. The caller passes every chunk with tool calls, in order.
   * @throws MalformedDataError if there are too many choices or calls
   */
  normalize(chunk: JsonRecord): JsonRecord {
    const { choices } = chunk
    if (!Array.isArray(choices)) return chunk
    refuseTooManyChoices(choices, 'delta')
    return withFields(chunk, { choices: withItems(choices, this.#normalizeChoice) })
  }

  readonly #countCall = (): void => guardToolCallCount(++this.#count)

  readonly #normalizeChoice = (choice: unknown): unknown => {
    if (!isRecord(choice) || !isRecord(choice.delta)) return choice
    const { index = 0, delta } = choice
    const { tool_calls: pieces } = delta
    if (!Array.isArray(pieces)) return choice
    const calls = this.#choices.get(index) ?? new ChoiceToolCalls(this.#countCall)
    this.#choices.set(index, calls)
    guardChoiceCount(this.#choices.size)
    return withFields(choice, { delta: withFields(delta, { tool_calls: withItems(pieces, calls.normalize) }) })
  }
}

class ChoiceToolCalls {
  readonly #calls = new ToolCallReader()
  /** The index that the client sees, by the index of the call. */
  readonly #client_indexes: number[] = []
  readonly #used_indexes = new Set<number>()
  /** The index after the highest used index. */
  #next_index = 0
  readonly #countCall: () => void

  /** `begun` is called before each new call, and may throw. */
  constructor(begun: () => void) {
    this.#countCall = begun
  }

  readonly normalize = (piece: unknown): unknown => {
    const part = this.#calls.readPiece(piece)
    if (!part || !isRecord(piece)) return piece
    const known = this.#client_indexes[part.index]
    if (known !== undefined) return withFields(piece, { index: known, ...normalizeFunction(piece) })
    this.#countCall()
    const index = this.#assignIndex(piece.index)
    this.#client_indexes[part.index] = index
    const type = isNonEmptyText(piece.type) ? piece.type : detectToolType(piece)
    return withFields(piece, { index, id: part.id, type, ...normalizeFunction(piece, '') })
  }

  /**
   * Keeps the server's index if no other call has it. Clients store calls in lists, so an index is below the allowed
   * number of calls.
   */
  #assignIndex(given: unknown): number {
    const own = Number.isSafeInteger(given) ? (given as number) : -1
    const number = own >= 0 && own < MAX_TOOL_CALLS && !this.#used_indexes.has(own) ? own : this.#next_index
    this.#used_indexes.add(number)
    this.#next_index = Math.max(this.#next_index, number + 1)
    return number
  }
}

function detectToolType(call: JsonRecord): string {
  return isRecord(call.custom) ? 'custom' : 'function'
}

/** Encodes the arguments of the function as text. `none` replaces missing arguments. */
function normalizeFunction({ function: called }: JsonRecord, none?: string): JsonRecord {
  if (!isRecord(called)) return {}
  const { arguments: given } = called
  if (typeof given === 'string' || (isMissing(given) && none === undefined)) return {}
  return { function: { ...called, arguments: isMissing(given) ? none : AS_JSON_TEXT } }
}
