// Which model answers, where the one who asks says it in parts, or not at all.
import type { Scope } from '../db/scope.ts'
import { ServiceError } from '../errors.ts'
import type { Customer } from '../models/customer.ts'
import { credentialOf } from '../models/finding.ts'
import type { Listings } from '../models/listings.ts'
import { meantBy } from '../models/meant.ts'
import type { Providers } from '../models/providers.ts'

export interface ModelChoice {
  readonly provider?: string | null | undefined
  readonly model?: string | null | undefined
  readonly workflow_id?: string | null | undefined
}

export interface ChoiceParts {
  readonly providers: Providers
  readonly listings: Listings
  customerOf(owner: Scope): Customer
}

/** The name that the choice means. Without a model it is the first one for chat of its provider, or of the default one. @throws MODEL_NOT_FOUND; the signal's reason */
export async function modelOf(
  choice: ModelChoice,
  owner: Scope,
  { providers, listings, customerOf }: ChoiceParts,
  signal: AbortSignal,
): Promise<string> {
  const said = saidName(choice)
  if (said) return said
  const { provider: named } = choice
  const provider = named ? providers.get(named) : providers.all()[0]
  if (!provider) {
    const names = providers.all().map(({ name }) => name)
    const meant = meantBy(named ?? '', names, (name) => name)
    throw noModel(`There is no provider "${named?.slice(0, 100)}" of models.${meant}`)
  }
  try {
    const credential = credentialOf(provider, (name) => customerOf(owner).key(name))
    const all = (await listings.of(provider, credential, signal)).filter(({ tasks }) => tasks.includes('chat'))
    // Where none of them can be asked, the first one says why.
    const first = all.find(({ unavailable }) => unavailable === undefined) ?? all[0]
    if (first) return first.id
  } catch (cause) {
    signal.throwIfAborted()
    throw noModel(`Say which model answers: the provider "${provider.name}" does not list its own.`, cause)
  }
  throw noModel(`Say which model answers: the provider "${provider.name}" has none for chat.`)
}

/** Null where nobody says a name. */
function saidName({ provider, model, workflow_id }: ModelChoice): string | null {
  if (workflow_id) return `workflow/${workflow_id}`
  if (!model) return null
  return !provider || model.startsWith(`${provider}/`) ? model : `${provider}/${model}`
}

/** A provider and a model of it, as far as they are known. */
export interface Chosen {
  readonly provider: string | null
  readonly model: string | null
}

/** What the choice says of them, before anybody is asked. */
export function chosenOf(choice: ModelChoice, providers: Providers): Chosen {
  const named = namedOf(saidName(choice) ?? '', providers)
  return named.provider === null ? { provider: choice.provider ?? null, model: null } : named
}

/** What a name says of them. */
export function namedOf(name: string, providers: Providers): Chosen {
  const named = providers.named(name)
  return { provider: named?.provider.name ?? null, model: named?.name ?? null }
}

/** @throws INVALID_REQUEST where a workflow and a model are to answer at once */
export function refuseTwo({ provider, model, workflow_id }: ModelChoice, at: string): void {
  if (!workflow_id || (!provider && !model)) return
  const problems = [
    { path: `${at}/workflow_id`, message: 'a workflow answers in place of a model: leave one of them out' },
  ]
  throw new ServiceError('INVALID_REQUEST', { problems })
}

function noModel(message: string, cause?: unknown): ServiceError {
  return new ServiceError('MODEL_NOT_FOUND', { message, cause })
}
