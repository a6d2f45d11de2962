// The models of each provider, as it lists them: asked once in a while and by one caller at a time, since a list may come over the network.
// There is one list for all who ask, so that what is foretold of a run is what the run finds. Where a list cannot be had, the last one goes on.
// A server may repeat the key that it was asked with in its list: no name of a model has it.
import { createHash } from 'node:crypto'
import { Redactor } from '../redaction/redactor.ts'
import { type Steps, TimeSlices } from '../time-slices.ts'
import { checkedModels } from './checked.ts'
import { Silence, within } from './patience.ts'
import type { Model, Provider } from './provider.ts'

/** For how long a list is believed, in milliseconds. */
const FRESH_MS = 60_000
/** The same of a list that lacks what is looked for: it may have come since. */
const LACKING_MS = 5_000
/** For how long it is good enough while a new look is under way beside. */
const STALE_MS = 600_000
/** For how long one is told that cannot be had any more. */
const KEPT_MS = 3_600_000
/** For how long a provider that gave no list is left alone: whoever asks is told the same. */
const FAILED_MS = 5_000
/** How long a provider may take to list its models. */
const LISTING_MS = 5_000
/** After so many times that, a look is given up: a provider need not heed the end of its time, and may be there again. */
const GIVEN_UP_AFTER = 2
/** Lists differ by who asks. The one that came first goes first, and so do looks. */
const MOST_LISTS = 1_000
/** How much all lists have together, in characters. Whoever sets one key after the other has a list for each of them. */
const MOST_CHARACTERS = 64_000_000
/** What a model counts besides its texts. */
const CHARACTERS_OF_MODEL = 200

interface Listing {
  /** Counts looks: what an earlier one brings never replaces what a later one brought. */
  readonly turn: number
  readonly asked_at: number
  readonly models: readonly Model[]
  /** How much room they take, in characters. */
  readonly characters: number
}

interface Look {
  readonly asked_at: number
  readonly models: Promise<readonly Model[]>
}

interface Failure {
  readonly at: number
  readonly error: unknown
}

/** What is known of a provider without waiting for it. */
export interface Glimpse {
  /** By its last list, however old; null where it never gave one. */
  readonly models: readonly Model[] | null
  /** Whether the last look brought nothing. */
  readonly failed: boolean
}

export interface ListingsParts {
  /** Milliseconds since the epoch. */
  now(): number
  readonly listing_ms?: number
  /** How many characters all lists may have together. */
  readonly most_characters?: number
  /** In which the key is looked for in lists. */
  readonly slices?: Pick<TimeSlices, 'run'>
  /** Told once of each provider in whose list some entries cannot be read. */
  unreadable?(provider: Provider): void
}

export class Listings {
  readonly #now: () => number
  readonly #listing_ms: number
  readonly #most_characters: number
  readonly #slices: Pick<TimeSlices, 'run'>
  readonly #unreadable: (provider: Provider) => void
  /** Names of providers of whom that was told. */
  readonly #told = new Set<string>()
  readonly #lists = new Map<string, Listing>()
  /** Of all lists. */
  #characters = 0
  /** Looks that are under way. One that nobody waits for any more stays here until it settles or is given up: no second one comes beside it. */
  readonly #looks = new Map<string, Look>()
  /** Of looks that brought nothing, until one brings a list. */
  readonly #failures = new Map<string, Failure>()
  #turns = 0

  constructor(parts: ListingsParts) {
    const { now, listing_ms = LISTING_MS, most_characters = MOST_CHARACTERS } = parts
    const { slices = new TimeSlices(), unreadable = () => {} } = parts
    this.#now = now
    this.#listing_ms = listing_ms
    this.#most_characters = most_characters
    this.#slices = slices
    this.#unreadable = unreadable
  }

