// A model that was found: by which of its names, and what its provider is asked with.
import type { Model, Provider } from './provider.ts'
import { keyCure, ProviderError } from './provider-error.ts'

/** A secret of whoever calls, or null. */
export type SecretOf = (name: string) => string | null

export interface Found {
  readonly provider: Provider
  readonly model: Model
  readonly credential: string | null
}

/** What a name without a tag means to servers that have one for every model (Ollama). */
const LATEST = ':latest'

/** The names that a list may have a model under, the best one first. */
export function namesOf(name: string): readonly string[] {
  return name === '' ? [] : [name, `${name}${LATEST}`]
}

/** By list, which never changes: its models by their names, of two with the same name the first one. A run may name very many. */
const byName = new WeakMap<readonly Model[], ReadonlyMap<string, Model>>()

/** The model that a list has under the best of its names. */
export function listedAs(models: readonly Model[] | null, name: string): Model | null {
  if (models === null) return null
  const named = byName.get(models) ?? new Map(models.toReversed().map((model) => [model.name, model]))
  byName.set(models, named)
  for (const one of namesOf(name)) {
    const found = named.get(one)
    if (found) return found
  }
  return null
}

/** How much of a name an error shows. */
const SHOWN = 100

/** @throws ProviderError `no_key`, which names the secret; what `secret` throws */
export function credentialOf({ name: provider, credential: name, keyless }: Provider, secret: SecretOf): string | null {
  if (name === null) return null
  const value = secret(name)
  if (value !== null || keyless) return value
  throw new ProviderError('no_key', `The provider "${provider}" needs the secret "${name}". ${keyCure(name)}`)
}

export function shown(name: string): string {
  return name.length <= SHOWN ? name : `${name.slice(0, SHOWN)}…`
}
