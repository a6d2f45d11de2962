// Tokens of which the service keeps a digest alone: how they are written, and whether one that was sent is what its row says.
// Whose they are and what they are good for is left to those who keep the rows.
import { hash, timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Platform } from '../../platform.ts'

export interface HashedToken {
  /** SHA-256 of the secret part, as it is written. */
  readonly digest: Uint8Array
  /** Milliseconds since the epoch; null where it lives until it is revoked. */
  readonly expires_at: number | null
}

export interface GeneratedToken {
  /** `<noun>_<32 hexadecimal characters>` */
  readonly id: string
  /** What the caller gets to see, this once. */
  readonly token: string
  readonly digest: Uint8Array
}

/** How many random bytes nobody can guess. */
const SECRET_BYTES = 32
/** Of so many tokens the rows stay in memory. */
const MAX_CACHED_TOKENS = 10_000
/** What the secret of a token that does not exist is compared with, so that it takes as long as any other. */
const NO_DIGEST = new Uint8Array(32)

/** One kind of tokens, `<prefix>_<the hexadecimal part of the id>_<32 random bytes as base64url>`. */
export class HashedTokenStore<Kept extends HashedToken> {
  readonly #prefix: string
  readonly #noun: string
  readonly #pattern: RegExp
  readonly #load: (id: string) => Kept | null
  readonly #cache = new LRUCache<string, Kept>({ max: MAX_CACHED_TOKENS })

  constructor(prefix: string, noun: string, load: (id: string) => Kept | null) {
    this.#prefix = prefix
    this.#noun = noun
    this.#pattern = new RegExp(`^${prefix}_([0-9a-f]{32})_([A-Za-z0-9_-]{43})$`)
    this.#load = load
  }

  generate(platform: Platform): GeneratedToken {
    const id = platform.id(this.#noun)
    const secret = platform.secret(SECRET_BYTES)
    return { id, token: `${this.#prefix}_${id.slice(this.#noun.length + 1)}_${secret}`, digest: hashSecret(secret) }
  }

  /** What is kept of this token, if it is one, is good, and has not expired at `now`. */
  verify(token: string, now: number): Kept | null {
    const kept = this.#findMatching(token, (id) => this.#find(id))
    return kept && (kept.expires_at === null || now < kept.expires_at) ? kept : null
  }

  /** Whether a token that `check` did not take at `now` was good before. */
  hasExpired(token: string, now: number): boolean {
    const kept = this.#findMatching(token, (id) => this.#cache.get(id) ?? null)
    return kept !== null && kept.expires_at !== null && now >= kept.expires_at
  }

  /** What is kept of the token with this id, if it is good at `now`. Of ids that this service has signed: each unknown one costs a read. */
  findValid(id: string, now: number): Kept | null {
    const kept = this.#find(id)
    return kept && (kept.expires_at === null || now < kept.expires_at) ? kept : null
  }

  #findMatching(token: string, find: (id: string) => Kept | null): Kept | null {
    const [, key, secret] = this.#pattern.exec(token) ?? []
    if (key === undefined || secret === undefined) return null
    const kept = find(`${this.#noun}_${key}`)
    return isSameDigest(hashSecret(secret), kept?.digest ?? NO_DIGEST) ? kept : null
  }

  /** After its row has changed. */
  invalidate(id: string): void {
    this.#cache.delete(id)
  }

  // What does not exist is not remembered: anybody can think of a million ids.
  #find(id: string): Kept | null {
    const remembered = this.#cache.get(id)
    if (remembered) return remembered
    const kept = this.#load(id)
    if (kept) this.#cache.set(id, kept)
    return kept
  }
}

// Of the text, and not of the bytes: base64url has several texts for the same bytes, and only one of them was handed out.
function hashSecret(secret: string): Uint8Array {
  return hash('sha256', secret, 'buffer')
}

function isSameDigest(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other)
}
