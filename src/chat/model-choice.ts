// Chooses the model for a turn when the request names only a part of it, or nothing.
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
  readonly model_lists: ModelListCache
  billingOf(owner: OwnerScope): BillingContext
}

/**
 * The name of the chosen model. Without a name, the first chat model of the given or the default provider.
 * @throws MODEL_NOT_FOUND; the signal's reason
 */
export async function resolveModelName(
  choice: ModelChoice,
  owner: OwnerScope,
  { providers, model_lists, billingOf }: ModelChoiceParts,
  signal: AbortSignal,
): Promise<string> {
  const model_name = readModelName(choice)
  if (model_name) return model_name
  const { provider: named } = choice
  const provider = named ? providers.get(named) : providers.all()[0]
  if (!provider) {
    const names = providers.all().map(({ name }) => name)
    const suggestion = didYouMean(named ?? '', names, (name) => name)
    throw createModelNotFoundError(`There is no provider "${named?.slice(0, 100)}" of models.${suggestion}`)
  }
  try {
    const credential = resolveCredential(provider, (name) => billingOf(owner).key(name))
    const all = (await model_lists.list(provider, credential, signal)).filter(({ tasks }) => tasks.includes('chat'))
    // If all models are unavailable, the error of the first model explains why.
    const first = all.find(({ unavailable }) => unavailable === undefined) ?? all[0]
    if (first) return first.id
  } catch (cause) {
    signal.throwIfAborted()
    throw createModelNotFoundError(`Name a model: the provider "${provider.name}" does not list its models.`, cause)
  }
  throw createModelNotFoundError(`Name a model: the provider "${provider.name}" lists none for chat.`)
}

/** Null if the choice has no model name. */
function readModelName({ provider, model, workflow_id }: ModelChoice): string | null {
  if (workflow_id) return `workflow/${workflow_id}`
  if (!model) return null
  return !provider || model.startsWith(`${provider}/`) ? model : `${provider}/${model}`
}

/** The provider and its model, as far as they are known. */
export interface ChosenModel {
  readonly provider: string | null
  readonly model: string | null
}

/** The provider and model that the choice names, without a request to a provider. */
export function parseModelChoice(choice: ModelChoice, providers: ProviderRegistry): ChosenModel {
  const named = parseModelName(readModelName(choice) ?? '', providers)
  return named.provider === null ? { provider: choice.provider ?? null, model: null } : named
}

export function parseModelName(name: string, providers: ProviderRegistry): ChosenModel {
  const named = providers.resolveId(name)
  return { provider: named?.provider.name ?? null, model: named?.name ?? null }
}

/** @throws INVALID_REQUEST if the choice names both a workflow and a model */
export function refuseModelAndWorkflow({ provider, model, workflow_id }: ModelChoice, at: string): void {
  if (!workflow_id || (!provider && !model)) return
  const problems = [
    { path: `${at}/workflow_id`, message: 'a workflow and a model cannot both answer; leave one of them out' },
  ]
  throw new ServiceError('INVALID_REQUEST', { problems })
}

function createModelNotFoundError(message: string, cause?: unknown): ServiceError {
  return new ServiceError('MODEL_NOT_FOUND', { message, cause })
}
