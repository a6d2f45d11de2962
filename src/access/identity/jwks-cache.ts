// The keys that the identity provider signs with: fetched when they are first needed, again before they get old and when a token names
// another one, and kept in use while the provider cannot be asked.
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

/** Keys are asked for again after this time, and nobody waits for the answer. */
const REFRESH_AFTER_MS = 5 * 60_000
/** From this time on everybody waits for newer keys. One that was withdrawn counts no longer than that, unless the provider is away. */
const MAX_FRESH_MS = 10 * 60_000
/** Keys are used for so long while no newer ones can be had: a night without the provider, and not a key that leaked last week. */
const MAX_STALE_MS = 24 * 60 * 60_000
/** Between two requests for a key that is not known: anybody can make one up. Whoever names one meanwhile waits for the next. */
const UNKNOWN_KEY_PAUSE_MS = 2_000
/** So many wait for newer keys; whoever comes on top is told to come back. */
const MAX_WAITING = 128
/** Between two requests where the last one failed. */
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
  /** How often keys were asked for. */
  #requestCount = 0
  /** The request that those in use came with. */
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
   * The key that a token is signed with, as its header names it.
   * @throws Unavailable where no keys can be had, or a newer key that cannot be looked for; a JOSEError where there is no such key
   */
  readonly findKey: JWTVerifyGetKey = async (header, token) => {
    const asked = this.#requestCount
    for (;;) {
      try {
        const find = await this.#currentKeys()
        return await find(header, token)
      } catch (error) {
        // Keys that were asked for before the token came may be older than its key.
        if (!(error instanceof errors.JWKSNoMatchingKey) || this.#loaded_by_request > asked)
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
    // While the provider is away nobody waits for it who can do without.
    if (!failing || !this.#staleKeys) await loading
    if (this.#staleKeys) return this.#staleKeys
    throw new ProviderUnavailableError('there are no keys')
  }

  /** What is used where nothing newer can be had. */
  get #staleKeys(): JWTVerifyGetKey | null {
    return this.#elapsedSince(this.#loaded_at) < MAX_STALE_MS ? this.#resolveKey : null
  }

  /** Waits for the keys that are under way, or the next that may be asked for. */
  async #waitForNewerKeys(): Promise<void> {
    if (this.#waiting >= MAX_WAITING) throw new ProviderUnavailableError('too many wait for newer keys')
    this.#waiting++
    try {
      await (this.#loading ?? this.#joinLookup())
    } finally {
      this.#waiting--
    }
    if (this.#isFailing) throw new ProviderUnavailableError('a key is not known, and newer ones cannot be had')
  }

  #joinLookup(): Promise<void> {
    this.#lookup ??= this.#lookUp().finally(() => {
      this.#lookup = null
    })
    return this.#lookup
  }

  async #lookUp(): Promise<void> {
    const left = UNKNOWN_KEY_PAUSE_MS - this.#elapsedSince(this.#looked_up_at)
    if (left > 0 && !this.#isFailing) await this.#wait(left, this.#provider.stopping)
    this.#looked_up_at = this.#now()
    await this.#load()
  }

  get #isFailing(): boolean {
    return this.#failed_at > Number.NEGATIVE_INFINITY
  }

  /** Milliseconds since then, by a clock that may have been put back. */
  #elapsedSince(then: number): number {
    return Math.abs(this.#now() - then)
  }

  /** Never rejects. Does nothing so soon after a failure. */
  #load(): Promise<void> {
    if (!this.#loading && this.#elapsedSince(this.#failed_at) < FAILED_PAUSE_MS) return Promise.resolve()
    this.#loading ??= this.#fetch().finally(() => {
      this.#loading = null
    })
    return this.#loading
  }

  async #fetch(): Promise<void> {
    const asked = ++this.#requestCount
    try {
      const { status, body } = await requestProvider(this.#provider, JWKS_PATH, {})
      if (status !== 200) throw new ProviderUnavailableError(`status ${status}`)
      this.#resolveKey = createLocalJWKSet(this.#validateKeySet(body))
      this.#loaded_by_request = asked
      this.#loaded_at = this.#now()
      this.#failed_at = Number.NEGATIVE_INFINITY
      this.#outage.reportRecovery()
    } catch (error) {
      this.#failed_at = this.#now()
      this.#outage.reportFailure((error as Error).message, this.#failed_at)
    }
  }

  /** A key that cannot be used is the provider's fault, and not the token's. */
  #translateError(error: unknown): unknown {
    const of_token = error instanceof errors.JOSEError && !(error instanceof errors.JWKSInvalid)
    if (of_token || error instanceof ProviderUnavailableError) return error
    this.reportUnusableKey()
    return new ProviderUnavailableError(UNUSABLE_KEY)
  }

  /** A signature could not be verified for the sake of a key. */
  reportUnusableKey(): void {
    this.#outage.reportFailure(UNUSABLE_KEY, this.#now())
  }

  /** A set without a key is no answer: a provider that signs has one. */
  #validateKeySet(body: unknown): JSONWebKeySet {
    const { keys, left_out } = filterUsableKeys(body)
    if (left_out > 0 && !this.#hasWarned) {
      this.#hasWarned = true
      this.#log.warn({ left_out }, 'keys of the identity provider are weak, broken or private: they are left out')
    }
    if (keys.length === 0) throw new ProviderUnavailableError('the answer holds no usable public key')
    return { keys }
  }
}

const UNUSABLE_KEY = 'a key cannot be used'
