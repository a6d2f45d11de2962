// What the chunks of a stream tell of its usage: some tell it once, some in each chunk, and some piece by piece. What was told stays told, whatever
// poorer count comes later.
import { isLight } from '../light-parts.ts'
import { Malformed } from '../models/checked.ts'
import { type Counted, countedOf, countOf, usageWith } from './chunk-facts.ts'
import { isMissing, isRecord, type Json, withFields } from './json-values.ts'

/** Names in all counts of an answer: each count is looked at with all that was told before. */
const MOST_NAMES = 100
const COUNTS: readonly string[] = ['prompt_tokens', 'completion_tokens']

export class StreamedUsage {
  #told: Json | null = null
  /** As the client saw it last. */
  #seen: Json | null = null

  /** By the provider's own count; null where it gave none. */
  get counted(): Counted | null {
    return countedOf(this.#told)
  }

  /** Whether it is one: then it counts. @throws Malformed where it has names, or values, without end: all that was told is kept, and told again */
  add(usage: unknown): usage is Json {
    if (!isRecord(usage)) return false
    if (!isLight(usage)) throw new Malformed('a count without an end')
    const told = joined(this.#told ?? {}, usage)
    if (Object.keys(told).length > MOST_NAMES) throw new Malformed('a count without an end')
    this.#told = told
    return true
  }

  /** The client sees it. */
  show(usage: Json): void {
    this.#seen = usage
  }

  /** What a client is told in its place; itself where it lacks nothing. */
  whole(usage: Json, complete: Counted): Json {
    return isWhole(usage, complete) ? usage : usageWith(this.#told ?? {}, complete)
  }

  /** What a client has to be told at the end; null where it saw that last. */
  missing(complete: Counted): Json | null {
    return this.#seen && isWhole(this.#seen, complete) ? null : usageWith(this.#told ?? {}, complete)
  }
}

function isWhole(usage: Json, complete: Counted): boolean {
  return withFields(usage, usageWith(usage, complete)) === usage
}

/** The last count, with what it does not say, or says is zero, as it was told before. */
function joined(before: Json, given: Json): Json {
  const said = Object.fromEntries(Object.entries(given).filter(([name, value]) => saysSomething(name, value)))
  // The sum of other counts is another one.
  const isOther = COUNTS.some((name) => said[name] !== undefined && said[name] !== before[name])
  const { total_tokens, ...rest } = before
  return { ...rest, ...(isOther || total_tokens === undefined ? {} : { total_tokens }), ...said }
}

function saysSomething(name: string, value: unknown): boolean {
  if (name === 'total_tokens' || COUNTS.includes(name)) return countOf(value) > 0
  return name === 'cost' ? countedOf({ cost: value })?.cost !== undefined : !isMissing(value)
}
