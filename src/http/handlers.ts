// Every implemented operation, by tag. The type comes from the contract: a missing, extra or mistyped handler does not compile.
import type { HandlerTable } from '../../generated/operations.ts'
import { admin } from './admin.ts'
import { assets } from './assets.ts'
import { config } from './config.ts'
import { contract } from './contract.ts'
import { health } from './health.ts'
import { jobs } from './jobs.ts'
import { models } from './models.ts'
import { nodes } from './nodes.ts'
import type { RequestContext } from './request.ts'
import { sdk } from './sdk.ts'
import { settings } from './settings.ts'
import { storage } from './storage.ts'
import { threads } from './threads.ts'
import { tokens } from './tokens.ts'
import { workflows } from './workflows.ts'

export const handlers: HandlerTable<RequestContext> = {
  admin,
  assets,
  config,
  contract,
  health,
  jobs,
  models,
  nodes,
  sdk,
  settings,
  storage,
  threads,
  tokens,
  workflows,
}
