// A model that was found: by which of its names, and what its provider is asked with.
import type { Model, Provider } from '../provider.ts'
import { explainMissingKey, ProviderError } from '../provider-error.ts'

/** A secret of whoever calls, or null. */
export type SecretLookup = (name: string) => string | null

export interface ResolvedModel {
  readonly provider: Provider
  readonly model: Model
  readonly credential: string | null
}

/** What a name without a tag means to servers that have one for every model (Ollama). */
const LATEST_TAG = ':latest'

/** The names that a list may have a model under, the best one first. */
export function candidateNames(name: string): readonly string[] {
  return name === '' ? [] : [name, `${name}${LATEST_TAG}`]
}

/** By list, which never changes: its models by their names, of two with the same name the first one. A run may name very many. */
const modelsByName = new WeakMap<readonly Model[], ReadonlyMap<string, Model>>()

/** The model that a list has under the best of its names. */
export function findListedModel(models: readonly Model[] | null, name: string): Model | null {
  if (models === null) return null
  const named = modelsByName.get(models) ?? new Map(models.toReversed().map((model) => [model.name, model]))
  modelsByName.set(models, named)
  for (const one of candidateNames(name)) {
    const found = named.get(one)
    if (found) return found
  }
  return null
}

/** How much of a name an error shows. */
const MAX_SHOWN_NAME = 100

/** @throws ProviderError `no_key`, which names the secret; what `secret` throws */
export function resolveCredential(
  { name: provider, credential: name, keyless }: Provider,
  secret: SecretLookup,
): string | null {
  if (name === null) return null
  const value = secret(name)
  if (value !== null || keyless) return value
  throw new ProviderError('no_key', `The provider "${provider}" needs the secret "${name}". ${explainMissingKey(name)}`)
}

export function truncateModelName(name: string): string {
  return name.length <= MAX_SHOWN_NAME ? name : `${name.slice(0, MAX_SHOWN_NAME)}…`
}
