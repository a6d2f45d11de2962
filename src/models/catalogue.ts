// What every provider has for one caller, asked at once and for a bounded time: its models, or why it gives none. Nothing of what a provider
// said goes into a reason, unless it is a ProviderError, whose words are ours.
import type { Log } from '../log.ts'
import { compared } from '../sorting.ts'
import type { Customer } from './customer.ts'
import { credentialOf } from './finding.ts'
import type { Listings } from './listings.ts'
import { Silence, within } from './patience.ts'
import type { Model, Provider } from './provider.ts'
import { ProviderError } from './provider-error.ts'
import type { Providers } from './providers.ts'

/** How long a list waits for the slowest provider. What comes later is there for the next one. */
const CATALOGUE_MS = 1_500

export interface CatalogueParts {
  readonly providers: Providers
  readonly listings: Listings
  readonly log: Log
  /** Milliseconds, where a test does not want to wait. */
  readonly patience_ms?: number
}

/** A provider with its models by id, or with the reason why none of its models can be asked. */
export interface Listed {
  readonly provider: Provider
  readonly models: readonly Model[]
  /** Safe to show; null where it has answered, and one of its models at least can be asked, if it has any. */
  readonly reason: string | null
}

/** The providers in their order, the default one first; `only`: the one of that name, if any. @throws the signal's reason */
export async function listedFor(
  parts: CatalogueParts,
  customer: Pick<Customer, 'key'>,
  signal: AbortSignal,
  only: string | null = null,
): Promise<Listed[]> {
  const asked = parts.providers.all().filter(({ name }) => only === null || name === only)
  const listed = await Promise.all(asked.map((provider) => listedBy(parts, provider, customer, signal)))
  signal.throwIfAborted()
  return listed
}

async function listedBy(
  { listings, log, patience_ms = CATALOGUE_MS }: CatalogueParts,
  provider: Provider,
  customer: Pick<Customer, 'key'>,
  signal: AbortSignal,
): Promise<Listed> {
  try {
    const credential = credentialOf(provider, (name) => customer.key(name))
    const models = await within(listings.of(provider, credential, signal), patience_ms, signal)
    return { provider, models: models.toSorted((a, b) => compared(a.id, b.id)), reason: lackOf(provider, models) }
  } catch (error) {
    const told = error instanceof ProviderError || error instanceof Silence
    if (!signal.aborted && !told)
      log.warn({ err: error, provider: provider.name }, 'a provider did not list its models')
    return { provider, models: [], reason: reasonOf(provider, error) }
  }
}

/** Why none of a provider's models can be asked: for what it lacks itself, or else as the first one says; null where one can, or there is none. */
export function lackOf(provider: Pick<Provider, 'lack'>, models: readonly Model[]): string | null {
  const usable = models.some(({ unavailable }) => unavailable === undefined)
  return usable ? null : (provider.lack?.() ?? models[0]?.unavailable ?? null)
}

function reasonOf({ name }: Provider, error: unknown): string {
  if (error instanceof ProviderError) return error.message
  if (error instanceof Silence) return `The provider "${name}" did not answer in time.`
  return `The provider "${name}" did not list its models.`
}
