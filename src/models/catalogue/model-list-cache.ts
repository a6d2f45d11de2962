// Caches the model list of each provider. Callers share one request, since a list may come over the network, and one list, so that a run finds
// what its preflight found. Where a request fails, the last list stays in use. The key is redacted, since a server may repeat it in its list.
import { createHash } from 'node:crypto'
import { Redactor } from '../../redaction/redactor.ts'
import { type Steps, TimeSliceScheduler } from '../../shared/time-slices.ts'
import { IdleTimeoutError, withIdleTimeout } from '../calls/idle-timeout.ts'
import type { Model, Provider } from '../provider.ts'
import { validateModels } from '../providers/shared/provider-data-validation.ts'

/** For how long a list is used without a new request, in milliseconds. */
const FRESH_MS = 60_000
/** The same for a list that lacks the wanted model, which may have been added since. */
const INCOMPLETE_FRESH_MS = 5_000
/** For how long a list is good enough while a new request runs. */
const STALE_MS = 600_000
/** For how long a list stays in use while new requests fail. */
const LAST_RESORT_MS = 3_600_000
/** For how long a failed provider gets no new request: callers get the same error. */
const RETRY_AFTER_FAILURE_MS = 5_000
/** How long a provider may take to list its models. */
const LIST_TIMEOUT_MS = 5_000
/** After so many timeouts a running request is abandoned: a provider may ignore its signal, and may be reachable again. */
const ABANDONED_AFTER_TIMEOUTS = 2
/** Lists differ by credential. The oldest list is removed first, and so is the oldest request. */
const MAX_LISTS = 1_000
/** Of all lists together. A user who sets one key after the other has a list for each key. */
const MAX_CHARACTERS = 64_000_000
/** Counted for a model besides its texts. */
const CHARACTERS_PER_MODEL = 200

interface CachedModelList {
  /** Counts requests: a list of an earlier request never replaces a list of a later one. */
  readonly fetch_number: number
  readonly asked_at: number
  readonly models: readonly Model[]
  /** The memory that the models take, in characters. */
  readonly characters: number
}

interface ListFetch {
  readonly asked_at: number
  readonly models: Promise<readonly Model[]>
}

interface FetchFailure {
  readonly at: number
  readonly error: unknown
}

/** The known models of a provider, without waiting. */
export interface CachedModels {
  /** From its last list of any age; null where there never was a list. */
  readonly models: readonly Model[] | null
  /** Whether the last request failed. */
  readonly failed: boolean
}

export interface ModelListCacheParts {
  /** Milliseconds since the epoch. */
  now(): number
  readonly listing_ms?: number
  /** The limit for all lists together, in characters. */
  readonly most_characters?: number
  /** The time slices in which keys are redacted. */
  readonly slices?: Pick<TimeSliceScheduler, 'run'>
  /** Called once for each provider whose list has unreadable entries. */
  unreadable?(provider: Provider): void
}

export class ModelListCache {
  readonly #now: () => number
  readonly #listing_ms: number
  readonly #max_characters: number
  readonly #slices: Pick<TimeSliceScheduler, 'run'>
  readonly #reportUnreadable: (provider: Provider) => void
  /** Names of the providers that were reported as unreadable. */
  readonly #reportedProviders = new Set<string>()
  readonly #lists = new Map<string, CachedModelList>()
  /** Of all lists together. */
  #characters = 0
  /** Running requests. A request without a waiting caller stays here until it settles or is abandoned, so that no second one runs beside it. */
  readonly #fetches = new Map<string, ListFetch>()
  /** The last failure, until a request succeeds. */
  readonly #failures = new Map<string, FetchFailure>()
  #fetchCount = 0

  constructor(parts: ModelListCacheParts) {
    const { now, listing_ms = LIST_TIMEOUT_MS, most_characters = MAX_CHARACTERS } = parts
    const { slices = new TimeSliceScheduler(), unreadable = () => {} } = parts
    this.#now = now
    this.#listing_ms = listing_ms
    this.#max_characters = most_characters
    this.#slices = slices
    this.#reportUnreadable = unreadable
  }

