// Derives the requirement of one model call from the answer of its provider.
import type { NodeNeed } from '../../engine/node-api/node-facts.ts'
import { suggestModel } from '../../models/catalogue/model-name-suggestions.ts'
import { supportsTask } from '../../models/catalogue/model-tasks.ts'
import { findListedModel } from '../../models/catalogue/resolved-model.ts'
import type { Model, Provider } from '../../models/provider.ts'
import type { RequirementStatus, RunRequirement } from './requirements.ts'

/** The need of a model call, without its prompt. */
export type ModelNeed = Omit<Extract<NodeNeed, { kind: 'model' }>, 'prompt'>

/** The result of probing one provider. */
export interface ProviderState {
  readonly provider: Provider
  readonly status: RequirementStatus
  readonly message: string | null
  /** Null if the provider gave no list. */
  readonly models: readonly Model[] | null
}

/** Whether a run may call the provider although it gave no list. Such a model must not block the run. */
export function mayServeUnlisted({ provider, status }: ProviderState): boolean {
  return status === 'unknown' && provider.unlisted !== undefined
}

export function resolveModelRequirement(seen: ProviderState, need: ModelNeed): RunRequirement {
  const { provider, models, status, message } = seen
  const { model, task, max_output_tokens: asked } = need
  const name = model!.startsWith(`${provider.name}/`) ? model!.slice(provider.name.length + 1) : model!
  const listed = findListedModel(models, name)
  const common = {
    kind: 'model',
    id: `${provider.name}/${listed?.name ?? name}`,
    name: listed?.title ?? (name || model!),
    blocking: !mayServeUnlisted(seen),
  } as const
  if (models === null) return { ...common, status: status === 'unavailable' ? 'unknown' : status, message }
  if (!listed && name !== '' && provider.unlisted) {
    const said = 'The provider does not list this model. A run tries it anyway.'
    return { ...common, blocking: false, status: 'unknown', message: said }
  }
  if (!listed) {
    const meant = suggestModel(provider.name, name, models)
    return { ...common, status: 'missing', message: `The provider does not list this model.${meant}` }
  }
  if (listed.unavailable !== undefined) return { ...common, status: 'unavailable', message: listed.unavailable }
  if (!supportsTask(listed, task)) {
    return { ...common, status: 'unavailable', message: `The model does not support this task (${task}).` }
  }
  const refused = need.fields?.find((field) => provider.unsupported_fields?.includes(field))
  if (refused !== undefined) {
    return { ...common, status: 'unavailable', message: `The provider does not support "${refused}".` }
  }
  if (need.fields?.includes('tools') && callsNoTools(listed)) {
    return {
      ...common,
      status: 'unavailable',
      message: 'The model cannot call tools. Choose another model, or remove the tools.',
    }
  }
  const most = listed.max_output_tokens
  if (most !== null && asked !== null && asked > most) {
    return { ...common, status: 'unavailable', message: `The model gives at most ${most} tokens, and not ${asked}.` }
  }
  return { ...common, status: 'available', message: null }
}

/** Whether the model is known to call no tools. A model without any listed capability may call some. */
function callsNoTools({ capabilities = [] }: Model): boolean {
  return capabilities.length > 0 && !capabilities.includes('tools')
}
