// The handlers of all implemented operations, by tag. The type comes from the contract: a missing, extra or mistyped handler does not compile.
import type { HandlerTable } from '../../../generated/operations.ts'
import type { RequestContext } from '../pipeline/request-context.ts'
import { adminHandlers } from './admin.ts'
import { assetsHandlers } from './assets.ts'
import { configHandlers } from './config.ts'
import { contractHandlers } from './contract.ts'
import { healthHandlers } from './health.ts'
import { jobsHandlers } from './jobs.ts'
import { modelsHandlers } from './models.ts'
import { nodesHandlers } from './nodes.ts'
import { sdkHandlers } from './sdk.ts'
import { settingsHandlers } from './settings.ts'
import { storageHandlers } from './storage.ts'
import { threadsHandlers } from './threads.ts'
import { tokensHandlers } from './tokens.ts'
import { workflowsHandlers } from './workflows.ts'

export const httpHandlers: HandlerTable<RequestContext> = {
  admin: adminHandlers,
  assets: assetsHandlers,
  config: configHandlers,
  contract: contractHandlers,
  health: healthHandlers,
  jobs: jobsHandlers,
  models: modelsHandlers,
  nodes: nodesHandlers,
  sdk: sdkHandlers,
  settings: settingsHandlers,
  storage: storageHandlers,
  threads: threadsHandlers,
  tokens: tokensHandlers,
  workflows: workflowsHandlers,
}
