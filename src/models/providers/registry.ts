// The providers of this process, and which of them a model's id means.

import type { Provider } from '../provider.ts'
import { builtinProvider } from './builtin-echo.ts'

export interface ModelReference {
  readonly provider: Provider
  /** Without its provider. */
  readonly name: string
}

const PROVIDER_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/i

/** Ends what its providers keep running when it is disposed of. */
export class ProviderRegistry implements Disposable {
  readonly #byName = new Map<string, Provider>()
  readonly #defaultName: string | null

  /** @throws Error where two have the same name, or one has a name that ids cannot begin with */
  constructor(providers: readonly Provider[], default_provider: string | null = null) {
    this.#defaultName = default_provider
    for (const provider of providers) this.add(provider)
  }

  /** One that was found later. @throws as the constructor */
  add(provider: Provider): void {
    const { name } = provider
    if (!PROVIDER_NAME.test(name)) throw new Error(`no name of a provider: ${JSON.stringify(name)}`)
    if (this.#byName.has(name)) throw new Error('two providers of models have the same name')
    this.#byName.set(name, provider)
  }

  /** The default one comes first, or else the one that was given first: it has the first say on a name without a provider. */
  all(): readonly Provider[] {
    const all = [...this.#byName.values()]
    const first = all.findIndex(({ name }) => name === this.#defaultName)
    return first > 0 ? [all[first]!, ...all.toSpliced(first, 1)] : all
  }

  /** What a name without a provider means by the settings; null where they do not say. */
  get defaultProvider(): Provider | null {
    return this.#defaultName === null ? null : (this.#byName.get(this.#defaultName) ?? null)
  }

  /** Those that there are now: others may be found while somebody looks at them. */
  snapshot(): ProviderRegistry {
    return new ProviderRegistry(this.all(), this.#defaultName)
  }

  get(name: string): Provider | undefined {
    return this.#byName.get(name)
  }

  /** `provider/name` as its provider and the model's name there; null where there is no such provider. */
  resolveId(id: string): ModelReference | null {
    const slash = id.indexOf('/')
    const provider = slash > 0 ? this.#byName.get(id.slice(0, slash)) : undefined
    return provider ? { provider, name: id.slice(slash + 1) } : null
  }

  [Symbol.dispose](): void {
    for (const provider of this.#byName.values()) provider[Symbol.dispose]?.()
  }
}

/** The one that is always there, and `more`: what there is where no settings name others. */
export function createBuiltinRegistry(more: readonly Provider[] = []): ProviderRegistry {
  return new ProviderRegistry([builtinProvider, ...more])
}
