// Caches the signing keys of the identity provider: fetched on first use, before they get old, and when a token names an unknown key. Old keys stay
// in use while the provider cannot be reached.
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import type { Log } from '../../log.ts'
import { filterUsableKeys } from './jwks-filter.ts'
import {
  type IdentityDependencies,
  OutageLog,
  type ProviderEndpoint,
  ProviderUnavailableError,
  requestProvider,
} from './provider-client.ts'

/** After this time keys are fetched again in the background. */
const REFRESH_AFTER_MS = 5 * 60_000
/** From this age on, requests wait for newer keys. A withdrawn key is valid no longer than that, unless the provider is down. */
const MAX_FRESH_MS = 10 * 60_000
/** While newer keys cannot be fetched, keys are used up to this age: for a night without the provider, but not for a key that leaked last week. */
const MAX_STALE_MS = 24 * 60 * 60_000
/** The pause between two fetches for unknown keys, which any client can invent. Requests with such a key wait for the next fetch. */
const UNKNOWN_KEY_PAUSE_MS = 2_000
/** Requests that wait for newer keys. Further ones get a 503. */
const MAX_WAITING = 128
/** The pause after a failed fetch. */
const FAILED_PAUSE_MS = 1_000

const JWKS_PATH = '/.well-known/jwks.json'

export class JwksCache {
  readonly #provider: ProviderEndpoint
  readonly #wait: IdentityDependencies['wait']
  readonly #now: () => number
  readonly #outage: OutageLog
  readonly #log: Log
  #hasWarned = false
  #resolveKey: JWTVerifyGetKey | null = null
  /** The number of fetches so far. */
  #requestCount = 0
  /** The number of the fetch that loaded the keys in use. */
  #loaded_by_request = 0
  #loaded_at = Number.NEGATIVE_INFINITY
  #failed_at = Number.NEGATIVE_INFINITY
  #looked_up_at = Number.NEGATIVE_INFINITY
  #loading: Promise<void> | null = null
  #lookup: Promise<void> | null = null
  #waiting = 0

  constructor(provider: ProviderEndpoint, { platform, log, wait }: IdentityDependencies) {
    this.#provider = provider
    this.#wait = wait
    this.#now = () => platform.now()
    this.#log = log
    this.#outage = new OutageLog('The keys of tokens', log)
  }

  /**
   * The key that the header of a token names.
   * @throws ProviderUnavailableError if there are no keys, or newer keys cannot be fetched; a JOSEError if there is no such key
   */
  readonly findKey: JWTVerifyGetKey = async (header, token) => {
    const requests_before = this.#requestCount
    for (;;) {
      try {
        const find = await this.#currentKeys()
        return await find(header, token)
      } catch (error) {
        // Keys that were fetched before the token came may lack its key.
        if (!(error instanceof errors.JWKSNoMatchingKey) || this.#loaded_by_request > requests_before)
          throw this.#translateError(error)
      }
      await this.#waitForNewerKeys()
    }
  }

  async #currentKeys(): Promise<JWTVerifyGetKey> {
    const age = this.#elapsedSince(this.#loaded_at)
    if (this.#resolveKey && age < MAX_FRESH_MS) {
      if (age >= REFRESH_AFTER_MS) void this.#load()
      return this.#resolveKey
    }
    const failing = this.#isFailing
    const loading = this.#load()
    // While the provider is down, requests use stale keys without waiting.
    if (!failing || !this.#staleKeys) await loading
    if (this.#staleKeys) return this.#staleKeys
    throw new ProviderUnavailableError('no keys are loaded')
  }

  /** The keys to use if no newer ones can be fetched. */
  get #staleKeys(): JWTVerifyGetKey | null {
    return this.#elapsedSince(this.#loaded_at) < MAX_STALE_MS ? this.#resolveKey : null
  }

  /** Waits for the pending fetch, or the next one that is allowed. */
  async #waitForNewerKeys(): Promise<void> {
    if (this.#waiting >= MAX_WAITING) throw new ProviderUnavailableError('too many requests wait for newer keys')
    this.#waiting++
    try {
      await (this.#loading ?? this.#joinLookup())
    } finally {
      this.#waiting--
    }
    if (this.#isFailing) throw new ProviderUnavailableError('a key is unknown, and newer keys cannot be fetched')
  }

  #joinLookup(): Promise<void> {
    this.#lookup ??= this.#lookUp().finally(() => {
      this.#lookup = null
    })
    return this.#lookup
  }

  async #lookUp(): Promise<void> {
    const remaining_ms = UNKNOWN_KEY_PAUSE_MS - this.#elapsedSince(this.#looked_up_at)
    if (remaining_ms > 0 && !this.#isFailing) await this.#wait(remaining_ms, this.#provider.stopping)
    this.#looked_up_at = this.#now()
    await this.#load()
  }

  get #isFailing(): boolean {
    return this.#failed_at > Number.NEGATIVE_INFINITY
  }

  /** Milliseconds since then. The clock may have been set back. */
  #elapsedSince(then: number): number {
    return Math.abs(this.#now() - then)
  }

  /** Never rejects. Does nothing shortly after a failure. */
  #load(): Promise<void> {
    if (!this.#loading && this.#elapsedSince(this.#failed_at) < FAILED_PAUSE_MS) return Promise.resolve()
    this.#loading ??= this.#fetch().finally(() => {
      this.#loading = null
    })
    return this.#loading
  }

  async #fetch(): Promise<void> {
    const request = ++this.#requestCount
    try {
      const { status, body } = await requestProvider(this.#provider, JWKS_PATH, {})
      if (status !== 200) throw new ProviderUnavailableError(`status ${status}`)
      this.#resolveKey = createLocalJWKSet(this.#validateKeySet(body))
      this.#loaded_by_request = request
      this.#loaded_at = this.#now()
      this.#failed_at = Number.NEGATIVE_INFINITY
      this.#outage.reportRecovery()
    } catch (error) {
      this.#failed_at = this.#now()
      this.#outage.reportFailure((error as Error).message, this.#failed_at)
    }
  }

  /** An unusable key is the provider's fault, not the token's. */
  #translateError(error: unknown): unknown {
    const isTokenError = error instanceof errors.JOSEError && !(error instanceof errors.JWKSInvalid)
    if (isTokenError || error instanceof ProviderUnavailableError) return error
    this.reportUnusableKey()
    return new ProviderUnavailableError(UNUSABLE_KEY)
  }

  /** Reports that a signature could not be verified because of its key. */
  reportUnusableKey(): void {
    this.#outage.reportFailure(UNUSABLE_KEY, this.#now())
  }

  /** A set without usable keys is a failure: a provider that signs has a key. */
  #validateKeySet(body: unknown): JSONWebKeySet {
    const { keys, left_out } = filterUsableKeys(body)
    if (left_out > 0 && !this.#hasWarned) {
      this.#hasWarned = true
      this.#log.warn({ left_out }, 'weak, broken or private keys of the identity provider are ignored')
    }
    if (keys.length === 0) throw new ProviderUnavailableError('the response contains no usable public key')
    return { keys }
  }
}

const UNUSABLE_KEY = 'a key is unusable'
