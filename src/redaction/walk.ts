// A walk over one value that replaces secrets in it: at once, or in steps where the value is large.
import { isLight, lightParts } from '../light-parts.ts'
import { setMember } from '../members.ts'
import type { Steps } from '../time-slices.ts'
import { isHeaderName, isTellingName } from './credentials.ts'
import type { RedactionOptions } from './options.ts'
import { MARK } from './shapes.ts'
import { LOOKED_AT } from './text-steps.ts'

/** What is nested deeper is not looked at, and so is not shown. */
const DEEPEST = 500
/** How many members are copied in one step. */
const COPIED = 4_096

const UNDER_WAY = Symbol()

/** What a walk needs of the redactor. */
export interface TextRedactor {
  text(text: string, options: RedactionOptions): string
  textSteps(text: string, options: RedactionOptions): Steps<string>
}

/** One walk over one value. What is met twice is looked at once; what holds itself is cut there, since it has no end. */
export class Walk {
  readonly #redactor: TextRedactor
  readonly #numeric: boolean
  readonly #options: RedactionOptions
  readonly #met = new Map<object, unknown>()
  /** Those that are taken apart. */
  readonly #heavy = new Map<object, unknown>()
  /** Characters of texts that were looked at in this step. */
  #looked = 0

  constructor(redactor: TextRedactor, numeric: boolean, options: RedactionOptions) {
    this.#redactor = redactor
    this.#numeric = numeric
    this.#options = options
  }

  value(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.#text(value)
    if (typeof value === 'number') return this.#number(value)
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value
    const met = this.#met.get(value)
    if (met === UNDER_WAY || depth === DEEPEST) return MARK
    if (met !== undefined) return met
    this.#met.set(value, UNDER_WAY)
    const redacted = Array.isArray(value) ? this.#list(value, depth) : this.#record(value as Fields, depth)
    this.#met.set(value, redacted)
    return redacted
  }

