// Which model answers, where the one who asks says it in parts, or not at all.
import type { OwnerScope } from '../db/owner-scope.ts'
import { ServiceError } from '../errors.ts'
import type { BillingContext } from '../models/billing/billing-context.ts'
import type { ModelListCache } from '../models/catalogue/model-list-cache.ts'
import { didYouMean } from '../models/catalogue/model-name-suggestions.ts'
import { resolveCredential } from '../models/catalogue/resolved-model.ts'
import type { ProviderRegistry } from '../models/providers/registry.ts'

export interface ModelChoice {
  readonly provider?: string | null | undefined
  readonly model?: string | null | undefined
  readonly workflow_id?: string | null | undefined
}

export interface ModelChoiceParts {
  readonly providers: ProviderRegistry
  readonly listings: ModelListCache
  customerOf(owner: OwnerScope): BillingContext
}

/** The name that the choice means. Without a model it is the first one for chat of its provider, or of the default one. @throws MODEL_NOT_FOUND; the signal's reason */
export async function resolveModelName(
  choice: ModelChoice,
  owner: OwnerScope,
  { providers, listings, customerOf }: ModelChoiceParts,
  signal: AbortSignal,
): Promise<string> {
  const said = readModelName(choice)
  if (said) return said
  const { provider: named } = choice
  const provider = named ? providers.get(named) : providers.all()[0]
  if (!provider) {
    const names = providers.all().map(({ name }) => name)
    const meant = didYouMean(named ?? '', names, (name) => name)
    throw createModelNotFoundError(`There is no provider "${named?.slice(0, 100)}" of models.${meant}`)
  }
  try {
    const credential = resolveCredential(provider, (name) => customerOf(owner).key(name))
    const all = (await listings.list(provider, credential, signal)).filter(({ tasks }) => tasks.includes('chat'))
    // Where none of them can be asked, the first one says why.
    const first = all.find(({ unavailable }) => unavailable === undefined) ?? all[0]
    if (first) return first.id
  } catch (cause) {
    signal.throwIfAborted()
    throw createModelNotFoundError(
      `Say which model answers: the provider "${provider.name}" does not list its own.`,
      cause,
    )
  }
  throw createModelNotFoundError(`Say which model answers: the provider "${provider.name}" has none for chat.`)
}

/** Null where nobody says a name. */
function readModelName({ provider, model, workflow_id }: ModelChoice): string | null {
  if (workflow_id) return `workflow/${workflow_id}`
  if (!model) return null
  return !provider || model.startsWith(`${provider}/`) ? model : `${provider}/${model}`
}

/** A provider and a model of it, as far as they are known. */
export interface ChosenModel {
  readonly provider: string | null
  readonly model: string | null
}

/** What the choice says of them, before anybody is asked. */
export function parseModelChoice(choice: ModelChoice, providers: ProviderRegistry): ChosenModel {
  const named = parseModelName(readModelName(choice) ?? '', providers)
  return named.provider === null ? { provider: choice.provider ?? null, model: null } : named
}

/** What a name says of them. */
export function parseModelName(name: string, providers: ProviderRegistry): ChosenModel {
  const named = providers.resolveId(name)
  return { provider: named?.provider.name ?? null, model: named?.name ?? null }
}

/** @throws INVALID_REQUEST where a workflow and a model are to answer at once */
export function refuseModelAndWorkflow({ provider, model, workflow_id }: ModelChoice, at: string): void {
  if (!workflow_id || (!provider && !model)) return
  const problems = [
    { path: `${at}/workflow_id`, message: 'a workflow answers in place of a model: leave one of them out' },
  ]
  throw new ServiceError('INVALID_REQUEST', { problems })
}

function createModelNotFoundError(message: string, cause?: unknown): ServiceError {
  return new ServiceError('MODEL_NOT_FOUND', { message, cause })
}
