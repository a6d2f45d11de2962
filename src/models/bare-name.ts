// What a model's name without a provider means. Lists that are known decide, however old they are: nobody waits for a provider that gave none
// the last time, as one that hangs would hold up every call of every other.
import { credentialOf, type Found, listedAs, namesOf, type SecretOf, shown } from './finding.ts'
import type { Listings } from './listings.ts'
import type { Model, Provider } from './provider.ts'
import { ProviderError } from './provider-error.ts'
import type { Providers } from './providers.ts'

interface Parts {
  readonly providers: Providers
  readonly listings: Listings
  readonly secret: SecretOf
  readonly signal: AbortSignal
  /** Whether what no list has is none. Otherwise the one that settings name for such names is asked. */
  readonly listed: boolean
}

/** One that can be asked, and its list as far as it is known. */
interface Listed {
  readonly provider: Provider
  readonly credential: string | null
  readonly models: readonly Model[] | null
  readonly failed: boolean
}

export class BareName {
  readonly #parts: Parts
  readonly #name: string
  /** The last of each. */
  readonly #failures = new Map<Provider, unknown>()

  constructor(parts: Parts, name: string) {
    this.#parts = parts
    this.#name = name
  }

  /** @throws ProviderError `not_found`, `no_key`; the signal's reason */
  async find(): Promise<Found> {
    const { providers, signal } = this.#parts
    // It has the first say: nobody need wait for others then.
    const own = await this.#look(providers.all()[0]!)
    signal.throwIfAborted()
    const first = own && (this.#in(own, listedAs(own.models, this.#name)) ?? (own.models ? null : this.#standing(own)))
    if (first) return first
    const all = await Promise.all(providers.all().map((provider) => this.#look(provider)))
    signal.throwIfAborted()
    const listed = all.filter((one) => one !== null)
    const found = this.#among(listed)
    if (found) return found
    const standing = this.#parts.listed ? null : listed.map((one) => this.#standing(one)).find((one) => one !== null)
    // It may have come since.
    const late = standing ?? this.#among(await Promise.all(listed.map((one) => this.#again(one))))
    signal.throwIfAborted()
    if (late) return late
    throw this.#nobodys(listed)
  }

  /** Whoever has just that name goes before those that have it in other words. */
  #among(listed: readonly Listed[]): Found | null {
    for (const name of namesOf(this.#name)) {
      const found = listed.flatMap(
        (one) =>
          this.#in(
            one,
            one.models?.find((model) => model.name === name),
          ) ?? [],
      )
      if (found.length > 0) return this.#onlyOne(found)
    }
    return null
  }

  /** Waits for the first list of a provider, and for no other. Null where it cannot be asked. */
  async #look(provider: Provider): Promise<Listed | null> {
    const { listings, secret, signal } = this.#parts
    try {
      const credential = credentialOf(provider, secret)
      const { models, failed } = listings.peek(provider, credential)
      if (models || failed) return { provider, credential, models, failed }
      try {
        return { provider, credential, models: await listings.of(provider, credential, signal), failed }
      } catch (error) {
        this.#failures.set(provider, error)
        return { provider, credential, models: null, failed: true }
      }
    } catch (error) {
      this.#failures.set(provider, error)
      return null
    }
  }

  async #again(listed: Listed): Promise<Listed> {
    const { provider, credential, failed } = listed
    if (failed) return listed
    const { listings, signal } = this.#parts
    try {
      return { ...listed, models: await listings.of(provider, credential, signal, [this.#name]) }
    } catch (error) {
      this.#failures.set(provider, error)
      return listed
    }
  }

  #in({ provider, credential }: Listed, model: Model | null | undefined): Found | null {
    return model ? { provider, model, credential } : null
  }

  /** The one that settings name for such names is asked itself. */
  #standing(listed: Listed): Found | null {
    const { provider } = listed
    if (provider !== this.#parts.providers.standard || !provider.unlisted || this.#name === '') return null
    return this.#in(listed, provider.unlisted(this.#name))
  }

  /** Tells who might have it and was not heard. The one that settings name for such names should have been: what it lacks comes first. */
  #nobodys(listed: readonly Listed[]): ProviderError {
    const { standard } = this.#parts.providers
    const unasked = this.#parts.providers.all().filter((one) => !listed.some(({ provider }) => provider === one))
    const lacking = standard && unasked.includes(standard) ? this.#failures.get(standard) : null
    if (lacking instanceof ProviderError) return lacking
    const keyless = unasked.map(({ name, credential }) => `${name} (${credential})`)
    const silent = listed.filter(({ provider, models }) => !models && provider.base_url !== undefined)
    const text = [
      `No provider${keyless.length + silent.length > 0 ? ' that could be asked' : ''} has a model "${shown(this.#name)}".`,
      ...(keyless.length > 0 ? [`Without a key there was no asking ${keyless.join(', ')}.`] : []),
      ...(silent.length > 0 ? [`No list came from ${silent.map(({ provider }) => provider.name).join(', ')}.`] : []),
      'Models are named provider/name.',
    ]
    return new ProviderError('not_found', text.join(' '), { cause: [...this.#failures.values()][0] })
  }

  #onlyOne(all: readonly Found[]): Found {
    const usable = all.filter(({ model }) => model.unavailable === undefined)
    const found = usable.length > 0 ? usable : all
    const [first, ...others] = found
    if (others.length === 0 || first!.provider === this.#parts.providers.all()[0]) return first!
    const ids = found.map(({ provider, model }) => `"${provider.name}/${shown(model.name)}"`).join(', ')
    const text = `Several providers have a model "${shown(this.#name)}": say which of ${ids}.`
    throw new ProviderError('not_found', text)
  }
}
