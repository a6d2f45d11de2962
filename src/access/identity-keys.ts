// The keys that the identity provider signs with: fetched when they are first needed, again before they get old and when a token names
// another one, and kept in use while the provider cannot be asked.
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import type { Log } from '../log.ts'
import { usableKeys } from './identity-key-set.ts'
import { ask, type IdentityTools, Outage, type ProviderRequests, Unavailable } from './identity-provider.ts'

/** Keys are asked for again after this time, and nobody waits for the answer. */
const RENEWED_MS = 5 * 60_000
/** From this time on everybody waits for newer keys. One that was withdrawn counts no longer than that, unless the provider is away. */
const FRESH_MS = 10 * 60_000
/** Keys are used for so long while no newer ones can be had: a night without the provider, and not a key that leaked last week. */
const KEPT_MS = 24 * 60 * 60_000
/** Between two requests for a key that is not known: anybody can make one up. Whoever names one meanwhile waits for the next. */
const UNKNOWN_PAUSE_MS = 2_000
/** So many wait for newer keys; whoever comes on top is told to come back. */
const MOST_WAITING = 128
/** Between two requests where the last one failed. */
const FAILED_PAUSE_MS = 1_000

const PATH = '/.well-known/jwks.json'

export class ProviderKeys {
  readonly #provider: ProviderRequests
  readonly #wait: IdentityTools['wait']
  readonly #now: () => number
  readonly #outage: Outage
  readonly #log: Log
  #told = false
  #find: JWTVerifyGetKey | null = null
  /** How often keys were asked for. */
  #asked = 0
  /** The request that those in use came with. */
  #came_with = 0
  #known_at = Number.NEGATIVE_INFINITY
  #failed_at = Number.NEGATIVE_INFINITY
  #unknown_at = Number.NEGATIVE_INFINITY
  #loading: Promise<void> | null = null
  #looking: Promise<void> | null = null
  #waiting = 0

  constructor(provider: ProviderRequests, { platform, log, wait }: IdentityTools) {
    this.#provider = provider
    this.#wait = wait
    this.#now = () => platform.now()
    this.#log = log
    this.#outage = new Outage('The keys of tokens', log)
  }

  /**
   * The key that a token is signed with, as its header names it.
   * @throws Unavailable where no keys can be had, or a newer key that cannot be looked for; a JOSEError where there is no such key
   */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    const asked = this.#asked
    for (;;) {
      try {
        const find = await this.#usable()
        return await find(header, token)
      } catch (error) {
        // Keys that were asked for before the token came may be older than its key.
        if (!(error instanceof errors.JWKSNoMatchingKey) || this.#came_with > asked) throw this.#judged(error)
      }
      await this.#lookAgain()
    }
  }

  async #usable(): Promise<JWTVerifyGetKey> {
    const age = this.#since(this.#known_at)
    if (this.#find && age < FRESH_MS) {
      if (age >= RENEWED_MS) void this.#load()
      return this.#find
    }
    const failing = this.#failing
    const loading = this.#load()
    // While the provider is away nobody waits for it who can do without.
    if (!failing || !this.#kept) await loading
    if (this.#kept) return this.#kept
    throw new Unavailable('there are no keys')
  }

  /** What is used where nothing newer can be had. */
  get #kept(): JWTVerifyGetKey | null {
    return this.#since(this.#known_at) < KEPT_MS ? this.#find : null
  }

  /** Waits for the keys that are under way, or the next that may be asked for. */
  async #lookAgain(): Promise<void> {
    if (this.#waiting >= MOST_WAITING) throw new Unavailable('too many wait for newer keys')
    this.#waiting++
    try {
      await (this.#loading ?? this.#nextLook())
    } finally {
      this.#waiting--
    }
    if (this.#failing) throw new Unavailable('a key is not known, and newer ones cannot be had')
  }

  #nextLook(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null
    })
    return this.#looking
  }

  async #look(): Promise<void> {
    const left = UNKNOWN_PAUSE_MS - this.#since(this.#unknown_at)
    if (left > 0 && !this.#failing) await this.#wait(left, this.#provider.stopping)
    this.#unknown_at = this.#now()
    await this.#load()
  }

  get #failing(): boolean {
    return this.#failed_at > Number.NEGATIVE_INFINITY
  }

  /** Milliseconds since then, by a clock that may have been put back. */
  #since(then: number): number {
    return Math.abs(this.#now() - then)
  }

  /** Never rejects. Does nothing so soon after a failure. */
  #load(): Promise<void> {
    if (!this.#loading && this.#since(this.#failed_at) < FAILED_PAUSE_MS) return Promise.resolve()
    this.#loading ??= this.#fetch().finally(() => {
      this.#loading = null
    })
    return this.#loading
  }

  async #fetch(): Promise<void> {
    const asked = ++this.#asked
    try {
      const { status, body } = await ask(this.#provider, PATH, {})
      if (status !== 200) throw new Unavailable(`status ${status}`)
      this.#find = createLocalJWKSet(this.#keySet(body))
      this.#came_with = asked
      this.#known_at = this.#now()
      this.#failed_at = Number.NEGATIVE_INFINITY
      this.#outage.end()
    } catch (error) {
      this.#failed_at = this.#now()
      this.#outage.begin((error as Error).message, this.#failed_at)
    }
  }

  /** A key that cannot be used is the provider's fault, and not the token's. */
  #judged(error: unknown): unknown {
    const of_token = error instanceof errors.JOSEError && !(error instanceof errors.JWKSInvalid)
    if (of_token || error instanceof Unavailable) return error
    this.unusable()
    return new Unavailable(UNUSABLE)
  }

  /** A signature could not be verified for the sake of a key. */
  unusable(): void {
    this.#outage.begin(UNUSABLE, this.#now())
  }

  /** A set without a key is no answer: a provider that signs has one. */
  #keySet(body: unknown): JSONWebKeySet {
    const { keys, left_out } = usableKeys(body)
    if (left_out > 0 && !this.#told) {
      this.#told = true
      this.#log.warn({ left_out }, 'keys of the identity provider are weak, broken or private: they are left out')
    }
    if (keys.length === 0) throw new Unavailable('the answer holds no usable public key')
    return { keys }
  }
}

const UNUSABLE = 'a key cannot be used'
