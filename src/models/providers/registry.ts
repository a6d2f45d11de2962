// The registry of this process's providers, which finds the provider of a model's id.

import type { Provider } from '../provider.ts'
import { builtinProvider } from './builtin-echo.ts'

export interface ModelReference {
  readonly provider: Provider
  /** The model's name without its provider. */
  readonly name: string
}

const PROVIDER_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/i

/** Disposing it ends the processes of its providers. */
export class ProviderRegistry implements Disposable {
  readonly #byName = new Map<string, Provider>()
  readonly #defaultName: string | null

  /** @throws Error where two providers have the same name, or a name cannot begin an id */
  constructor(providers: readonly Provider[], default_provider: string | null = null) {
    this.#defaultName = default_provider
    for (const provider of providers) this.add(provider)
  }

  /** Adds a provider that was discovered later. @throws as the constructor */
  add(provider: Provider): void {
    const { name } = provider
    if (!PROVIDER_NAME.test(name)) throw new Error(`invalid provider name: ${JSON.stringify(name)}`)
    if (this.#byName.has(name)) throw new Error('two model providers have the same name')
    this.#byName.set(name, provider)
  }

  /** The default provider comes first, or else the first one given. The first provider has precedence for a name without a provider. */
  all(): readonly Provider[] {
    const all = [...this.#byName.values()]
    const first = all.findIndex(({ name }) => name === this.#defaultName)
    return first > 0 ? [all[first]!, ...all.toSpliced(first, 1)] : all
  }

  /** The provider that the settings set for names without a provider; null where they set none. */
  get defaultProvider(): Provider | null {
    return this.#defaultName === null ? null : (this.#byName.get(this.#defaultName) ?? null)
  }

  /** A copy of the present registry: more providers may be discovered while the caller works with it. */
  snapshot(): ProviderRegistry {
    return new ProviderRegistry(this.all(), this.#defaultName)
  }

  get(name: string): Provider | undefined {
    return this.#byName.get(name)
  }

  /** Splits `provider/name`; null where there is no such provider. */
  resolveId(id: string): ModelReference | null {
    const slash = id.indexOf('/')
    const provider = slash > 0 ? this.#byName.get(id.slice(0, slash)) : undefined
    return provider ? { provider, name: id.slice(slash + 1) } : null
  }

  [Symbol.dispose](): void {
    for (const provider of this.#byName.values()) provider[Symbol.dispose]?.()
  }
}

/** A registry without settings: the built-in provider and `more`. */
export function createBuiltinRegistry(more: readonly Provider[] = []): ProviderRegistry {
  return new ProviderRegistry([builtinProvider, ...more])
}
