// Calls of tools as servers leave them unfinished: without an id or a type, with arguments that are no text. A client sends them back as it got them,
// and has to tell one from another.
import { MOST_CALLS } from '../models/checked.ts'
import { guardCalls, guardChoices, ToolCalls } from '../models/openai-calls.ts'
import type { Platform } from '../platform.ts'
import { OWN_TEXT } from './changes.ts'
import { isMissing, isRecord, isText, type Json, withFields, withItems } from './json-values.ts'

/** Looks at all choices of an answer, or of a chunk, before any of them is mended. @throws Malformed where they, or their calls together, are too many */
export function guardAmount(choices: readonly unknown[], said: 'message' | 'delta'): void {
  guardChoices(choices.length)
  guardCalls(choices.reduce<number>((sum, choice) => sum + callsIn(isRecord(choice) ? choice[said] : null), 0))
}

function callsIn(said: unknown): number {
  return isRecord(said) && Array.isArray(said.tool_calls) ? said.tool_calls.length : 0
}

/** A call of a whole answer; itself where it lacks nothing. */
export function mendedCall(call: unknown, platform: Pick<Platform, 'id'>): unknown {
  if (!isRecord(call)) return call
  const { id, type } = call
  return withFields(call, {
    id: isText(id) ? id : platform.id('call'),
    type: isText(type) ? type : kindOf(call),
    ...functionOf(call, '{}'),
  })
}

/** The calls in the chunks of one answer: the first piece of each has what it lacks, and all have the number of their call. */
export class StreamedCalls {
  readonly #choices = new Map<unknown, ChoiceCalls>()
  #count = 0

  /** The chunk itself where nothing is missing. Each chunk with calls is to be shown, in order. @throws Malformed where there are too many */
  mended(chunk: Json): Json {
    const { choices } = chunk
    if (!Array.isArray(choices)) return chunk
    guardAmount(choices, 'delta')
    return withFields(chunk, { choices: withItems(choices, this.#choice) })
  }

  readonly #begun = (): void => guardCalls(++this.#count)

  readonly #choice = (choice: unknown): unknown => {
    if (!isRecord(choice) || !isRecord(choice.delta)) return choice
    const { index = 0, delta } = choice
    const { tool_calls: pieces } = delta
    if (!Array.isArray(pieces)) return choice
    const calls = this.#choices.get(index) ?? new ChoiceCalls(this.#begun)
    this.#choices.set(index, calls)
    guardChoices(this.#choices.size)
    return withFields(choice, { delta: withFields(delta, { tool_calls: withItems(pieces, calls.mended) }) })
  }
}

class ChoiceCalls {
  readonly #calls = new ToolCalls()
  /** What the client knows each call by. */
  readonly #numbers: number[] = []
  readonly #taken = new Set<number>()
  /** Above all that are taken. */
  #next = 0
  readonly #begun: () => void

  /** `begun` is called before each new call, and may throw. */
  constructor(begun: () => void) {
    this.#begun = begun
  }

  readonly mended = (piece: unknown): unknown => {
    const part = this.#calls.read(piece)
    if (!part || !isRecord(piece)) return piece
    const known = this.#numbers[part.index]
    if (known !== undefined) return withFields(piece, { index: known, ...functionOf(piece) })
    this.#begun()
    const index = this.#numberOf(piece.index)
    this.#numbers[part.index] = index
    const type = isText(piece.type) ? piece.type : kindOf(piece)
    return withFields(piece, { index, id: part.id, type, ...functionOf(piece, '') })
  }

  /** Its server's own number, where no other call has it. Clients keep calls in lists: a number is no longer than a list of them may be. */
  #numberOf(given: unknown): number {
    const own = Number.isSafeInteger(given) ? (given as number) : -1
    const number = own >= 0 && own < MOST_CALLS && !this.#taken.has(own) ? own : this.#next
    this.#taken.add(number)
    this.#next = Math.max(this.#next, number + 1)
    return number
  }
}

function kindOf(call: Json): string {
  return isRecord(call.custom) ? 'custom' : 'function'
}

/** Its function, with arguments that are text. `none` stands for those that are not there. */
function functionOf({ function: called }: Json, none?: string): Json {
  if (!isRecord(called)) return {}
  const { arguments: given } = called
  if (typeof given === 'string' || (isMissing(given) && none === undefined)) return {}
  return { function: { ...called, arguments: isMissing(given) ? none : OWN_TEXT } }
}
