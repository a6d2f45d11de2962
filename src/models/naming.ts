// Which model a name means.
import { BareName } from './bare-name.ts'
import { credentialOf, type Found, listedAs, type SecretOf, shown } from './finding.ts'
import type { Listings } from './listings.ts'
import { meantModel, meantProvider } from './meant.ts'
import type { Model, Provider } from './provider.ts'
import { ProviderError } from './provider-error.ts'
import type { Providers } from './providers.ts'

/** Where models are looked for. */
export interface Places {
  readonly providers: Providers
  readonly listings: Listings
}

export interface Sought {
  /** `provider/name`, or a bare name. */
  readonly id: string
  readonly secret: SecretOf
  readonly signal: AbortSignal
  /** Whether what a list lacks is none. Otherwise a provider that may have it all the same is asked: no list has every name that is answered to. */
  readonly listed: boolean
}

/** @throws ProviderError `not_found`, `no_key`, `failed`; the signal's reason */
export async function findModel(places: Places, sought: Sought): Promise<Found> {
  const place = places.providers.named(sought.id)
  if (!place) return await new BareName({ ...places, ...sought }, bareName(sought.id, places)).find()
  const { provider, name } = place
  const credential = credentialOf(provider, sought.secret)
  const model = await modelThere({ provider, credential, name, listings: places.listings }, sought)
  if (model) return { provider, model, credential }
  const meant = meantModel(provider.name, name, places.listings.peek(provider, credential).models ?? [])
  throw new ProviderError('not_found', `The provider "${provider.name}" has no model "${shown(name)}".${meant}`)
}

interface There {
  readonly provider: Provider
  readonly credential: string | null
  readonly name: string
  readonly listings: Listings
}

/** No call waits for a look that would bring it no more than facts about a model which its provider may have anyway. */
async function modelThere(
  { provider, credential, name, listings }: There,
  { signal, listed }: Sought,
): Promise<Model | null> {
  const { models, failed } = listings.peek(provider, credential)
  const known = listedAs(models, name)
  if (known || name === '') return known
  const unlisted = () => provider.unlisted?.(name) ?? null
  if (provider.unlisted && (failed || (models && !listed))) return unlisted()
  try {
    const found = listedAs(await listings.of(provider, credential, signal, [name]), name)
    return found ?? (listed ? null : unlisted())
  } catch (cause) {
    signal.throwIfAborted()
    if (provider.unlisted) return unlisted()
    if (cause instanceof ProviderError) throw cause
    throw new ProviderError('failed', `The provider "${provider.name}" did not list its models.`, { cause })
  }
}

/** @throws ProviderError `not_found` where it is none, as its provider is not there */
function bareName(id: string, { providers }: Places): string {
  const slash = id.indexOf('/')
  if (slash < 0) return id
  const meant = meantProvider(id, providers.all())
  throw new ProviderError('not_found', `There is no provider "${shown(id.slice(0, slash))}" of models.${meant}`)
}
