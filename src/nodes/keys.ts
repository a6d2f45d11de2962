// Values by which rows and items are told apart, as numbers: equal keys have the same one.
import { NodeError } from '../engine/node-type.ts'
import { budget, MOST_GATHERED_TEXT } from './limits.ts'
import { identity } from './values.ts'

/** In characters: nobody tells rows apart by longer ones, and looking for them would be slow. */
const LONGEST_KEY = 10_000

/** In characters: what it takes to write even the shortest key. */
const LEAST_COST = 60

/** Throws NodeError where a text is too long to tell rows apart by, or to be a column's name. */
export function guardKey(text: string): void {
  if (text.length <= LONGEST_KEY) return
  const most = LONGEST_KEY.toLocaleString('en')
  throw new NodeError(`A key has more than ${most} characters. Take a shorter column.`, 'too_large')
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