  /**
   * As `value`: what is light and has few characters is looked at in one step, what is not is taken apart. Light values that were met are forgotten
   * after each step: a map of all of a large value takes long to grow.
   */
  *steps(value: unknown, depth: number): Steps<unknown> {
    if (typeof value === 'string' && value.length > LOOKED_AT)
      return yield* this.#redactor.textSteps(value, this.#options)
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || isQuick(value)) {
      const redacted = this.value(value, depth)
      yield* this.#stepEnd()
      return redacted
    }
    const met = this.#heavy.get(value)
    if (met === UNDER_WAY || depth === DEEPEST) return MARK
    if (met !== undefined) return met
    this.#heavy.set(value, UNDER_WAY)
    const redacted = Array.isArray(value)
      ? yield* this.#listSteps(value, depth)
      : yield* this.#recordSteps(value as Fields, depth)
    this.#heavy.set(value, redacted)
    return redacted
  }

  #text(text: string): string {
    this.#looked += text.length
    return this.#redactor.text(text, this.#options)
  }

  *#stepEnd(): Steps<void> {
    this.#met.clear()
    this.#looked = 0
    yield
  }

  *#listSteps(list: readonly unknown[], depth: number): Steps<unknown[]> {
    let redacted: unknown[] | null = null
    for (const part of lightParts(list.length, (at) => list[at])) {
      for (let at = part.from; at < part.to; at++) {
        const item = this.#follows(list, at)
          ? MARK
          : part.light && isShort(list[at])
            ? this.value(list[at], depth + 1)
            : yield* this.steps(list[at], depth + 1)
        if (this.#looked > LOOKED_AT) yield* this.#stepEnd()
        if (redacted === null && !Object.is(item, list[at])) redacted = list.slice(0, at)
        redacted?.push(item)
      }
      yield* this.#stepEnd()
    }
    return redacted ?? (list as unknown[])
  }

  *#recordSteps(record: Fields, depth: number): Steps<Fields> {
    const keys = Object.keys(record)
    const isNamed = this.#options.names === true && holdsNamed(record)
    let redacted: Fields | null = null
    yield
    for (const part of lightParts(keys.length, (at) => record[keys[at]!])) {
      for (let at = part.from; at < part.to; at++) {
        const key = keys[at]!
        const value = record[key]
        const shown = this.#isHidden(key, value, isNamed)
          ? MARK
          : part.light && isShort(value)
            ? this.value(value, depth + 1)
            : yield* this.steps(value, depth + 1)
        if (this.#looked > LOOKED_AT) yield* this.#stepEnd()
        const name = this.#name(key)
        if (redacted === null && (name !== key || !Object.is(shown, value)))
          redacted = yield* copySteps(record, keys, at)
        if (redacted) setMember(redacted, name, shown)
      }
      yield* this.#stepEnd()
    }
    return redacted ?? record
  }

  #isHidden(key: string, value: unknown, isNamed: boolean): boolean {
    if (this.#options.names !== true) return false
    return (isTellingName(key) || (isNamed && key === 'value')) && isSomething(value)
  }

  #name(key: string): string {
    this.#looked += key.length
    return this.#redactor.text(key, { credentials: this.#options.credentials ?? true })
  }

  #number(value: number): unknown {
    if (!this.#numeric) return value
    const written = String(value)
    return this.#redactor.text(written, this.#options) === written ? value : MARK
  }

  #list(list: readonly unknown[], depth: number): unknown[] {
    const redacted = list.map((item, at) => (this.#follows(list, at) ? MARK : this.value(item, depth + 1)))
    return redacted.some((item, at) => !Object.is(item, list[at])) ? redacted : (list as unknown[])
  }

  /** Whether an item is the value of the header that is named before it, as in lists of names and values in turn. */
  #follows(list: readonly unknown[], at: number): boolean {
    if (!this.#options.names || at % 2 === 0 || typeof list[at] !== 'string') return false
    const name = list[at - 1]
    return typeof name === 'string' && isHeaderName(name)
  }

  #record(record: Fields, depth: number): Fields {
    let changed = false
    const entries: [string, unknown][] = []
    const named = this.#options.names === true && holdsNamed(record)
    for (const key of Object.keys(record)) {
      const value = record[key]
      const redacted = this.#isHidden(key, value, named) ? MARK : this.value(value, depth + 1)
      const name = this.#name(key)
      changed ||= name !== key || !Object.is(redacted, value)
      entries.push([name, redacted])
    }
    return changed ? Object.fromEntries(entries) : record
  }
}

type Fields = Record<string, unknown>

function isQuick(value: object): boolean {
  return isLight(value) && isShort(value)
}

/** Whether the texts in a light value have few characters together. */
function isShort(value: unknown): boolean {
  return charactersLeft(value, LOOKED_AT) >= 0
}

/** What is left of so many characters behind the texts in a light value, its keys included; negative as soon as there is nothing left. */
function charactersLeft(value: unknown, most: number): number {
  if (typeof value === 'string') return most - value.length
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return most
  let left = most
  for (const key in value) {
    left = charactersLeft((value as Fields)[key], Array.isArray(value) ? left : left - key.length)
    if (left < 0) break
  }
  return left
}

/** Such as `{"name": "Cookie", "value": …}`. */
function holdsNamed({ name, key }: Fields): boolean {
  return [name, key].some((one) => typeof one === 'string' && isTellingName(one))
}

/** What says nothing is no credential. */
function isSomething(value: unknown): boolean {
  return value !== null && value !== undefined && value !== '' && typeof value !== 'boolean'
}

/** The first members of a record, to which others are added. */
function* copySteps(record: Fields, keys: readonly string[], count: number): Steps<Fields> {
  const copy: Fields = {}
  for (let at = 0; at < count; at++) {
    setMember(copy, keys[at]!, record[keys[at]!])
    if (at % COPIED === COPIED - 1) yield
  }
  return copy
}
