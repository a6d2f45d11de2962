// Collects usage from the chunks of a stream: servers send it once, in each chunk, or piece by piece. A later count
// with fewer fields does not remove earlier fields.

import { MalformedDataError } from '../../models/providers/shared/provider-data-validation.ts'
import { isRecord } from '../../shared/record.ts'
import { isSmallValue } from '../../shared/value-size.ts'
import { isMissing, type JsonRecord, withFields } from '../json/values.ts'
import { fillUsage, parseCount, parseUsage, type ReportedUsage } from './chunk-scan.ts'

/** The limit of names in all counts of an answer: each count is merged with all names before. */
const MAX_NAMES = 100
const COUNT_NAMES: readonly string[] = ['prompt_tokens', 'completion_tokens']

export class StreamedUsage {
  #reported: JsonRecord | null = null
  /** The usage that the client saw last. */
  #shown: JsonRecord | null = null

  /** The provider's count; null if it gave none. */
  get reported_usage(): ReportedUsage | null {
    return parseUsage(this.#reported)
  }

  /**
   * Adds usage, and returns whether the value is usage.
   * @throws MalformedDataError if it has too many names or too large values: all of them are kept and sent again
   */
  add(usage: unknown): usage is JsonRecord {
    if (!isRecord(usage)) return false
    if (!isSmallValue(usage)) throw new MalformedDataError('usage with too many or too large fields')
    const merged = mergeReports(this.#reported ?? {}, usage)
    if (Object.keys(merged).length > MAX_NAMES) throw new MalformedDataError('usage with too many or too large fields')
    this.#reported = merged
    return true
  }

  /** Records that the client sees this usage. */
  recordShown(usage: JsonRecord): void {
    this.#shown = usage
  }

  /** Completes usage for the client. Returns the same object if no field is missing. */
  fillIn(usage: JsonRecord, complete: ReportedUsage): JsonRecord {
    return isComplete(usage, complete) ? usage : fillUsage(this.#reported ?? {}, complete)
  }

  /** The usage that the client needs at the end; null if the client saw it last. */
  findMissing(complete: ReportedUsage): JsonRecord | null {
    return this.#shown && isComplete(this.#shown, complete) ? null : fillUsage(this.#reported ?? {}, complete)
  }
}

function isComplete(usage: JsonRecord, complete: ReportedUsage): boolean {
  return withFields(usage, fillUsage(usage, complete)) === usage
}

/** Merges the last count with earlier fields that it omits or reports as zero. */
function mergeReports(before: JsonRecord, given: JsonRecord): JsonRecord {
  const reported = Object.fromEntries(Object.entries(given).filter(([name, value]) => isReported(name, value)))
  // The earlier total does not fit new counts.
  const isOther = COUNT_NAMES.some((name) => reported[name] !== undefined && reported[name] !== before[name])
  const { total_tokens, ...rest } = before
  return { ...rest, ...(isOther || total_tokens === undefined ? {} : { total_tokens }), ...reported }
}

function isReported(name: string, value: unknown): boolean {
  if (name === 'total_tokens' || COUNT_NAMES.includes(name)) return parseCount(value) > 0
  return name === 'cost' ? parseUsage({ cost: value })?.cost !== undefined : !isMissing(value)
}
