// The models of each provider, as it lists them: asked once in a while and by one caller at a time, since a list may come over the network.
// There is one list for all who ask, so that what is foretold of a run is what the run finds. Where a list cannot be had, the last one goes on.
// A server may repeat the key that it was asked with in its list: no name of a model has it.
import { createHash } from 'node:crypto'
import { Redactor } from '../../redaction/redactor.ts'
import { type Steps, TimeSliceScheduler } from '../../shared/time-slices.ts'
import { IdleTimeoutError, withIdleTimeout } from '../calls/idle-timeout.ts'
import type { Model, Provider } from '../provider.ts'
import { validateModels } from '../providers/shared/provider-data-validation.ts'

/** For how long a list is believed, in milliseconds. */
const FRESH_MS = 60_000
/** The same of a list that lacks what is looked for: it may have come since. */
const INCOMPLETE_FRESH_MS = 5_000
/** For how long it is good enough while a new look is under way beside. */
const STALE_MS = 600_000
/** For how long one is told that cannot be had any more. */
const LAST_RESORT_MS = 3_600_000
/** For how long a provider that gave no list is left alone: whoever asks is told the same. */
const RETRY_AFTER_FAILURE_MS = 5_000
/** How long a provider may take to list its models. */
const LIST_TIMEOUT_MS = 5_000
/** After so many times that, a look is given up: a provider need not heed the end of its time, and may be there again. */
const ABANDONED_AFTER_TIMEOUTS = 2
/** Lists differ by who asks. The one that came first goes first, and so do looks. */
const MAX_LISTS = 1_000
/** How much all lists have together, in characters. Whoever sets one key after the other has a list for each of them. */
const MAX_CHARACTERS = 64_000_000
/** What a model counts besides its texts. */
const CHARACTERS_PER_MODEL = 200

interface CachedModelList {
  /** Counts looks: what an earlier one brings never replaces what a later one brought. */
  readonly fetch_number: number
  readonly asked_at: number
  readonly models: readonly Model[]
  /** How much room they take, in characters. */
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

/** What is known of a provider without waiting for it. */
export interface CachedModels {
  /** By its last list, however old; null where it never gave one. */
  readonly models: readonly Model[] | null
  /** Whether the last look brought nothing. */
  readonly failed: boolean
}

export interface ModelListCacheParts {
  /** Milliseconds since the epoch. */
  now(): number
  readonly listing_ms?: number
  /** How many characters all lists may have together. */
  readonly most_characters?: number
  /** In which the key is looked for in lists. */
  readonly slices?: Pick<TimeSliceScheduler, 'run'>
  /** Told once of each provider in whose list some entries cannot be read. */
  unreadable?(provider: Provider): void
}

export class ModelListCache {
  readonly #now: () => number
  readonly #listing_ms: number
  readonly #max_characters: number
  readonly #slices: Pick<TimeSliceScheduler, 'run'>
  readonly #reportUnreadable: (provider: Provider) => void
  /** Names of providers of whom that was told. */
  readonly #reportedProviders = new Set<string>()
  readonly #lists = new Map<string, CachedModelList>()
  /** Of all lists. */
  #characters = 0
  /** Looks that are under way. One that nobody waits for any more stays here until it settles or is given up: no second one comes beside it. */
  readonly #fetches = new Map<string, ListFetch>()
  /** Of looks that brought nothing, until one brings a list. */
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

  /** `sought` are names of models that somebody looks for. @throws what the provider throws, Malformed, a Silence, the signal's reason */
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
      // It is still under way, so that none begins beside it.
      if (error instanceof IdleTimeoutError && listFetch)
        this.#storeFailure(key, listFetch, { at: Number.NEGATIVE_INFINITY, error })
      if (known && isUsableFor(LAST_RESORT_MS)) return known.models
      throw error
    }
  }

  /** Waits for nobody. What is not fresh any more is looked for beside. */
  peek(provider: Provider, credential: string | null): CachedModels {
    const key = createCacheKey(provider, credential)
    const known = this.#lists.get(key)
    if (!known || !this.#isFresh(known, [])) this.#ensureFetch(key, provider, credential)
    return { models: known?.models ?? null, failed: this.#failures.has(key) }
  }

  #ageOf({ asked_at }: Pick<ListFetch, 'asked_at'>): number {
    return this.#now() - asked_at
  }

  /** A look that is under way; null where the last one has failed just now. */
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

  /** Others may wait for the same list: nobody's signal ends the look. */
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

  /** What a provider throws at once comes as what it throws later, and what it throws because its time is over as a Silence. */
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

  /** As the last one. The oldest make room for it; it stays itself, however large it is. */
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
    // What was begun before the last list says nothing of what came behind it.
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

function hasAllModels({ models }: Pick<CachedModelList, 'models'>, sought: readonly string[]): boolean {
  if (sought.length === 0) return true
  const names = new Set(models.map(({ name }) => name))
  return sought.every((name) => names.has(name))
}

/** Clocks are set back now and then: what is of the future is of no age. */
function isYoungerThan(age: number, ms: number): boolean {
  return age >= 0 && age < ms
}

/** As the last one of at most MOST_LISTS. */
function putBounded<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key)
  map.set(key, value)
  for (const oldest of map.keys()) {
    if (map.size <= MAX_LISTS) break
    map.delete(oldest)
  }
}

/** The same models, whose texts do not tell the key that their list was asked with. A long key may begin at each of millions of characters. */
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
