// What a model's name without a provider means. Lists that are known decide, however old they are: nobody waits for a provider that gave none
// the last time, as one that hangs would hold up every call of every other.

import type { Model, Provider } from '../provider.ts'
import { ProviderError } from '../provider-error.ts'
import type { ProviderRegistry } from '../providers/registry.ts'
import type { ModelListCache } from './model-list-cache.ts'
import {
  candidateNames,
  findListedModel,
  type ResolvedModel,
  resolveCredential,
  type SecretLookup,
  truncateModelName,
} from './resolved-model.ts'

interface UnqualifiedNameParts {
  readonly providers: ProviderRegistry
  readonly listings: ModelListCache
  readonly secret: SecretLookup
  readonly signal: AbortSignal
  /** Whether what no list has is none. Otherwise the one that settings name for such names is asked. */
  readonly listed: boolean
}

/** One that can be asked, and its list as far as it is known. */
interface ProviderListing {
  readonly provider: Provider
  readonly credential: string | null
  readonly models: readonly Model[] | null
  readonly failed: boolean
}

export class UnqualifiedNameResolver {
  readonly #parts: UnqualifiedNameParts
  readonly #name: string
  /** The last of each. */
  readonly #failures = new Map<Provider, unknown>()

  constructor(parts: UnqualifiedNameParts, name: string) {
    this.#parts = parts
    this.#name = name
  }

  /** @throws ProviderError `not_found`, `no_key`; the signal's reason */
  async resolve(): Promise<ResolvedModel> {
    const { providers, signal } = this.#parts
    // It has the first say: nobody need wait for others then.
    const firstListing = await this.#readList(providers.all()[0]!)
    signal.throwIfAborted()
    const first =
      firstListing &&
      (this.#toResolvedModel(firstListing, findListedModel(firstListing.models, this.#name)) ??
        (firstListing.models ? null : this.#describeAtDefault(firstListing)))
    if (first) return first
    const all = await Promise.all(providers.all().map((provider) => this.#readList(provider)))
    signal.throwIfAborted()
    const listed = all.filter((one) => one !== null)
    const found = this.#findAmong(listed)
    if (found) return found
    const assumed = this.#parts.listed
      ? null
      : listed.map((one) => this.#describeAtDefault(one)).find((one) => one !== null)
    // It may have come since.
    const refreshed = assumed ?? this.#findAmong(await Promise.all(listed.map((one) => this.#refreshList(one))))
    signal.throwIfAborted()
    if (refreshed) return refreshed
    throw this.#notFoundError(listed)
  }

  /** Whoever has just that name goes before those that have it in other words. */
  #findAmong(listed: readonly ProviderListing[]): ResolvedModel | null {
    for (const name of candidateNames(this.#name)) {
      const found = listed.flatMap(
        (one) =>
          this.#toResolvedModel(
            one,
            one.models?.find((model) => model.name === name),
          ) ?? [],
      )
      if (found.length > 0) return this.#requireUnique(found)
    }
    return null
  }

  /** Waits for the first list of a provider, and for no other. Null where it cannot be asked. */
  async #readList(provider: Provider): Promise<ProviderListing | null> {
    const { listings, secret, signal } = this.#parts
    try {
      const credential = resolveCredential(provider, secret)
      const { models, failed } = listings.peek(provider, credential)
      if (models || failed) return { provider, credential, models, failed }
      try {
        return { provider, credential, models: await listings.list(provider, credential, signal), failed }
      } catch (error) {
        this.#failures.set(provider, error)
        return { provider, credential, models: null, failed: true }
      }
    } catch (error) {
      this.#failures.set(provider, error)
      return null
    }
  }

  async #refreshList(listed: ProviderListing): Promise<ProviderListing> {
    const { provider, credential, failed } = listed
    if (failed) return listed
    const { listings, signal } = this.#parts
    try {
      return { ...listed, models: await listings.list(provider, credential, signal, [this.#name]) }
    } catch (error) {
      this.#failures.set(provider, error)
      return listed
    }
  }

  #toResolvedModel({ provider, credential }: ProviderListing, model: Model | null | undefined): ResolvedModel | null {
    return model ? { provider, model, credential } : null
  }

  /** The one that settings name for such names is asked itself. */
  #describeAtDefault(listed: ProviderListing): ResolvedModel | null {
    const { provider } = listed
    if (provider !== this.#parts.providers.defaultProvider || !provider.unlisted || this.#name === '') return null
    return this.#toResolvedModel(listed, provider.unlisted(this.#name))
  }

  /** Tells who might have it and was not heard. The one that settings name for such names should have been: what it lacks comes first. */
  #notFoundError(listed: readonly ProviderListing[]): ProviderError {
    const { defaultProvider: standard } = this.#parts.providers
    const notAsked = this.#parts.providers.all().filter((one) => !listed.some(({ provider }) => provider === one))
    const defaultFailure = standard && notAsked.includes(standard) ? this.#failures.get(standard) : null
    if (defaultFailure instanceof ProviderError) return defaultFailure
    const withoutKey = notAsked.map(({ name, credential }) => `${name} (${credential})`)
    const withoutList = listed.filter(({ provider, models }) => !models && provider.base_url !== undefined)
    const text = [
      `No provider${withoutKey.length + withoutList.length > 0 ? ' that could be asked' : ''} has a model "${truncateModelName(this.#name)}".`,
      ...(withoutKey.length > 0 ? [`Without a key there was no asking ${withoutKey.join(', ')}.`] : []),
      ...(withoutList.length > 0
        ? [`No list came from ${withoutList.map(({ provider }) => provider.name).join(', ')}.`]
        : []),
      'Models are named provider/name.',
    ]
    return new ProviderError('not_found', text.join(' '), { cause: [...this.#failures.values()][0] })
  }

  #requireUnique(all: readonly ResolvedModel[]): ResolvedModel {
    const available = all.filter(({ model }) => model.unavailable === undefined)
    const found = available.length > 0 ? available : all
    const [first, ...others] = found
    if (others.length === 0 || first!.provider === this.#parts.providers.all()[0]) return first!
    const ids = found.map(({ provider, model }) => `"${provider.name}/${truncateModelName(model.name)}"`).join(', ')
    const text = `Several providers have a model "${truncateModelName(this.#name)}": say which of ${ids}.`
    throw new ProviderError('not_found', text)
  }
}
