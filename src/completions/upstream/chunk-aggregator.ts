// Joins the chunks of a stream to one completion, for clients that did not request a stream.
import { MalformedDataError } from '../../models/providers/shared/provider-data-validation.ts'
import { isRecord } from '../../shared/record.ts'
import { forEachSteps, type Steps } from '../../shared/time-slices.ts'
import { isMissing, type JsonRecord } from '../json/values.ts'

/** Pieces repeat these fields: they are not joined. */
const UNREPEATED_NAMES: ReadonlySet<string> = new Set(['id', 'type', 'role', 'name', 'format'])

/** The limit of names in the joined completion; no real answer has as many. */
const MAX_NAMES = 120_000

interface AggregatedChoice {
  /** All fields except the message. */
  readonly rest: JsonRecord
  readonly message: JsonRecord
  /** By the index of their pieces. */
  readonly calls: Map<unknown, JsonRecord>
}

export class ChunkAggregator {
  /** Without a prototype: inherited names would look like fields of the answer. */
  readonly #head: JsonRecord = Object.create(null) as JsonRecord
  #usage: unknown = null
  readonly #choices = new Map<unknown, AggregatedChoice>()
  #names = 0

  /**
   * Each piece is limited, but not the number of pieces, and all names are listed in one step.
   * @throws MalformedDataError if there are too many names
   */
  readonly #countName = (): void => {
    if (++this.#names > MAX_NAMES) throw new MalformedDataError(`an answer of more than ${MAX_NAMES} names`)
  }

  /** The completion of all chunks so far. Fields that all chunks lacked are missing. */
  completion(): JsonRecord {
    const choices = [...this.#choices.values()].map(({ rest, message, calls }) => {
      const tool_calls = [...calls.values()].map(({ index: _, ...call }) => call)
      return { ...rest, message: { ...message, ...(tool_calls.length === 0 ? {} : { tool_calls }) } }
    })
    return { ...this.#head, object: 'chat.completion', choices, usage: this.#usage }
  }

  /** @throws MalformedDataError if all chunks together have too many names */
  *add({ choices, usage, object: _, ...head }: JsonRecord): Steps<void> {
    // Changes the head in place: copies for each chunk would take quadratic time.
    for (const [name, value] of Object.entries(head)) {
      const known = this.#head[name]
      if (known === undefined) this.#countName()
      if (isMissing(known)) this.#head[name] = value
    }
    this.#usage = usage ?? this.#usage
    if (Array.isArray(choices)) for (const choice of choices) if (isRecord(choice)) yield* this.#addChoice(choice)
  }

  *#addChoice({ delta, index, finish_reason, ...rest }: JsonRecord): Steps<void> {
    const choice: AggregatedChoice = this.#choices.get(index) ?? { rest: { index }, message: {}, calls: new Map() }
    this.#choices.set(index, choice)
    yield* mergeSteps(choice.rest, rest, this.#countName)
    if (!isMissing(finish_reason)) choice.rest.finish_reason = finish_reason
    const { tool_calls, ...message } = isRecord(delta) ? delta : {}
    yield* mergeSteps(choice.message, message, this.#countName)
    for (const call of Array.isArray(tool_calls) ? tool_calls : []) {
      if (!isRecord(call)) continue
      const known = choice.calls.get(call.index)
      if (known) yield* mergeSteps(known, call, this.#countName)
      else choice.calls.set(call.index, call)
    }
  }
}

/** Names per step. */
const NAMES_PER_STEP = 256

/** Appends texts and lists, and adds missing fields. `countName` is called for each new name, and may throw. */
function* mergeSteps(before: JsonRecord, given: JsonRecord, countName: () => void): Steps<void> {
  for (const [at, name] of Object.keys(given).entries()) {
    const known = before[name]
    const value = given[name]
    if (at % NAMES_PER_STEP === NAMES_PER_STEP - 1) yield
    // `__proto__` is the only name that would not become an own property.
    if (name === '__proto__' || (isMissing(value) && known !== undefined)) continue
    if (known === undefined) countName()
    if (isMissing(known)) before[name] = value
    else if (Array.isArray(known) && Array.isArray(value)) yield* forEachSteps(value, (item) => known.push(item))
    else if (isRecord(known) && isRecord(value)) {
      yield
      yield* mergeSteps(known, value, countName)
    } else if (typeof known === 'string' && typeof value === 'string')
      before[name] = UNREPEATED_NAMES.has(name) ? known : known + value
    else before[name] = value
  }
}
