// What the chunks of a stream tell of its usage: some tell it once, some in each chunk, and some piece by piece. What was told stays told, whatever
// poorer count comes later.

import { MalformedDataError } from '../../models/providers/shared/provider-data-validation.ts'
import { isSmallValue } from '../../shared/value-size.ts'
import { isMissing, isRecord, type JsonRecord, withFields } from '../json/values.ts'
import { fillUsage, parseCount, parseUsage, type ReportedUsage } from './chunk-scan.ts'

/** Names in all counts of an answer: each count is looked at with all that was told before. */
const MAX_NAMES = 100
const COUNT_NAMES: readonly string[] = ['prompt_tokens', 'completion_tokens']

export class StreamedUsage {
  #reported: JsonRecord | null = null
  /** As the client saw it last. */
  #shown: JsonRecord | null = null

  /** By the provider's own count; null where it gave none. */
  get reported_usage(): ReportedUsage | null {
    return parseUsage(this.#reported)
  }

  /** Whether it is one: then it counts. @throws Malformed where it has names, or values, without end: all that was told is kept, and told again */
  add(usage: unknown): usage is JsonRecord {
    if (!isRecord(usage)) return false
    if (!isSmallValue(usage)) throw new MalformedDataError('a count without an end')
    const told = mergeReports(this.#reported ?? {}, usage)
    if (Object.keys(told).length > MAX_NAMES) throw new MalformedDataError('a count without an end')
    this.#reported = told
    return true
  }

  /** The client sees it. */
  recordShown(usage: JsonRecord): void {
    this.#shown = usage
  }

  /** What a client is told in its place; itself where it lacks nothing. */
  fillIn(usage: JsonRecord, complete: ReportedUsage): JsonRecord {
    return isComplete(usage, complete) ? usage : fillUsage(this.#reported ?? {}, complete)
  }

  /** What a client has to be told at the end; null where it saw that last. */
  findMissing(complete: ReportedUsage): JsonRecord | null {
    return this.#shown && isComplete(this.#shown, complete) ? null : fillUsage(this.#reported ?? {}, complete)
  }
}

function isComplete(usage: JsonRecord, complete: ReportedUsage): boolean {
  return withFields(usage, fillUsage(usage, complete)) === usage
}

/** The last count, with what it does not say, or says is zero, as it was told before. */
function mergeReports(before: JsonRecord, given: JsonRecord): JsonRecord {
  const said = Object.fromEntries(Object.entries(given).filter(([name, value]) => isReported(name, value)))
  // The sum of other counts is another one.
  const isOther = COUNT_NAMES.some((name) => said[name] !== undefined && said[name] !== before[name])
  const { total_tokens, ...rest } = before
  return { ...rest, ...(isOther || total_tokens === undefined ? {} : { total_tokens }), ...said }
}

function isReported(name: string, value: unknown): boolean {
  if (name === 'total_tokens' || COUNT_NAMES.includes(name)) return parseCount(value) > 0
  return name === 'cost' ? parseUsage({ cost: value })?.cost !== undefined : !isMissing(value)
}
