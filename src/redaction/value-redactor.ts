// Walks over one value and redacts it: at once, or in steps if the value is large.

import { setOwnProperty } from '../shared/own-property.ts'
import type { Steps } from '../shared/time-slices.ts'
import { isSmallValue, splitIntoSmallRanges } from '../shared/value-size.ts'
import { REDACTION_MARK } from './credentials/patterns.ts'
import { isCredentialHeader, isCredentialName } from './credentials/redaction.ts'
import { REDACTION_STEP_LENGTH } from './long-text-redaction.ts'
import type { RedactionOptions } from './options.ts'

/** Deeper values are not checked, and so not shown. */
const MAX_DEPTH = 500
/** Members that are copied in one step. */
const MEMBERS_PER_STEP = 4_096

const IN_PROGRESS = Symbol()

/** The parts of the redactor that the walk needs. */
export interface TextRedactor {
  text(text: string, options: RedactionOptions): string
  textSteps(text: string, options: RedactionOptions): Steps<string>
}

/** One walk over one value. A repeated object is processed once; a cycle is cut. */
export class ValueRedactor {
  readonly #redactor: TextRedactor
  readonly #hasNumericSecrets: boolean
  readonly #options: RedactionOptions
  readonly #redacted_values = new Map<object, unknown>()
  /** The large objects, which are processed in steps. */
  readonly #redacted_heavy_values = new Map<object, unknown>()
  /** The characters of texts that this step has processed. */
  #characters_in_step = 0

  constructor(redactor: TextRedactor, numeric: boolean, options: RedactionOptions) {
    this.#redactor = redactor
    this.#hasNumericSecrets = numeric
    this.#options = options
  }

  value(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.#redactText(value)
    if (typeof value === 'number') return this.#redactNumber(value)
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value
    const met = this.#redacted_values.get(value)
    if (met === IN_PROGRESS || depth === MAX_DEPTH) return REDACTION_MARK
    if (met !== undefined) return met
    this.#redacted_values.set(value, IN_PROGRESS)
    const redacted = Array.isArray(value)
      ? this.#redactList(value, depth)
      : this.#redactRecord(value as ValueRecord, depth)
    this.#redacted_values.set(value, redacted)
    return redacted
  }