  /** `sought` are names of models that somebody looks for. @throws what the provider throws, Malformed, a Silence, the signal's reason */
  async of(
    provider: Provider,
    credential: string | null,
    signal: AbortSignal,
    sought: readonly string[] = [],
  ): Promise<readonly Model[]> {
    const key = keyOf(provider, credential)
    const known = this.#lists.get(key)
    const has = (ms: number) => known !== undefined && isWithin(this.#age(known), ms) && hasAll(known, sought)
    const settled = known && this.#isFresh(known, sought)
    const look = settled ? null : this.#begun(key, provider, credential)
    signal.throwIfAborted()
    if (settled || (known && has(STALE_MS))) return known.models
    try {
      if (!look) throw this.#failures.get(key)?.error
      return await within(look.models, Math.max(0, this.#listing_ms - this.#age(look)), signal)
    } catch (error) {
      signal.throwIfAborted()
      // It is still under way, so that none begins beside it.
      if (error instanceof Silence && look) this.#fail(key, look, { at: Number.NEGATIVE_INFINITY, error })
      if (known && has(KEPT_MS)) return known.models
      throw error
    }
  }

  /** Waits for nobody. What is not fresh any more is looked for beside. */
  peek(provider: Provider, credential: string | null): Glimpse {
    const key = keyOf(provider, credential)
    const known = this.#lists.get(key)
    if (!known || !this.#isFresh(known, [])) this.#begun(key, provider, credential)
    return { models: known?.models ?? null, failed: this.#failures.has(key) }
  }

  #age({ asked_at }: Pick<Look, 'asked_at'>): number {
    return this.#now() - asked_at
  }

  /** A look that is under way; null where the last one has failed just now. */
  #begun(key: string, provider: Provider, credential: string | null): Look | null {
    const under_way = this.#looks.get(key)
    if (under_way && isWithin(this.#age(under_way), GIVEN_UP_AFTER * this.#listing_ms)) return under_way
    const failure = this.#failures.get(key)
    if (failure && isWithin(this.#now() - failure.at, FAILED_MS)) return null
    return this.#look(key, provider, credential)
  }

  #isFresh({ asked_at, models }: Listing, sought: readonly string[]): boolean {
    const age = this.#now() - asked_at
    if (isWithin(age, LACKING_MS)) return true
    if (!isWithin(age, FRESH_MS)) return false
    return hasAll({ models }, sought)
  }

  /** Others may wait for the same list: nobody's signal ends the look. */
  #look(key: string, provider: Provider, credential: string | null): Look {
    const look = { asked_at: this.#now(), models: this.#listed(key, provider, credential) }
    const turn = ++this.#turns
    put(this.#looks, key, look)
    look.models
      .finally(() => {
        if (this.#looks.get(key) === look) this.#looks.delete(key)
      })
      .then(
        (models) => {
          this.#keep(key, provider, { turn, asked_at: look.asked_at, models, characters: charactersOf(models) })
        },
        (error) => this.#fail(key, look, { at: this.#now(), error }),
      )
    return look
  }

  /** What a provider throws at once comes as what it throws later, and what it throws because its time is over as a Silence. */
  async #listed(key: string, provider: Provider, credential: string | null): Promise<readonly Model[]> {
    const signal = AbortSignal.timeout(this.#listing_ms)
    try {
      const models = checkedModels(provider.name, await provider.models({ credential, signal }))
      return credential === null ? models : await this.#slices.run(key, withoutKey(models, provider, credential))
    } catch (error) {
      throw signal.aborted ? new Silence(this.#listing_ms) : error
    }
  }

  #keep(key: string, provider: Provider, listing: Listing): void {
    this.#failures.delete(key)
    if ((this.#lists.get(key)?.turn ?? 0) < listing.turn) this.#put(key, listing)
    if (!provider.left_out || this.#told.has(provider.name)) return
    this.#told.add(provider.name)
    this.#unreadable(provider)
  }

  /** As the last one. The oldest make room for it; it stays itself, however large it is. */
  #put(key: string, listing: Listing): void {
    this.#drop(key)
    this.#lists.set(key, listing)
    this.#characters += listing.characters
    for (const oldest of this.#lists.keys()) {
      const isFull = this.#lists.size > MOST_LISTS || this.#characters > this.#most_characters
      if (oldest === key || !isFull) break
      this.#drop(oldest)
    }
  }

  #drop(key: string): void {
    this.#characters -= this.#lists.get(key)?.characters ?? 0
    this.#lists.delete(key)
  }

  #fail(key: string, { asked_at }: Look, failure: Failure): void {
    // What was begun before the last list says nothing of what came behind it.
    if ((this.#lists.get(key)?.asked_at ?? Number.NEGATIVE_INFINITY) > asked_at) return
    put(this.#failures, key, failure)
  }
}

function charactersOf(models: readonly Model[]): number {
  return models.reduce((sum, { name, title }) => sum + CHARACTERS_OF_MODEL + 2 * name.length + title.length, 0)
}

function keyOf({ name }: Provider, credential: string | null): string {
  return `${name} ${credential === null ? '' : createHash('sha256').update(credential).digest('hex')}`
}

function hasAll({ models }: Pick<Listing, 'models'>, sought: readonly string[]): boolean {
  if (sought.length === 0) return true
  const names = new Set(models.map(({ name }) => name))
  return sought.every((name) => names.has(name))
}

/** Clocks are set back now and then: what is of the future is of no age. */
function isWithin(age: number, ms: number): boolean {
  return age >= 0 && age < ms
}

/** As the last one of at most MOST_LISTS. */
function put<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key)
  map.set(key, value)
  for (const oldest of map.keys()) {
    if (map.size <= MOST_LISTS) break
    map.delete(oldest)
  }
}

/** The same models, whose texts do not tell the key that their list was asked with. A long key may begin at each of millions of characters. */
function* withoutKey(models: readonly Model[], provider: Provider, credential: string): Steps<readonly Model[]> {
  const redactor = new Redactor([credential])
  const safe = <Text extends string | readonly string[]>(text: Text) =>
    redactor.valueSteps(text, { credentials: false })
  const told: Model[] = []
  for (const model of models) {
    const { unavailable } = model
    const name = yield* safe(model.name)
    told.push({
      ...model,
      id: `${provider.name}/${name}`,
      name,
      title: model.title === model.name ? name : yield* safe(model.title),
      tasks: yield* safe(model.tasks),
      ...(unavailable === undefined ? {} : { unavailable: yield* safe(unavailable) }),
    })
  }
  return told
}
