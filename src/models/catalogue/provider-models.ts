// Lists the models of all providers for one caller, in parallel and for a bounded time: models, or a reason why there are none. A reason never
// contains a provider's own words, except a ProviderError, whose text this service writes.
import type { Log } from '../../log.ts'
import { compareTexts } from '../../shared/sorting.ts'
import type { BillingContext } from '../billing/billing-context.ts'
import { IdleTimeoutError, withIdleTimeout } from '../calls/idle-timeout.ts'
import type { Model, Provider } from '../provider.ts'
import { ProviderError } from '../provider-error.ts'
import type { ProviderRegistry } from '../providers/registry.ts'
import type { ModelListCache } from './model-list-cache.ts'
import { resolveCredential } from './resolved-model.ts'

/** How long a list waits for the slowest provider. A later answer serves the next list. */
const LIST_TIMEOUT_MS = 1_500

export interface CatalogueParts {
  readonly providers: ProviderRegistry
  readonly model_lists: ModelListCache
  readonly log: Log
  /** For tests. */
  readonly list_timeout_ms?: number
}

/** A provider with its models in order of their ids, or with the reason why none can be called. */
export interface ProviderModels {
  readonly provider: Provider
  readonly models: readonly Model[]
  /** Safe to show. Null where the provider has answered, and has no models or at least one that can be called. */
  readonly reason: string | null
}

/** Lists the default provider first. `onlyProvider` selects the provider of that name, if there is one. @throws the signal's reason */
export async function listProviderModels(
  parts: CatalogueParts,
  billing: Pick<BillingContext, 'key'>,
  signal: AbortSignal,
  onlyProvider: string | null = null,
): Promise<ProviderModels[]> {
  const selected = parts.providers.all().filter(({ name }) => onlyProvider === null || name === onlyProvider)
  const listed = await Promise.all(selected.map((provider) => listModelsOf(parts, provider, billing, signal)))
  signal.throwIfAborted()
  return listed
}

async function listModelsOf(
  { model_lists, log, list_timeout_ms = LIST_TIMEOUT_MS }: CatalogueParts,
  provider: Provider,
  billing: Pick<BillingContext, 'key'>,
  signal: AbortSignal,
): Promise<ProviderModels> {
  try {
    const credential = resolveCredential(provider, (name) => billing.key(name))
    const models = await withIdleTimeout(model_lists.list(provider, credential, signal), list_timeout_ms, signal)
    return {
      provider,
      models: models.toSorted((a, b) => compareTexts(a.id, b.id)),
      reason: findUnavailability(provider, models),
    }
  } catch (error) {
    const isExplained = error instanceof ProviderError || error instanceof IdleTimeoutError
    if (!signal.aborted && !isExplained)
      log.warn({ err: error, provider: provider.name }, 'a provider did not list its models')
    return { provider, models: [], reason: explainListFailure(provider, error) }
  }
}

/** Why none of a provider's models can be called: the provider's own reason, or else that of its first model. Null where one can be called, or there is no model. */
export function findUnavailability(provider: Pick<Provider, 'lack'>, models: readonly Model[]): string | null {
  const usable = models.some(({ unavailable }) => unavailable === undefined)
  return usable ? null : (provider.lack?.() ?? models[0]?.unavailable ?? null)
}

function explainListFailure({ name }: Provider, error: unknown): string {
  if (error instanceof ProviderError) return error.message
  if (error instanceof IdleTimeoutError) return `The provider "${name}" did not answer in time.`
  return `The provider "${name}" did not list its models.`
}
