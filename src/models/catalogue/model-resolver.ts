// Resolves a model's name to a model, its provider and the credential.

import type { Model, Provider } from '../provider.ts'
import { ProviderError } from '../provider-error.ts'
import type { ProviderRegistry } from '../providers/registry.ts'
import type { ModelListCache } from './model-list-cache.ts'
import { suggestModel, suggestProvider } from './model-name-suggestions.ts'
import {
  findListedModel,
  type ResolvedModel,
  resolveCredential,
  type SecretLookup,
  truncateModelName,
} from './resolved-model.ts'
import { UnqualifiedNameResolver } from './unqualified-name-resolver.ts'

export interface ModelSources {
  readonly providers: ProviderRegistry
  readonly model_lists: ModelListCache
}

export interface ModelQuery {
  /** `provider/name`, or a bare name. */
  readonly id: string
  readonly secret: SecretLookup
  readonly signal: AbortSignal
  /** Whether only listed models count. Otherwise an unlisted name also resolves where its provider accepts such names: no list is complete. */
  readonly listed: boolean
}

/** @throws ProviderError `not_found`, `no_key`, `failed`; the signal's reason */
export async function resolveModel(sources: ModelSources, query: ModelQuery): Promise<ResolvedModel> {
  const reference = sources.providers.resolveId(query.id)
  if (!reference)
    return await new UnqualifiedNameResolver(
      { ...sources, ...query },
      requireUnqualifiedName(query.id, sources),
    ).resolve()
  const { provider, name } = reference
  const credential = resolveCredential(provider, query.secret)
  const model = await findModelAtProvider({ provider, credential, name, model_lists: sources.model_lists }, query)
  if (model) return { provider, model, credential }
  const suggestion = suggestModel(provider.name, name, sources.model_lists.peek(provider, credential).models ?? [])
  throw new ProviderError(
    'not_found',
    `The provider "${provider.name}" has no model "${truncateModelName(name)}".${suggestion}`,
  )
}

interface ProviderLookup {
  readonly provider: Provider
  readonly credential: string | null
  readonly name: string
  readonly model_lists: ModelListCache
}

/** A call does not wait for a list that would only add facts about a model, since the provider may have the model anyway. */
async function findModelAtProvider(
  { provider, credential, name, model_lists }: ProviderLookup,
  { signal, listed }: ModelQuery,
): Promise<Model | null> {
  const { models, failed } = model_lists.peek(provider, credential)
  const known = findListedModel(models, name)
  if (known || name === '') return known
  const describeUnlisted = () => provider.unlisted?.(name) ?? null
  if (provider.unlisted && (failed || (models && !listed))) return describeUnlisted()
  try {
    const found = findListedModel(await model_lists.list(provider, credential, signal, [name]), name)
    return found ?? (listed ? null : describeUnlisted())
  } catch (cause) {
    signal.throwIfAborted()
    if (provider.unlisted) return describeUnlisted()
    if (cause instanceof ProviderError) throw cause
    throw new ProviderError('failed', `The provider "${provider.name}" did not list its models.`, { cause })
  }
}

/** @throws ProviderError `not_found` where the id names an unknown provider */
function requireUnqualifiedName(id: string, { providers }: ModelSources): string {
  const slash = id.indexOf('/')
  if (slash < 0) return id
  const suggestion = suggestProvider(id, providers.all())
  throw new ProviderError(
    'not_found',
    `There is no provider "${truncateModelName(id.slice(0, slash))}" of models.${suggestion}`,
  )
}
