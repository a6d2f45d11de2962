// The chunks of a stream joined to the one completion that they are pieces of, for whoever did not ask for a stream.
import { Malformed } from '../models/checked.ts'
import { forEachStep, type Steps } from '../time-slices.ts'
import { isMissing, isRecord, type Json } from './json-values.ts'

/** What a piece says again, in the place of more of it. */
const ONCE: ReadonlySet<string> = new Set(['id', 'type', 'role', 'name', 'format'])

/** In all that is joined: no answer has as many. */
const MOST_NAMES = 120_000

interface Choice {
  /** Everything but its message. */
  readonly rest: Json
  readonly message: Json
  /** By the numbers that their pieces have. */
  readonly calls: Map<unknown, Json>
}

export class JoinedChunks {
  /** Without a prototype, whose names would be taken for what was said. */
  readonly #head: Json = Object.create(null) as Json
  #usage: unknown = null
  readonly #choices = new Map<unknown, Choice>()
  /** How many names its pieces brought. */
  #names = 0

  /** Each piece is bounded, but not how many come, and the names of the whole are listed in one go. @throws Malformed where there are too many */
  readonly #named = (): void => {
    if (++this.#names > MOST_NAMES) throw new Malformed(`an answer of more than ${MOST_NAMES} names`)
  }

  /** Of all chunks so far. It may lack what they lacked. */
  completion(): Json {
    const choices = [...this.#choices.values()].map(({ rest, message, calls }) => {
      const tool_calls = [...calls.values()].map(({ index: _, ...call }) => call)
      return { ...rest, message: { ...message, ...(tool_calls.length === 0 ? {} : { tool_calls }) } }
    })
    return { ...this.#head, object: 'chat.completion', choices, usage: this.#usage }
  }

  /** @throws Malformed where the names of all chunks have no end */
  *add({ choices, usage, object: _, ...head }: Json): Steps<void> {
    // In place: a copy for each chunk would take the longer, the more was said before.
    for (const [name, value] of Object.entries(head)) {
      const known = this.#head[name]
      if (known === undefined) this.#named()
      if (isMissing(known)) this.#head[name] = value
    }
    this.#usage = usage ?? this.#usage
    if (Array.isArray(choices)) for (const choice of choices) if (isRecord(choice)) yield* this.#addChoice(choice)
  }

  *#addChoice({ delta, index, finish_reason, ...rest }: Json): Steps<void> {
    const choice: Choice = this.#choices.get(index) ?? { rest: { index }, message: {}, calls: new Map() }
    this.#choices.set(index, choice)
    yield* extend(choice.rest, rest, this.#named)
    if (!isMissing(finish_reason)) choice.rest.finish_reason = finish_reason
    const { tool_calls: calls, ...message } = isRecord(delta) ? delta : {}
    yield* extend(choice.message, message, this.#named)
    for (const call of Array.isArray(calls) ? calls : []) {
      if (!isRecord(call)) continue
      const known = choice.calls.get(call.index)
      if (known) yield* extend(known, call, this.#named)
      else choice.calls.set(call.index, call)
    }
  }
}

/** So many names are looked at in each step. */
const SOME = 256

/** With what comes next: more of its texts and its lists, and what it did not say. `named` is called for each new name, and may throw. */
function* extend(before: Json, given: Json, named: () => void): Steps<void> {
  for (const [at, name] of Object.keys(given).entries()) {
    const known = before[name]
    const value = given[name]
    if (at % SOME === SOME - 1) yield
    // Plain objects have no other name that is not theirs.
    if (name === '__proto__' || (isMissing(value) && known !== undefined)) continue
    if (known === undefined) named()
    if (isMissing(known)) before[name] = value
    else if (Array.isArray(known) && Array.isArray(value)) yield* forEachStep(value, (item) => known.push(item))
    else if (isRecord(known) && isRecord(value)) {
      yield
      yield* extend(known, value, named)
    } else if (typeof known === 'string' && typeof value === 'string')
      before[name] = ONCE.has(name) ? known : known + value
    else before[name] = value
  }
}