  /**
   * Like `value`: a small value with few characters is processed in one step, others are split. Small objects are
   * forgotten after each step, since a map of all parts of a large value grows slowly.
   */
  *redactSteps(value: unknown, depth: number): Steps<unknown> {
    if (typeof value === 'string' && value.length > REDACTION_STEP_LENGTH)
      return yield* this.#redactor.textSteps(value, this.#options)
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || isSmall(value)) {
      const redacted = this.value(value, depth)
      yield* this.#endStep()
      return redacted
    }
    const met = this.#redacted_heavy_values.get(value)
    if (met === IN_PROGRESS || depth === MAX_DEPTH) return REDACTION_MARK
    if (met !== undefined) return met
    this.#redacted_heavy_values.set(value, IN_PROGRESS)
    const redacted = Array.isArray(value)
      ? yield* this.#redactListSteps(value, depth)
      : yield* this.#redactRecordSteps(value as ValueRecord, depth)
    this.#redacted_heavy_values.set(value, redacted)
    return redacted
  }

  #redactText(text: string): string {
    this.#characters_in_step += text.length
    return this.#redactor.text(text, this.#options)
  }

  *#endStep(): Steps<void> {
    this.#redacted_values.clear()
    this.#characters_in_step = 0
    yield
  }

  *#redactListSteps(list: readonly unknown[], depth: number): Steps<unknown[]> {
    let redacted: unknown[] | null = null
    for (const part of splitIntoSmallRanges(list.length, (at) => list[at])) {
      for (let at = part.from; at < part.to; at++) {
        const item = this.#isHeaderValue(list, at)
          ? REDACTION_MARK
          : part.isSmall && isShort(list[at])
            ? this.value(list[at], depth + 1)
            : yield* this.redactSteps(list[at], depth + 1)
        if (this.#characters_in_step > REDACTION_STEP_LENGTH) yield* this.#endStep()
        if (redacted === null && !Object.is(item, list[at])) redacted = list.slice(0, at)
        redacted?.push(item)
      }
      yield* this.#endStep()
    }
    return redacted ?? (list as unknown[])
  }

  *#redactRecordSteps(record: ValueRecord, depth: number): Steps<ValueRecord> {
    const keys = Object.keys(record)
    const isNamed = this.#options.names === true && hasCredentialName(record)
    let redacted: ValueRecord | null = null
    yield
    for (const part of splitIntoSmallRanges(keys.length, (at) => record[keys[at]!])) {
      for (let at = part.from; at < part.to; at++) {
        const key = keys[at]!
        const value = record[key]
        const shown = this.#isCredentialMember(key, value, isNamed)
          ? REDACTION_MARK
          : part.isSmall && isShort(value)
            ? this.value(value, depth + 1)
            : yield* this.redactSteps(value, depth + 1)
        if (this.#characters_in_step > REDACTION_STEP_LENGTH) yield* this.#endStep()
        const name = this.#redactName(key)
        if (redacted === null && (name !== key || !Object.is(shown, value)))
          redacted = yield* copySteps(record, keys, at)
        if (redacted) setOwnProperty(redacted, name, shown)
      }
      yield* this.#endStep()
    }
    return redacted ?? record
  }

  #isCredentialMember(key: string, value: unknown, isNamed: boolean): boolean {
    if (this.#options.names !== true) return false
    return (isCredentialName(key) || (isNamed && key === 'value')) && isNonEmpty(value)
  }

  #redactName(key: string): string {
    this.#characters_in_step += key.length
    return this.#redactor.text(key, { credentials: this.#options.credentials ?? true })
  }

  #redactNumber(value: number): unknown {
    if (!this.#hasNumericSecrets) return value
    const written = String(value)
    return this.#redactor.text(written, this.#options) === written ? value : REDACTION_MARK
  }

  #redactList(list: readonly unknown[], depth: number): unknown[] {
    const redacted = list.map((item, at) =>
      this.#isHeaderValue(list, at) ? REDACTION_MARK : this.value(item, depth + 1),
    )
    return redacted.some((item, at) => !Object.is(item, list[at])) ? redacted : (list as unknown[])
  }

  /** Whether an item is the value of the header named before it, in a list of alternating names and values. */
  #isHeaderValue(list: readonly unknown[], at: number): boolean {
    if (!this.#options.names || at % 2 === 0 || typeof list[at] !== 'string') return false
    const name = list[at - 1]
    return typeof name === 'string' && isCredentialHeader(name)
  }

  #redactRecord(record: ValueRecord, depth: number): ValueRecord {
    let changed = false
    const entries: [string, unknown][] = []
    const named = this.#options.names === true && hasCredentialName(record)
    for (const key of Object.keys(record)) {
      const value = record[key]
      const redacted = this.#isCredentialMember(key, value, named) ? REDACTION_MARK : this.value(value, depth + 1)
      const name = this.#redactName(key)
      changed ||= name !== key || !Object.is(redacted, value)
      entries.push([name, redacted])
    }
    return changed ? Object.fromEntries(entries) : record
  }
}

type ValueRecord = Record<string, unknown>

function isSmall(value: object): boolean {
  return isSmallValue(value) && isShort(value)
}

/** Whether the texts in a small value have few characters together. */
function isShort(value: unknown): boolean {
  return countCharactersLeft(value, REDACTION_STEP_LENGTH) >= 0
}

/** Subtracts the texts in a small value, including its keys, from `most`. Stops as soon as the result is negative. */
function countCharactersLeft(value: unknown, most: number): number {
  if (typeof value === 'string') return most - value.length
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return most
  let left = most
  for (const key in value) {
    left = countCharactersLeft((value as ValueRecord)[key], Array.isArray(value) ? left : left - key.length)
    if (left < 0) break
  }
  return left
}

/** Such as `{"name": "Cookie", "value": …}`. */
function hasCredentialName({ name, key }: ValueRecord): boolean {
  return [name, key].some((one) => typeof one === 'string' && isCredentialName(one))
}

/** Empty values and booleans are not credentials. */
function isNonEmpty(value: unknown): boolean {
  return value !== null && value !== undefined && value !== '' && typeof value !== 'boolean'
}

/** Copies the first members of a record, so that others can be added. */
function* copySteps(record: ValueRecord, keys: readonly string[], count: number): Steps<ValueRecord> {
  const copy: ValueRecord = {}
  for (let at = 0; at < count; at++) {
    setOwnProperty(copy, keys[at]!, record[keys[at]!])
    if (at % MEMBERS_PER_STEP === MEMBERS_PER_STEP - 1) yield
  }
  return copy
}