  /** `wantedModels`: names that the caller looks for. @throws what the provider throws, MalformedDataError, IdleTimeoutError, the signal's reason */
  async list(
    provider: Provider,
    credential: string | null,
    signal: AbortSignal,
    wantedModels: readonly string[] = [],
  ): Promise<readonly Model[]> {
    const key = createCacheKey(provider, credential)
    const known = this.#lists.get(key)
    const isUsableFor = (ms: number) =>
      known !== undefined && isYoungerThan(this.#ageOf(known), ms) && hasAllModels(known, wantedModels)
    const settled = known && this.#isFresh(known, wantedModels)
    const listFetch = settled ? null : this.#ensureFetch(key, provider, credential)
    signal.throwIfAborted()
    if (settled || (known && isUsableFor(STALE_MS))) return known.models
    try {
      if (!listFetch) throw this.#failures.get(key)?.error
      return await withIdleTimeout(listFetch.models, Math.max(0, this.#listing_ms - this.#ageOf(listFetch)), signal)
    } catch (error) {
      signal.throwIfAborted()
      // The request still runs: the failure is stored as old, so that it blocks no later request.
      if (error instanceof IdleTimeoutError && listFetch)
        this.#storeFailure(key, listFetch, { at: Number.NEGATIVE_INFINITY, error })
      if (known && isUsableFor(LAST_RESORT_MS)) return known.models
      throw error
    }
  }

  /** Gives the known list at once. A stale list is requested again in the background. */
  peek(provider: Provider, credential: string | null): CachedModels {
    const key = createCacheKey(provider, credential)
    const known = this.#lists.get(key)
    if (!known || !this.#isFresh(known, [])) this.#ensureFetch(key, provider, credential)
    return { models: known?.models ?? null, failed: this.#failures.has(key) }
  }

  #ageOf({ asked_at }: Pick<ListFetch, 'asked_at'>): number {
    return this.#now() - asked_at
  }

  /** The running request, or a new one; null shortly after a failure. */
  #ensureFetch(key: string, provider: Provider, credential: string | null): ListFetch | null {
    const running = this.#fetches.get(key)
    if (running && isYoungerThan(this.#ageOf(running), ABANDONED_AFTER_TIMEOUTS * this.#listing_ms)) return running
    const failure = this.#failures.get(key)
    if (failure && isYoungerThan(this.#now() - failure.at, RETRY_AFTER_FAILURE_MS)) return null
    return this.#startFetch(key, provider, credential)
  }

  #isFresh({ asked_at, models }: CachedModelList, wantedModels: readonly string[]): boolean {
    const age = this.#now() - asked_at
    if (isYoungerThan(age, INCOMPLETE_FRESH_MS)) return true
    if (!isYoungerThan(age, FRESH_MS)) return false
    return hasAllModels({ models }, wantedModels)
  }

  /** No caller's signal ends the request, since other callers may wait for the same list. */
  #startFetch(key: string, provider: Provider, credential: string | null): ListFetch {
    const listFetch = { asked_at: this.#now(), models: this.#requestModels(key, provider, credential) }
    const fetchNumber = ++this.#fetchCount
    putBounded(this.#fetches, key, listFetch)
    listFetch.models
      .finally(() => {
        if (this.#fetches.get(key) === listFetch) this.#fetches.delete(key)
      })
      .then(
        (models) => {
          this.#storeList(key, provider, {
            fetch_number: fetchNumber,
            asked_at: listFetch.asked_at,
            models,
            characters: measureModels(models),
          })
        },
        (error) => this.#storeFailure(key, listFetch, { at: this.#now(), error }),
      )
    return listFetch
  }

  /** Rejects also with an error that the provider throws at once; an error after the timeout becomes an IdleTimeoutError. */
  async #requestModels(key: string, provider: Provider, credential: string | null): Promise<readonly Model[]> {
    const signal = AbortSignal.timeout(this.#listing_ms)
    try {
      const models = validateModels(provider.name, await provider.models({ credential, signal }))
      return credential === null
        ? models
        : await this.#slices.run(key, redactCredentialSteps(models, provider, credential))
    } catch (error) {
      throw signal.aborted ? new IdleTimeoutError(this.#listing_ms) : error
    }
  }

  #storeList(key: string, provider: Provider, listing: CachedModelList): void {
    this.#failures.delete(key)
    if ((this.#lists.get(key)?.fetch_number ?? 0) < listing.fetch_number) this.#cacheList(key, listing)
    if (!provider.left_out || this.#reportedProviders.has(provider.name)) return
    this.#reportedProviders.add(provider.name)
    this.#reportUnreadable(provider)
  }

  /** Adds a list as the newest. The oldest lists are removed to make room; the new one stays, however large it is. */
  #cacheList(key: string, listing: CachedModelList): void {
    this.#removeList(key)
    this.#lists.set(key, listing)
    this.#characters += listing.characters
    for (const oldest of this.#lists.keys()) {
      const isFull = this.#lists.size > MAX_LISTS || this.#characters > this.#max_characters
      if (oldest === key || !isFull) break
      this.#removeList(oldest)
    }
  }

  #removeList(key: string): void {
    this.#characters -= this.#lists.get(key)?.characters ?? 0
    this.#lists.delete(key)
  }

  #storeFailure(key: string, { asked_at }: ListFetch, failure: FetchFailure): void {
    // A request that began before the last list came says nothing about the present.
    if ((this.#lists.get(key)?.asked_at ?? Number.NEGATIVE_INFINITY) > asked_at) return
    putBounded(this.#failures, key, failure)
  }
}

function measureModels(models: readonly Model[]): number {
  return models.reduce((sum, { name, title }) => sum + CHARACTERS_PER_MODEL + 2 * name.length + title.length, 0)
}

function createCacheKey({ name }: Provider, credential: string | null): string {
  return `${name} ${credential === null ? '' : createHash('sha256').update(credential).digest('hex')}`
}

function hasAllModels({ models }: Pick<CachedModelList, 'models'>, wantedModels: readonly string[]): boolean {
  if (wantedModels.length === 0) return true
  const names = new Set(models.map(({ name }) => name))
  return wantedModels.every((name) => names.has(name))
}

/** False for a time in the future: clocks may be set back. */
function isYoungerThan(age: number, ms: number): boolean {
  return age >= 0 && age < ms
}

/** Adds an entry as the newest, and removes the oldest beyond MAX_LISTS. */
function putBounded<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key)
  map.set(key, value)
  for (const oldest of map.keys()) {
    if (map.size <= MAX_LISTS) break
    map.delete(oldest)
  }
}

/** Redacts the credential in the texts of the models. In steps: a long key may begin at each of millions of characters. */
function* redactCredentialSteps(
  models: readonly Model[],
  provider: Provider,
  credential: string,
): Steps<readonly Model[]> {
  const redactor = new Redactor([credential])
  const redact = <Text extends string | readonly string[]>(text: Text) =>
    redactor.valueSteps(text, { credentials: false })
  const redacted: Model[] = []
  for (const model of models) {
    const { unavailable } = model
    const name = yield* redact(model.name)
    redacted.push({
      ...model,
      id: `${provider.name}/${name}`,
      name,
      title: model.title === model.name ? name : yield* redact(model.title),
      tasks: yield* redact(model.tasks),
      ...(unavailable === undefined ? {} : { unavailable: yield* redact(unavailable) }),
    })
  }
  return redacted
}
