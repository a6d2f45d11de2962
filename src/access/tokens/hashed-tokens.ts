// Tokens of which the service stores only a digest: generates them, and compares a received token with its row. The token services own the rows and
// their meaning.
import { hash, timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Platform } from '../../platform.ts'

export interface HashedToken {
  /** SHA-256 of the text of the secret part. */
  readonly digest: Uint8Array
  /** Milliseconds since the epoch; null if the token does not expire. */
  readonly expires_at: number | null
}

export interface GeneratedToken {
  /** `<noun>_<32 hexadecimal characters>` */
  readonly id: string
  /** The token, which the caller sees only this once. */
  readonly token: string
  readonly digest: Uint8Array
}

/** Random bytes of a secret. */
const SECRET_BYTES = 32
/** Tokens whose rows are cached. */
const MAX_CACHED_TOKENS = 10_000
/** Compared with the secret of an unknown token, so that the check takes equally long. */
const NO_DIGEST = new Uint8Array(32)

/** A kind of tokens, `<prefix>_<the hexadecimal part of the id>_<32 random bytes as base64url>`. */
export class HashedTokenStore<Kept extends HashedToken> {
  readonly #prefix: string
  readonly #noun: string
  readonly #pattern: RegExp
  readonly #load: (id: string) => Promise<Kept | null>
  readonly #cache = new LRUCache<string, Kept>({ max: MAX_CACHED_TOKENS })
  /** The reads of rows that are under way, by id. */
  readonly #loads = new Map<string, Promise<Kept | null>>()

  constructor(prefix: string, noun: string, load: (id: string) => Promise<Kept | null>) {
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

  /** The stored data of a token that is genuine and has not expired at `now`. Returns at once if the row is cached. */
  verify(token: string, now: number): Kept | null | Promise<Kept | null> {
    const { id, secret } = this.#parse(token) ?? {}
    if (id === undefined || secret === undefined) return null
    const toValidMatch = (kept: Kept | null) => ifValid(ifSecretMatches(kept, secret), now)
    const cached = this.#cache.get(id)
    return cached ? toValidMatch(cached) : this.#loadOnce(id).then(toValidMatch)
  }

  /** Whether a token that is not valid at `now` was valid before. Reads the cache only. */
  hasExpired(token: string, now: number): boolean {
    const { id, secret } = this.#parse(token) ?? {}
    if (id === undefined || secret === undefined) return false
    const kept = ifSecretMatches(this.#cache.get(id) ?? null, secret)
    return kept !== null && ifValid(kept, now) === null
  }

  /** The stored data of the token with this id, if it is valid at `now`. Only for ids that this service has signed: each unknown id costs a read. */
  async findValid(id: string, now: number): Promise<Kept | null> {
    return ifValid(this.#cache.get(id) ?? (await this.#loadOnce(id)), now)
  }

  #parse(token: string): { id: string; secret: string } | null {
    const [, key, secret] = this.#pattern.exec(token) ?? []
    return key === undefined || secret === undefined ? null : { id: `${this.#noun}_${key}`, secret }
  }

  /** Call this after the row has changed. */
  invalidate(id: string): void {
    this.#cache.delete(id)
    this.#loads.delete(id)
  }

  #loadOnce(id: string): Promise<Kept | null> {
    const loading = this.#loads.get(id)
    if (loading) return loading
    const load = this.#load(id).then((kept) => {
      // A row that changed during the read is not cached. Nor is an unknown id: a client can invent a million of them.
      if (kept && this.#loads.get(id) === load) this.#cache.set(id, kept)
      return kept
    })
    this.#loads.set(id, load)
    const forget = () => {
      if (this.#loads.get(id) === load) this.#loads.delete(id)
    }
    load.then(forget, forget)
    return load
  }
}

function ifValid<Kept extends HashedToken>(kept: Kept | null, now: number): Kept | null {
  return kept && (kept.expires_at === null || now < kept.expires_at) ? kept : null
}

/** The time that this takes does not depend on whether the token is known. */
function ifSecretMatches<Kept extends HashedToken>(kept: Kept | null, secret: string): Kept | null {
  return isSameDigest(hashSecret(secret), kept?.digest ?? NO_DIGEST) ? kept : null
}

// Hashes the text, not the bytes: base64url has several encodings of the same bytes, and only one was issued.
function hashSecret(secret: string): Uint8Array {
  return hash('sha256', secret, 'buffer')
}

function isSameDigest(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other)
}
