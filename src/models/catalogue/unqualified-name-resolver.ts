// Resolves a model's name without a provider. Known lists decide, at any age. A call never waits for a provider whose last list failed: one
// hanging provider would delay every call to the others.

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
  readonly model_lists: ModelListCache
  readonly secret: SecretLookup
  readonly signal: AbortSignal
  /** Whether only listed models count. Otherwise the default provider may take an unlisted name. */
  readonly listed: boolean
}

/** A provider that can be called, and its list where that is known. */
interface ProviderListing {
  readonly provider: Provider
  readonly credential: string | null
  readonly models: readonly Model[] | null
  readonly failed: boolean
}

export class UnqualifiedNameResolver {
  readonly #parts: UnqualifiedNameParts
  readonly #name: string
  /** The last failure of each provider. */
  readonly #failures = new Map<Provider, unknown>()

  constructor(parts: UnqualifiedNameParts, name: string) {
    this.#parts = parts
    this.#name = name
  }

  /** @throws ProviderError `not_found`, `no_key`; the signal's reason */
  async resolve(): Promise<ResolvedModel> {
    const { providers, signal } = this.#parts
    // The first provider has precedence: if it has the model, the call need not wait for the others.
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
    // The model may have been added since the last lists.
    const refreshed = assumed ?? this.#findAmong(await Promise.all(listed.map((one) => this.#refreshList(one))))
    signal.throwIfAborted()
    if (refreshed) return refreshed
    throw this.#notFoundError(listed)
  }

  /** A provider with exactly this name precedes a provider that has the name with a tag. */
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

  /** Waits only for the first list of a provider. Null where the provider cannot be called. */
  async #readList(provider: Provider): Promise<ProviderListing | null> {
    const { model_lists, secret, signal } = this.#parts
    try {
      const credential = resolveCredential(provider, secret)
      const { models, failed } = model_lists.peek(provider, credential)
      if (models || failed) return { provider, credential, models, failed }
      try {
        return { provider, credential, models: await model_lists.list(provider, credential, signal), failed }
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
    const { model_lists, signal } = this.#parts
    try {
      return { ...listed, models: await model_lists.list(provider, credential, signal, [this.#name]) }
    } catch (error) {
      this.#failures.set(provider, error)
      return listed
    }
  }

  #toResolvedModel({ provider, credential }: ProviderListing, model: Model | null | undefined): ResolvedModel | null {
    return model ? { provider, model, credential } : null
  }

  /** The model at the default provider, which may have an unlisted name. */
  #describeAtDefault(listed: ProviderListing): ResolvedModel | null {
    const { provider } = listed
    if (provider !== this.#parts.providers.defaultProvider || !provider.unlisted || this.#name === '') return null
    return this.#toResolvedModel(listed, provider.unlisted(this.#name))
  }

  /** Names the providers that might have the model but gave no list. A failure of the default provider comes first. */
  #notFoundError(listed: readonly ProviderListing[]): ProviderError {
    const { defaultProvider } = this.#parts.providers
    const notAsked = this.#parts.providers.all().filter((one) => !listed.some(({ provider }) => provider === one))
    const defaultFailure =
      defaultProvider && notAsked.includes(defaultProvider) ? this.#failures.get(defaultProvider) : null
    if (defaultFailure instanceof ProviderError) return defaultFailure
    const withoutKey = notAsked.map(({ name, credential }) => `${name} (${credential})`)
    const withoutList = listed.filter(({ provider, models }) => !models && provider.base_url !== undefined)
    const text = [
      `No provider${withoutKey.length + withoutList.length > 0 ? ' that could be asked' : ''} has a model "${truncateModelName(this.#name)}".`,
      ...(withoutKey.length > 0 ? [`These providers need a key: ${withoutKey.join(', ')}.`] : []),
      ...(withoutList.length > 0
        ? [`These providers gave no list of models: ${withoutList.map(({ provider }) => provider.name).join(', ')}.`]
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
    const text = `Several providers have a model "${truncateModelName(this.#name)}": use one of ${ids}.`
    throw new ProviderError('not_found', text)
  }
}
