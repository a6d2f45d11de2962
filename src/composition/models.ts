// Models: the calls of their providers, who pays for these, and the services above: completions, workflows as models, downloads.
import { LOCAL_USER } from '../access/principal.ts'
import { createAssetLoader } from '../assets/asset-reference-loader.ts'
import { createCallMetrics } from '../completions/call-metrics.ts'
import { CompletionService } from '../completions/service.ts'
import { WorkflowModelService } from '../completions/workflow-models/service.ts'
import type { AppContext, ModelServices } from '../context.ts'
import { type OwnerScope, ownerScopeKey, userShareKey } from '../db/owner-scope.ts'
import { DownloadService } from '../downloads/service.ts'
import { type BillingContext, createUnbilledContext } from '../models/billing/billing-context.ts'
import { BudgetEnforcer } from '../models/billing/budgets.ts'
import { SpendingLedger } from '../models/billing/spending-ledger.ts'
import { createTokenMetering } from '../models/billing/token-metrics.ts'
import { ModelService } from '../models/calls/model-service.ts'
import { ModelListCache } from '../models/catalogue/model-list-cache.ts'
import type { Provider } from '../models/provider.ts'
import { createConfiguredProviders } from '../models/providers/configured-providers.ts'
import { resolveModelsFolder } from '../models/providers/local/model-files.ts'
import { UpstreamClient } from '../net/upstream/client.ts'
import type { UserServices } from '../settings/user-services.ts'
import type { Foundation } from './foundation.ts'
import type { NodeServiceFactory } from './node-services.ts'
import type { Storage } from './storage.ts'

export interface ModelCalls extends Pick<ModelServices, 'providers' | 'model_lists' | 'calls'> {
  readonly client: UpstreamClient
  readonly ledger: SpendingLedger
}

/** The ledger outlives the calls, whose costs it records. */
export function composeModelCalls(foundation: Foundation, { store }: Storage): ModelCalls {
  const { config, overrides, platform, redactor, log, own_requests, stack } = foundation
  const { slices } = foundation.schedulers
  const ledger = stack.use(new SpendingLedger({ store, platform, log }))
  const client = new UpstreamClient({}, own_requests)
  const providers = stack.use(createConfiguredProviders({ config, client, more: overrides.providers }))
  // Its calls are broken off before the processes of local models end.
  stack.use(client)
  const unreadable = ({ name: provider, left_out }: Provider) =>
    log.warn({ provider, left_out }, 'a model list has unreadable entries: they are skipped')
  const redactMessage = (owner: string | null, message: string) =>
    (owner === null ? redactor : redactor.forOwner(owner)).foreignMessage(message)
  const model_lists = new ModelListCache({ now: () => platform.now(), slices, unreadable })
  return {
    client,
    ledger,
    providers,
    model_lists,
    calls: new ModelService({ providers, model_lists, slices, redactMessage }),
  }
}

export interface Billing extends Pick<ModelServices, 'billingOf'> {
  readonly budgets: BudgetEnforcer
}

export function composeBilling(
  { config, metrics }: Foundation,
  { ledger }: ModelCalls,
  { secrets }: UserServices,
): Billing {
  const metered = createTokenMetering(metrics)
  const budgets = new BudgetEnforcer({ ...config, local_user: LOCAL_USER }, ledger, metrics)
  const unbilled = (owner: OwnerScope): BillingContext =>
    createUnbilledContext((name) => secrets.providerKey(owner, name), ownerScopeKey(owner))
  return { budgets, billingOf: (owner) => budgets.applyDailyLimits(owner, metered(unbilled(owner))) }
}

export interface ModelParts extends Pick<AppContext, 'assets' | 'runs'> {
  readonly model_calls: ModelCalls
  readonly billing: Billing
  readonly node_services: NodeServiceFactory
}

export function composeModels(foundation: Foundation, parts: ModelParts): ModelServices {
  const { platform, redactor, log, metrics, stopping, publicUrl } = foundation
  const { slices, reading } = foundation.schedulers
  const { assets, runs, node_services } = parts
  const { providers, model_lists, calls } = parts.model_calls
  const { billingOf } = parts.billing
  const workflow_models = new WorkflowModelService({ ...runs, reading })
  const completions = new CompletionService({
    models: calls,
    workflows: workflow_models,
    redactorOf: (owner) => redactor.forOwner(ownerScopeKey(owner)),
    billingOf,
    httpOf: (owner) => node_services.httpFor(userShareKey(owner)),
    assetsOf: (owner) => createAssetLoader(assets.files, owner, publicUrl),
    platform,
    log,
    measuring: createCallMetrics(metrics),
    slices,
    stopping,
  })
  const downloads = openDownloads(foundation)
  return { providers, model_lists, calls, billingOf, completions, workflow_models, downloads }
}

/** Downloads of model files from the hub that the operator chose. */
function openDownloads({ config, log, own_requests: own, stack }: Foundation): DownloadService {
  const { model_hub_url, http_node_allow: allow } = config
  const hub_url = model_hub_url.replace(/\/+$/, '')
  return stack.use(new DownloadService({ folder: resolveModelsFolder(config), hub_url, allow, log, own }))
}
