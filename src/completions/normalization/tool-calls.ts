// Calls of tools as servers leave them unfinished: without an id or a type, with arguments that are no text. A client sends them back as it got them,
// and has to tell one from another.

import { guardChoiceCount, guardToolCallCount, ToolCallReader } from '../../models/providers/openai/tool-call-reader.ts'
import { MAX_TOOL_CALLS } from '../../models/providers/shared/provider-data-validation.ts'
import type { Platform } from '../../platform.ts'
import { AS_JSON_TEXT } from '../json/value-diff.ts'
import { isMissing, isNonEmptyText, isRecord, type JsonRecord, withFields, withItems } from '../json/values.ts'

/** Looks at all choices of an answer, or of a chunk, before any of them is mended. @throws Malformed where they, or their calls together, are too many */
export function refuseTooManyChoices(choices: readonly unknown[], said: 'message' | 'delta'): void {
  guardChoiceCount(choices.length)
  guardToolCallCount(
    choices.reduce<number>((sum, choice) => sum + countToolCalls(isRecord(choice) ? choice[said] : null), 0),
  )
}

function countToolCalls(said: unknown): number {
  return isRecord(said) && Array.isArray(said.tool_calls) ? said.tool_calls.length : 0
}

/** A call of a whole answer; itself where it lacks nothing. */
export function normalizeToolCall(call: unknown, platform: Pick<Platform, 'id'>): unknown {
  if (!isRecord(call)) return call
  const { id, type } = call
  return withFields(call, {
    id: isNonEmptyText(id) ? id : platform.id('call'),
    type: isNonEmptyText(type) ? type : detectToolType(call),
    ...normalizeFunction(call, '{}'),
  })
}

/** The calls in the chunks of one answer: the first piece of each has what it lacks, and all have the number of their call. */
export class StreamedToolCalls {
  readonly #choices = new Map<unknown, ChoiceToolCalls>()
  #count = 0

  /** The chunk itself where nothing is missing. Each chunk with calls is to be shown, in order. @throws Malformed where there are too many */
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
  /** What the client knows each call by. */
  readonly #client_indexes: number[] = []
  readonly #used_indexes = new Set<number>()
  /** Above all that are taken. */
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

  /** Its server's own number, where no other call has it. Clients keep calls in lists: a number is no longer than a list of them may be. */
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

/** Its function, with arguments that are text. `none` stands for those that are not there. */
function normalizeFunction({ function: called }: JsonRecord, none?: string): JsonRecord {
  if (!isRecord(called)) return {}
  const { arguments: given } = called
  if (typeof given === 'string' || (isMissing(given) && none === undefined)) return {}
  return { function: { ...called, arguments: isMissing(given) ? none : AS_JSON_TEXT } }
}
