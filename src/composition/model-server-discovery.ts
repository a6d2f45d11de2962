// Discovers the model servers of this machine once the server has started.
import type { AppContext } from '../context.ts'
import { type DiscoveryOptions, discoverModelServers } from '../models/providers/local-server-discovery.ts'

/** The discovery follows the first answers, so that it does not delay the start, but soon: a client may call a model of this machine at once. */
const DISCOVERY_DELAY_MS = 200
/** How long model servers may take to answer. Nothing waits for the discovery, and a machine whose services all start at once is slow. */
const DISCOVERY_TIMEOUT_MS = 60_000

/** Adds the model servers that run on this machine, and logs them. */
export function scheduleModelServerDiscovery(context: AppContext, options: DiscoveryOptions): void {
  const { config, lifetime, log, models } = context
  const discover = async () => {
    const { stopping } = lifetime
    const found = await discoverModelServers(models.providers, { look_ms: DISCOVERY_TIMEOUT_MS, ...options }, stopping)
    for (const { name, base_url } of found) log.info({ provider: name, base_url }, 'model server found')
    const { default_provider: name } = config
    if (name !== null && !models.providers.get(name) && !stopping.aborted)
      log.warn(
        `SVC_DEFAULT_PROVIDER is "${name}", which does not answer on this machine: until it does, requests must name the provider of a model`,
      )
  }
  setTimeout(
    () => void discover().catch((err) => log.error({ err }, 'model server discovery failed')),
    DISCOVERY_DELAY_MS,
  ).unref()
}
