// Keys that identify rows and items by value. Equal keys get the same number.
import { NodeError } from '../../engine/node-api/node-error.ts'
import { cryptoLibrary } from './lazy-libraries.ts'
import { createStepBudget, isShortKey, LONGEST_KEY, MOST_TOTAL_TEXT, type StepBudget } from './value-limits.ts'
import { toCanonicalText } from './value-operations.ts'

/** In characters: the cost of writing even the shortest key. */
const SHORTEST_KEY_COST = 60

/** Throws NodeError if a text is too long to be a key or a column name. */
export function guardKeyLength(text: string): void {
  if (isShortKey(text)) return
  const most = LONGEST_KEY.toLocaleString('en')
  throw new NodeError(`A key has more than ${most} characters. Use a shorter column.`, 'too_large')
}

/** A text that is the same for equal texts with the same mark. A long text is replaced by its digest. */
function digestLongText(text: string, mark: string): string {
  if (isShortKey(text)) return mark + text
  return `#${mark}${cryptoLibrary().createHash('sha256').update(text, 'utf16le').digest('hex')}`
}

/**
 * A key for a map, which is the same for equal values. Unlike `KeyIndex` it also takes long values. Throws NodeError if the characters of
 * all keys that share a budget exceed it.
 */
export function toEqualityKey(value: unknown, spend: StepBudget): unknown {
  if (typeof value === 'object' && value !== null) return digestLongText(toCanonicalText(value, spend), '{')
  if (typeof value !== 'string') return value
  spend(value.length)
  return digestLongText(value, '"')
}

/** Numbers keys in order of first appearance. Each key is a list of equally many values. */
export class KeyIndex {
  readonly #width: number
  readonly #spend = createStepBudget(MOST_TOTAL_TEXT)
  /** Numbers of keys that are a single plain value, and of all other keys by their text. */
  readonly #plainNumbers = new Map<unknown, number>()
  readonly #writtenNumbers = new Map<string, number>()

  constructor(width: number) {
    this.#width = width
  }

  get count(): number {
    return this.#plainNumbers.size + this.#writtenNumbers.size
  }

  /** The number of a key. A new key gets the count before it. */
  add(valueAt: (place: number) => unknown): number {
    return this.#findOrAdd(valueAt, true)
  }

  /** The number of a key, or −1 if it was never added. */
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

  /** Several values as JSON. Only lists and objects are in brackets, so keys stay distinct. */
  #joinValues(valueAt: (place: number) => unknown): string {
    const values: unknown[] = []
    for (let place = 0; place < this.#width; place++) {
      const value = valueAt(place)
      if (typeof value === 'string') guardKeyLength(value)
      values.push(typeof value === 'object' && value !== null ? [toCanonicalText(value)] : value)
    }
    return JSON.stringify(values)
  }

  /** Even short keys cost time. */
  #chargeKey(text: string): string {
    guardKeyLength(text)
    this.#spend(text.length + SHORTEST_KEY_COST)
    return text
  }
}
