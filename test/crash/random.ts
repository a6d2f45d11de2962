// Random numbers from a seed, so that a run can be repeated. Streams that are forked by name are independent.
import { createHash } from 'node:crypto'

export class Random {
  readonly seed: string
  #state: number

  constructor(seed: string) {
    this.seed = seed
    this.#state = createHash('sha256').update(seed).digest().readUInt32LE(0)
  }

  fork(name: string): Random {
    return new Random(`${this.seed}/${name}`)
  }

  /** At least 0, less than 1. Mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number, both ends included. */
  int(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1))
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.next() * list.length)]!
  }
}
