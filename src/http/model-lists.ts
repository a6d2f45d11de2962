// Operations of the tag `models` that list: what can be named in a completion, and what is known about it.
import type { ModelsHandlers } from '../../generated/operations.ts'
import type { ModelProvider, Model as OpenAiModel, ProviderModel } from '../../generated/types.ts'
import { serviceErrorOf } from '../completions/errors.ts'
import { WORKFLOW, type WorkflowModel } from '../completions/workflow-models.ts'
import { userKey } from '../db/scope.ts'
import type { Listed } from '../models/catalogue.ts'
import type { Model, ModelPrice } from '../models/provider.ts'
import { ProviderError } from '../models/provider-error.ts'
import { compared, sortedSteps } from '../sorting.ts'
import { forEachStep, mapStep, type Steps } from '../time-slices.ts'
import { listedModels } from './listed-models.ts'
import type { RequestContext } from './request.ts'

type Lists = Pick<ModelsHandlers<RequestContext>, 'listModels' | 'retrieveModel' | 'listProviderModels'>

/** The provider of workflows, which is none that is asked. */
const WORKFLOWS: ModelProvider = {
  provider: 'workflow',
  name: 'Workflows',
  kind: 'workflow',
  available: true,
  reason: null,
}

export const modelLists: Lists = {
  async listModels(_request, { app, principal, signal }) {
    const [listed, workflows] = await Promise.all([
      listedModels(app, principal, signal),
      app.workflow_models.list(principal),
    ])
    const provided = listed.flatMap(({ provider, models }) =>
      models.filter(isUsable).map((model) => openAiModel(model.id, model.created ?? 0, provider.name)),
    )
    const own = mapStep(workflows, ({ id, created }) => openAiModel(id, created, WORKFLOWS.provider))
    const data = [...provided, ...(await app.reading.begin(userKey(principal), own))]
    return { status: 200, body: { object: 'list', data } }
  },

  async retrieveModel({ path: { model: named } }, { app, principal, signal }) {
    if (named.startsWith(WORKFLOW)) {
      const { id, created } = app.workflow_models.get(principal, named.slice(WORKFLOW.length))
      return { status: 200, body: openAiModel(id, created, WORKFLOWS.provider) }
    }
    try {
      const { provider, model } = await app.models.findListed(named, app.customerOf(principal), signal)
      if (model.unavailable !== undefined) throw new ProviderError('unavailable', model.unavailable)
      return { status: 200, body: openAiModel(model.id, model.created ?? 0, provider.name) }
    } catch (error) {
      throw serviceErrorOf(error)
    }
  },

  async listProviderModels({ query }, { app, principal, signal }) {
    const only = query.provider ?? null
    const isWorkflows = only === null || only === WORKFLOWS.provider
    const [listed, workflows] = await Promise.all([
      listedModels(app, principal, signal, only),
      isWorkflows ? app.workflow_models.list(principal) : [],
    ])
    const providers = [...listed.map(modelProvider), ...(isWorkflows ? [WORKFLOWS] : [])]
    const asked = providerModels(listed, workflows, askedBy(query.task ?? null, query.q ?? null))
    const models = await app.reading.begin(userKey(principal), asked)
    return { status: 200, body: { providers: providers.sort((a, b) => compared(a.provider, b.provider)), models } }
  },
}

/** Those that are asked for, by id. An owner may have very many workflows. */
function* providerModels(
  listed: readonly Listed[],
  workflows: readonly WorkflowModel[],
  isAsked: (model: ProviderModel) => boolean,
): Steps<ProviderModel[]> {
  const found: ProviderModel[] = []
  const add = (model: ProviderModel) => {
    if (isAsked(model)) found.push(model)
  }
  for (const { provider, models } of listed)
    yield* forEachStep(models, (model) => add(providerModel(provider.name, model)))
  yield* forEachStep(workflows, (workflow) => add(workflowModel(workflow)))
  return yield* sortedSteps(found, (a, b) => compared(a.id, b.id))
}

/** Clients of OpenAI's take whatever is listed for what answers. */
function isUsable({ unavailable }: Model): boolean {
  return unavailable === undefined
}

function openAiModel(id: string, created: number, owned_by: string): OpenAiModel {
  return { id, object: 'model', created, owned_by }
}

function modelProvider({ provider, reason }: Listed): ModelProvider {
  const { name, title, kind } = provider
  return { provider: name, name: title, kind, available: reason === null, reason }
}

const TASKS: readonly ProviderModel['tasks'][number][] = ['chat', 'embedding']

function providerModel(provider: string, model: Model): ProviderModel {
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
    price: priceOf(model.price),
    available: isUsable(model),
    reason: model.unavailable ?? null,
  }
}

function priceOf(price: ModelPrice | null): ProviderModel['price'] {
  if (!price) return null
  const { currency, per_million_input_tokens, per_million_output_tokens } = price
  return { currency, input_per_million: per_million_input_tokens, output_per_million: per_million_output_tokens }
}

/** What it costs is up to its own nodes. */
function workflowModel({ id, name }: WorkflowModel): ProviderModel {
  return {
    id,
    provider: WORKFLOWS.provider,
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

function askedBy(task: ProviderModel['tasks'][number] | null, q: string | null) {
  const part = q?.toLowerCase() ?? ''
  return ({ id, name, tasks }: ProviderModel): boolean =>
    (task === null || tasks.includes(task)) && (id.toLowerCase().includes(part) || name.toLowerCase().includes(part))
}
