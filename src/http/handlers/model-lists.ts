// Operations of the tag `models` that list the models that completions can use, and their properties.
import type { ModelsHandlers } from '../../../generated/operations.ts'
import type { ModelProvider, Model as OpenAiModel, ProviderModel } from '../../../generated/types.ts'
import { convertToServiceError } from '../../completions/error-conversion.ts'
import { WORKFLOW_MODEL_PREFIX, type WorkflowModel } from '../../completions/workflow-models/service.ts'
import { userShareKey } from '../../db/owner-scope.ts'
import type { ProviderModels } from '../../models/catalogue/provider-models.ts'
import type { Model, ModelPrice } from '../../models/provider.ts'
import { ProviderError } from '../../models/provider-error.ts'
import { compareTexts, sortSteps } from '../../shared/sorting.ts'
import { forEachSteps, mapSteps, type Steps } from '../../shared/time-slices.ts'
import type { RequestContext } from '../pipeline/request-context.ts'
import { listRedactedModels } from './redacted-models.ts'

type ModelListHandlers = Pick<ModelsHandlers<RequestContext>, 'listModels' | 'retrieveModel' | 'listProviderModels'>

/** The provider of workflow models, which is no model server. */
const WORKFLOW_PROVIDER: ModelProvider = {
  provider: 'workflow',
  name: 'Workflows',
  kind: 'workflow',
  available: true,
  reason: null,
}

export const modelListHandlers: ModelListHandlers = {
  async listModels(_request, { app, principal, signal }) {
    const [listed, workflows] = await Promise.all([
      listRedactedModels(app, principal, signal),
      app.models.workflow_models.list(principal),
    ])
    const provided = listed.flatMap(({ provider, models }) =>
      models.filter(isUsable).map((model) => toOpenAiModel(model.id, model.created ?? 0, provider.name)),
    )
    const own = mapSteps(workflows, ({ id, created }) => toOpenAiModel(id, created, WORKFLOW_PROVIDER.provider))
    const data = [...provided, ...(await app.schedulers.reading.begin(userShareKey(principal), own))]
    return { status: 200, body: { object: 'list', data } }
  },

  async retrieveModel({ path: { model: name } }, { app, principal, signal }) {
    if (name.startsWith(WORKFLOW_MODEL_PREFIX)) {
      const { id, created } = app.models.workflow_models.get(principal, name.slice(WORKFLOW_MODEL_PREFIX.length))
      return { status: 200, body: toOpenAiModel(id, created, WORKFLOW_PROVIDER.provider) }
    }
    try {
      const { provider, model } = await app.models.calls.findListed(name, app.models.billingOf(principal), signal)
      if (model.unavailable !== undefined) throw new ProviderError('unavailable', model.unavailable)
      return { status: 200, body: toOpenAiModel(model.id, model.created ?? 0, provider.name) }
    } catch (error) {
      throw convertToServiceError(error)
    }
  },

  async listProviderModels({ query }, { app, principal, signal }) {
    const only = query.provider ?? null
    const isWorkflows = only === null || only === WORKFLOW_PROVIDER.provider
    const [listed, workflows] = await Promise.all([
      listRedactedModels(app, principal, signal, only),
      isWorkflows ? app.models.workflow_models.list(principal) : [],
    ])
    const providers = [...listed.map(toModelProvider), ...(isWorkflows ? [WORKFLOW_PROVIDER] : [])]
    const steps = collectProviderModels(listed, workflows, createModelFilter(query.task ?? null, query.q ?? null))
    const models = await app.schedulers.reading.begin(userShareKey(principal), steps)
    return { status: 200, body: { providers: providers.sort((a, b) => compareTexts(a.provider, b.provider)), models } }
  },
}

/** The models that pass the filter, sorted by id. In steps, since an owner may have very many workflows. */
function* collectProviderModels(
  listed: readonly ProviderModels[],
  workflows: readonly WorkflowModel[],
  isIncluded: (model: ProviderModel) => boolean,
): Steps<ProviderModel[]> {
  const found: ProviderModel[] = []
  const add = (model: ProviderModel) => {
    if (isIncluded(model)) found.push(model)
  }
  for (const { provider, models } of listed)
    yield* forEachSteps(models, (model) => add(toProviderModel(provider.name, model)))
  yield* forEachSteps(workflows, (workflow) => add(toWorkflowProviderModel(workflow)))
  return yield* sortSteps(found, (a, b) => compareTexts(a.id, b.id))
}

/** OpenAI clients expect every listed model to answer. */
function isUsable({ unavailable }: Model): boolean {
  return unavailable === undefined
}

function toOpenAiModel(id: string, created: number, owned_by: string): OpenAiModel {
  return { id, object: 'model', created, owned_by }
}

function toModelProvider({ provider, reason }: ProviderModels): ModelProvider {
  const { name, title, kind } = provider
  return { provider: name, name: title, kind, available: reason === null, reason }
}

const TASKS: readonly ProviderModel['tasks'][number][] = ['chat', 'embedding']

function toProviderModel(provider: string, model: Model): ProviderModel {
  const others = (model.modalities ?? []).filter((modality) => modality !== 'text')
  return {
    id: model.id,
    provider,
    name: model.title,
    tasks: TASKS.filter((task) => model.tasks.includes(task)),
    modalities: ['text', ...others],
    context_length: model.context_length ?? null,
    max_output_tokens: model.max_output_tokens,
    capabilities: [...(model.capabilities ?? [])],
    price: toPrice(model.price),
    available: isUsable(model),
    reason: model.unavailable ?? null,
  }
}

function toPrice(price: ModelPrice | null): ProviderModel['price'] {
  if (!price) return null
  const { currency, per_million_input_tokens, per_million_output_tokens } = price
  return { currency, input_per_million: per_million_input_tokens, output_per_million: per_million_output_tokens }
}

/** The nodes of the workflow decide its cost. */
function toWorkflowProviderModel({ id, name }: WorkflowModel): ProviderModel {
  return {
    id,
    provider: WORKFLOW_PROVIDER.provider,
    name,
    tasks: ['chat'],
    modalities: ['text'],
    context_length: null,
    max_output_tokens: null,
    capabilities: ['streaming'],
    price: null,
    available: true,
    reason: null,
  }
}

function createModelFilter(task: ProviderModel['tasks'][number] | null, q: string | null) {
  const part = q?.toLowerCase() ?? ''
  return ({ id, name, tasks }: ProviderModel): boolean =>
    (task === null || tasks.includes(task)) && (id.toLowerCase().includes(part) || name.toLowerCase().includes(part))
}
