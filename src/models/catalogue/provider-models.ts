// What every provider has for one caller, asked at once and for a bounded time: its models, or why it gives none. Nothing of what a provider
// said goes into a reason, unless it is a ProviderError, whose words are ours.
import type { Log } from '../../log.ts'
import { compareTexts } from '../../shared/sorting.ts'
import type { BillingContext } from '../billing/billing-context.ts'
import { IdleTimeoutError, withIdleTimeout } from '../calls/idle-timeout.ts'
import type { Model, Provider } from '../provider.ts'
import { ProviderError } from '../provider-error.ts'
import type { ProviderRegistry } from '../providers/registry.ts'
import type { ModelListCache } from './model-list-cache.ts'
import { resolveCredential } from './resolved-model.ts'

/** How long a list waits for the slowest provider. What comes later is there for the next one. */
const LIST_TIMEOUT_MS = 1_500

export interface CatalogueParts {
  readonly providers: ProviderRegistry
  readonly listings: ModelListCache
  readonly log: Log
  /** Milliseconds, where a test does not want to wait. */
  readonly list_timeout_ms?: number
}

/** A provider with its models by id, or with the reason why none of its models can be asked. */
export interface ProviderModels {
  readonly provider: Provider
  readonly models: readonly Model[]
  /** Safe to show; null where it has answered, and one of its models at least can be asked, if it has any. */
  readonly reason: string | null
}

/** The providers in their order, the default one first; `only`: the one of that name, if any. @throws the signal's reason */
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
  { listings, log, list_timeout_ms: patience_ms = LIST_TIMEOUT_MS }: CatalogueParts,
  provider: Provider,
  billing: Pick<BillingContext, 'key'>,
  signal: AbortSignal,
): Promise<ProviderModels> {
  try {
    const credential = resolveCredential(provider, (name) => billing.key(name))
    const models = await withIdleTimeout(listings.list(provider, credential, signal), patience_ms, signal)
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

/** Why none of a provider's models can be asked: for what it lacks itself, or else as the first one says; null where one can, or there is none. */
export function findUnavailability(provider: Pick<Provider, 'lack'>, models: readonly Model[]): string | null {
  const usable = models.some(({ unavailable }) => unavailable === undefined)
  return usable ? null : (provider.lack?.() ?? models[0]?.unavailable ?? null)
}

function explainListFailure({ name }: Provider, error: unknown): string {
  if (error instanceof ProviderError) return error.message
  if (error instanceof IdleTimeoutError) return `The provider "${name}" did not answer in time.`
  return `The provider "${name}" did not list its models.`
}
