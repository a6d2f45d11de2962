// Caches verdicts on tokens for a short time. The cache has only their SHA-256, so that the memory of the process reveals no tokens later.
import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { IdentityVerdict } from '../authentication-rules.ts'

/** A verdict and the time in which it is valid, in milliseconds since the epoch. */
interface CachedVerdict {
  readonly identified: IdentityVerdict
  readonly from: number
  readonly until: number
}

/** Refused tokens take at most this part of the cache, and only what accepted ones leave. */
const REFUSED_PART = 4

export function hashToken(token: string): string {
  return hash('sha256', token, 'base64')
}

export class IdentityVerdictCache {
  readonly #max: number
  readonly #accepted: LRUCache<string, CachedVerdict>
  readonly #refused: LRUCache<string, CachedVerdict>

  /** @param max number of cached verdicts, refused ones included */
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
    // A clock that was set back must not extend a verdict.
    return known && known.from <= now && now < known.until ? known.identified : null
  }

  set(key: string, identified: IdentityVerdict, from: number, until: number): void {
    const [cache, other] = 'principal' in identified ? [this.#accepted, this.#refused] : [this.#refused, this.#accepted]
    other.delete(key)
    cache.set(key, { identified, from, until })
    // Invented tokens must not evict accepted ones.
    if (this.size > this.#max) this.#refused.pop()
  }
}
