// Values by which rows and items are told apart, as numbers: equal keys have the same one.
import { NodeError } from '../../engine/node-api/node-type.ts'
import { cryptoLibrary } from './lazy-libraries.ts'
import { createStepBudget, isShortKey, LONGEST_KEY, MOST_TOTAL_TEXT, type StepBudget } from './value-limits.ts'
import { toCanonicalText } from './value-operations.ts'

/** In characters: what it takes to write even the shortest key. */
const SHORTEST_KEY_COST = 60

/** Throws NodeError where a text is too long to tell rows apart by, or to be a column's name. */
export function guardKeyLength(text: string): void {
  if (isShortKey(text)) return
  const most = LONGEST_KEY.toLocaleString('en')
  throw new NodeError(`A key has more than ${most} characters. Take a shorter column.`, 'too_large')
}

/** A text that equal texts with the same mark have in common: of a long one its digest. */
function digestLongText(text: string, mark: string): string {
  if (isShortKey(text)) return mark + text
  return `#${mark}${cryptoLibrary().createHash('sha256').update(text, 'utf16le').digest('hex')}`
}

/**
 * What equal values have in common, as a key of a map. Unlike `Keys` it takes long ones as well. Throws NodeError where there
 * is too much to look at, in characters, in all that share a budget.
 */
export function toEqualityKey(value: unknown, spend: StepBudget): unknown {
  if (typeof value === 'object' && value !== null) return digestLongText(toCanonicalText(value, spend), '{')
  if (typeof value !== 'string') return value
  spend(value.length)
  return digestLongText(value, '"')
}

/** Numbers keys, which are lists of as many values each, in order of first sight. */
export class KeyIndex {
  readonly #width: number
  readonly #spend = createStepBudget(MOST_TOTAL_TEXT)
  /** Keys of one value that stands for itself, and all others by what is written in them. */
  readonly #plainNumbers = new Map<unknown, number>()
  readonly #writtenNumbers = new Map<string, number>()

  constructor(width: number) {
    this.#width = width
  }

  get count(): number {
    return this.#plainNumbers.size + this.#writtenNumbers.size
  }

  /** The number of a key; of a new one it is the count before. */
  add(valueAt: (place: number) => unknown): number {
    return this.#findOrAdd(valueAt, true)
  }

  /** The number of a key, or −1 where nobody added it. */
  find(valueAt: (place: number) => unknown): number {
    return this.#findOrAdd(valueAt, false)
  }

  #findOrAdd(valueAt: (place: number) => unknown, isNew: boolean): number {
    const one = this.#width === 1 ? valueAt(0) : null
    const isPlain = this.#width === 1 && (typeof one !== 'object' || one === null)
    if (isPlain && typeof one === 'string') guardKeyLength(one)
    const key = isPlain ? one : this.#chargeKey(this.#width === 1 ? toCanonicalText(one) : this.#joinValues(valueAt))
    const numbers: Map<unknown, number> = isPlain ? this.#plainNumbers : this.#writtenNumbers
    const found = numbers.get(key)
    if (found !== undefined) return found
    if (!isNew) return -1
    const number = this.count
    numbers.set(key, number)
    return number
  }

  /** Several values as JSON. Only what is no plain value is in brackets there. */
  #joinValues(valueAt: (place: number) => unknown): string {
    const values: unknown[] = []
    for (let place = 0; place < this.#width; place++) {
      const value = valueAt(place)
      if (typeof value === 'string') guardKeyLength(value)
      values.push(typeof value === 'object' && value !== null ? [toCanonicalText(value)] : value)
    }
    return JSON.stringify(values)
  }

  /** Short ones cost their time as well. */
  #chargeKey(text: string): string {
    guardKeyLength(text)
    this.#spend(text.length + SHORTEST_KEY_COST)
    return text
  }
}
