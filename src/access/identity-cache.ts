// What was found out about tokens, for a short time. It knows tokens by their SHA-256 alone: whoever reads the memory of the process
// later finds none.
import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Identified } from './procedure.ts'

/** A verdict, and how long it may be believed: from when to when, in milliseconds since the epoch. */
interface Known {
  readonly identified: Identified
  readonly from: number
  readonly until: number
}

/** Refused tokens take this part of the room at most, and only what good ones leave. */
const REFUSED_PART = 4

export function tokenKey(token: string): string {
  return hash('sha256', token, 'base64')
}

export class Verdicts {
  readonly #max: number
  readonly #good: LRUCache<string, Known>
  readonly #refused: LRUCache<string, Known>

  /** @param max how many are kept, refused ones included */
  constructor(max: number) {
    this.#max = max
    this.#good = new LRUCache({ max })
    this.#refused = new LRUCache({ max: Math.ceil(max / REFUSED_PART) })
  }

  get size(): number {
    return this.#good.size + this.#refused.size
  }

  get(key: string, now: number): Identified | null {
    const known = this.#good.get(key) ?? this.#refused.get(key)
    // A clock that was put back makes nothing last longer.
    return known && known.from <= now && now < known.until ? known.identified : null
  }

  set(key: string, identified: Identified, from: number, until: number): void {
    const [cache, other] = 'principal' in identified ? [this.#good, this.#refused] : [this.#refused, this.#good]
    other.delete(key)
    cache.set(key, { identified, from, until })
    // Whoever makes up tokens pushes out no good ones.
    if (this.size > this.#max) this.#refused.pop()
  }
}
