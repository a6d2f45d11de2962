// Values by which rows and items are told apart, as numbers: equal keys have the same one.
import { NodeError } from '../engine/node-type.ts'
import { cryptoLibrary } from './libraries.ts'
import { budget, isShort, LONGEST_KEY, MOST_GATHERED_TEXT, type Spend } from './limits.ts'
import { identity } from './values.ts'

/** In characters: what it takes to write even the shortest key. */
const LEAST_COST = 60

/** Throws NodeError where a text is too long to tell rows apart by, or to be a column's name. */
export function guardKey(text: string): void {
  if (isShort(text)) return
  const most = LONGEST_KEY.toLocaleString('en')
  throw new NodeError(`A key has more than ${most} characters. Take a shorter column.`, 'too_large')
}

/** A text that equal texts with the same mark have in common: of a long one its digest. */
function short(text: string, mark: string): string {
  if (isShort(text)) return mark + text
  return `#${mark}${cryptoLibrary().createHash('sha256').update(text, 'utf16le').digest('hex')}`
}

/**
 * What equal values have in common, as a key of a map. Unlike `Keys` it takes long ones as well. Throws NodeError where there
 * is too much to look at, in characters, in all that share a budget.
 */
export function meeting(value: unknown, spend: Spend): unknown {
  if (typeof value === 'object' && value !== null) return short(identity(value, spend), '{')
  if (typeof value !== 'string') return value
  spend(value.length)
  return short(value, '"')
}

/** Numbers keys, which are lists of as many values each, in order of first sight. */
export class Keys {
  readonly #width: number
  readonly #spend = budget(MOST_GATHERED_TEXT)
  /** Keys of one value that stands for itself, and all others by what is written in them. */
  readonly #plain = new Map<unknown, number>()
  readonly #written = new Map<string, number>()

  constructor(width: number) {
    this.#width = width
  }

  get count(): number {
    return this.#plain.size + this.#written.size
  }

  /** The number of a key; of a new one it is the count before. */
  add(valueAt: (place: number) => unknown): number {
    return this.#number(valueAt, true)
  }

  /** The number of a key, or −1 where nobody added it. */
  find(valueAt: (place: number) => unknown): number {
    return this.#number(valueAt, false)
  }

  #number(valueAt: (place: number) => unknown, isNew: boolean): number {
    const one = this.#width === 1 ? valueAt(0) : null
    const isPlain = this.#width === 1 && (typeof one !== 'object' || one === null)
    if (isPlain && typeof one === 'string') guardKey(one)
    const key = isPlain ? one : this.#write(this.#width === 1 ? identity(one) : this.#joined(valueAt))
    const numbers: Map<unknown, number> = isPlain ? this.#plain : this.#written
    const found = numbers.get(key)
    if (found !== undefined) return found
    if (!isNew) return -1
    const number = this.count
    numbers.set(key, number)
    return number
  }

  /** Several values as JSON. Only what is no plain value is in brackets there. */
  #joined(valueAt: (place: number) => unknown): string {
    const values: unknown[] = []
    for (let place = 0; place < this.#width; place++) {
      const value = valueAt(place)
      if (typeof value === 'string') guardKey(value)
      values.push(typeof value === 'object' && value !== null ? [identity(value)] : value)
    }
    return JSON.stringify(values)
  }

  /** Short ones cost their time as well. */
  #write(text: string): string {
    guardKey(text)
    this.#spend(text.length + LEAST_COST)
    return text
  }
}
