// The chunks of a stream joined to the one completion that they are pieces of, for whoever did not ask for a stream.
import { MalformedDataError } from '../../models/providers/shared/provider-data-validation.ts'
import { forEachSteps, type Steps } from '../../shared/time-slices.ts'
import { isMissing, isRecord, type JsonRecord } from '../json/values.ts'

/** What a piece says again, in the place of more of it. */
const UNREPEATED_NAMES: ReadonlySet<string> = new Set(['id', 'type', 'role', 'name', 'format'])

/** In all that is joined: no answer has as many. */
const MAX_NAMES = 120_000

interface AggregatedChoice {
  /** Everything but its message. */
  readonly rest: JsonRecord
  readonly message: JsonRecord
  /** By the numbers that their pieces have. */
  readonly calls: Map<unknown, JsonRecord>
}

export class ChunkAggregator {
  /** Without a prototype, whose names would be taken for what was said. */
  readonly #head: JsonRecord = Object.create(null) as JsonRecord
  #usage: unknown = null
  readonly #choices = new Map<unknown, AggregatedChoice>()
  /** How many names its pieces brought. */
  #names = 0

  /** Each piece is bounded, but not how many come, and the names of the whole are listed in one go. @throws Malformed where there are too many */
  readonly #countName = (): void => {
    if (++this.#names > MAX_NAMES) throw new MalformedDataError(`an answer of more than ${MAX_NAMES} names`)
  }

  /** Of all chunks so far. It may lack what they lacked. */
  completion(): JsonRecord {
    const choices = [...this.#choices.values()].map(({ rest, message, calls }) => {
      const tool_calls = [...calls.values()].map(({ index: _, ...call }) => call)
      return { ...rest, message: { ...message, ...(tool_calls.length === 0 ? {} : { tool_calls }) } }
    })
    return { ...this.#head, object: 'chat.completion', choices, usage: this.#usage }
  }

  /** @throws Malformed where the names of all chunks have no end */
  *add({ choices, usage, object: _, ...head }: JsonRecord): Steps<void> {
    // In place: a copy for each chunk would take the longer, the more was said before.
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
    const { tool_calls: calls, ...message } = isRecord(delta) ? delta : {}
    yield* mergeSteps(choice.message, message, this.#countName)
    for (const call of Array.isArray(calls) ? calls : []) {
      if (!isRecord(call)) continue
      const known = choice.calls.get(call.index)
      if (known) yield* mergeSteps(known, call, this.#countName)
      else choice.calls.set(call.index, call)
    }
  }
}

/** So many names are looked at in each step. */
const NAMES_PER_STEP = 256

/** With what comes next: more of its texts and its lists, and what it did not say. `named` is called for each new name, and may throw. */
function* mergeSteps(before: JsonRecord, given: JsonRecord, countName: () => void): Steps<void> {
  for (const [at, name] of Object.keys(given).entries()) {
    const known = before[name]
    const value = given[name]
    if (at % NAMES_PER_STEP === NAMES_PER_STEP - 1) yield
    // Plain objects have no other name that is not theirs.
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
