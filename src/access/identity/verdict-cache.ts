// What was found out about tokens, for a short time. It knows tokens by their SHA-256 alone: whoever reads the memory of the process
// later finds none.
import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { IdentityVerdict } from '../authentication-rules.ts'

/** A verdict, and how long it may be believed: from when to when, in milliseconds since the epoch. */
interface CachedVerdict {
  readonly identified: IdentityVerdict
  readonly from: number
  readonly until: number
}

/** Refused tokens take this part of the room at most, and only what good ones leave. */
const REFUSED_PART = 4

export function hashToken(token: string): string {
  return hash('sha256', token, 'base64')
}

export class IdentityVerdictCache {
  readonly #max: number
  readonly #accepted: LRUCache<string, CachedVerdict>
  readonly #refused: LRUCache<string, CachedVerdict>

  /** @param max how many are kept, refused ones included */
  constructor(max: number) {
    this.#max = max
    this.#accepted = new LRUCache({ max })
    this.#refused = new LRUCache({ max: Math.ceil(max / REFUSED_PART) })
  }

  get size(): number {
    return this.#accepted.size + this.#refused.size
  }

  get(key: string, now: number): IdentityVerdict | null {
    const known = this.#accepted.get(key) ?? this.#refused.get(key)
    // A clock that was put back makes nothing last longer.
    return known && known.from <= now && now < known.until ? known.identified : null
  }

  set(key: string, identified: IdentityVerdict, from: number, until: number): void {
    const [cache, other] = 'principal' in identified ? [this.#accepted, this.#refused] : [this.#refused, this.#accepted]
    other.delete(key)
    cache.set(key, { identified, from, until })
    // Whoever makes up tokens pushes out no good ones.
    if (this.size > this.#max) this.#refused.pop()
  }
}
