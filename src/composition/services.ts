// Composes the services of a server, part by part. What is made last is released first, so the calls below also fix the order of the end: transports
// end first, then what they call, then what that writes to.
import type { Server } from 'node:http'
import type { AppContext } from '../context.ts'
import { registerJobMetrics } from '../jobs/metrics.ts'
import type { UpstreamClient } from '../net/upstream/client.ts'
import { composeAccess } from './access.ts'
import { composeAssets } from './assets.ts'
import { composeChat } from './chat.ts'
import type { Foundation } from './foundation.ts'
import { composeBilling, composeModelCalls, composeModels } from './models.ts'
import { createNodeServiceFactory } from './node-services.ts'
import { composeRuns } from './runs.ts'
import { composeStorage, type Database } from './storage.ts'
import { composeListener, composeTransport } from './transport.ts'
import { composeUsers } from './users.ts'

export interface ComposedServices {
  readonly context: AppContext
  readonly listener: Server
  readonly client: UpstreamClient
}

export async function composeServices(foundation: Foundation, database: Database): Promise<ComposedServices> {
  const { config, log, metrics, own_requests, platform, schedulers, stack, stopping } = foundation
  const storage = await composeStorage(foundation, database)
  const model_calls = composeModelCalls(foundation, storage)
  const users = await composeUsers(foundation, storage, model_calls.providers)
  const billing = composeBilling(foundation, model_calls, users)
  const logFailure = (detail: string) => log.error({ detail }, 'work on a file failed')
  const node_services = stack.use(createNodeServiceFactory(config, model_calls.calls, logFailure, own_requests))
  const access = await composeAccess(foundation, storage)
  const transport = composeTransport(foundation)
  // Pending responses may still use all of the above. Downloads end before: they are for followers on sockets.
  const listener = composeListener(foundation, transport)
  const assets = composeAssets(foundation, storage, node_services.media)
  const parts = { storage, model_calls, users, billing, node_services, transport, assets }
  const runs = composeRuns(foundation, parts)
  const models = composeModels(foundation, { ...parts, runs })
  const chat = composeChat(foundation, models, runs)
  registerJobMetrics(metrics, runs)
  for (const warning of config.warnings) log.warn(warning)
  const context = {
    config,
    log,
    metrics,
    platform,
    schedulers,
    lifetime: { started_at: platform.now(), stopping },
    store: storage.store,
    access,
    users,
    assets,
    models,
    runs,
    chat,
    transport,
  }
  return { context, listener, client: model_calls.client }
}
