// Finds model servers on this machine, on their default ports.
import { DISCOVERABLE_PROVIDERS } from '../../config/model-providers.ts'
import type { UpstreamClient } from '../../net/upstream/client.ts'
import { readWholeBody } from '../../net/upstream/response-body.ts'
import type { Provider } from '../provider.ts'
import { parseModelList } from './openai/model-list.ts'
import { createOpenAiProvider } from './openai/provider.ts'
import type { ProviderRegistry } from './registry.ts'

export interface LocalModelServer {
  readonly name: string
  readonly title: string
  readonly port: number
}

/** For all servers together, while a user waits: a server on this machine answers at once. */
const DISCOVERY_MS = 300
const MAX_LIST_BYTES = 1_048_576

export interface DiscoveryOptions {
  readonly client: UpstreamClient
  readonly servers?: readonly LocalModelServer[]
  readonly look_ms?: number
  /** The port of this service, which lists models as well. */
  readonly own_port?: number
}

/** Adds the servers that answer with a list of models, unless the settings name them already. A missing server is no error. */
export async function discoverModelServers(
  providers: ProviderRegistry,
  parts: DiscoveryOptions,
  signal: AbortSignal,
): Promise<Provider[]> {
  const { client, servers = DISCOVERABLE_PROVIDERS, look_ms = DISCOVERY_MS, own_port = 0 } = parts
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(look_ms)])
  const knownPorts = new Set(
    providers.all().flatMap(({ base_url }) => (base_url === undefined ? [] : [localPortOf(base_url)])),
  )
  const candidates = servers.filter(
    ({ name, port }) => port !== own_port && !knownPorts.has(port) && !providers.get(name),
  )
  const answers = await Promise.all(candidates.map((server) => listsModels(server, client, deadline)))
  if (signal.aborted) return []
  const found = candidates.filter((_, index) => answers[index]).map((server) => createServerProvider(server, client))
  for (const provider of found) providers.add(provider)
  return found
}

/** Discovered servers are called without a key. */
function createServerProvider({ name, title, port }: LocalModelServer, client: UpstreamClient): Provider {
  const base_url = `http://127.0.0.1:${port}/v1`
  return createOpenAiProvider({ name, title, base_url, credential: null, keyless: true, client })
}

async function listsModels({ port }: LocalModelServer, client: UpstreamClient, signal: AbortSignal): Promise<boolean> {
  const call = {
    method: 'GET',
    origin: `http://127.0.0.1:${port}`,
    path: '/v1/models',
    headers: {},
    shouldRetry: false,
  } as const
  try {
    const reply = await client.send({ ...call, signal })
    if (reply.status === 200) return isModelList(JSON.parse(String(await readWholeBody(reply.body, MAX_LIST_BYTES))))
    reply.body.destroy()
    return false
  } catch {
    return false
  }
}

/** Checked, since other kinds of servers use the same ports. */
function isModelList(body: unknown): boolean {
  return parseModelList(body) !== null && (body as { object?: unknown }).object === 'list'
}

/** The port of a base URL on this machine; null for another machine. */
function localPortOf(base_url: string): number | null {
  const { hostname, port } = new URL(base_url)
  return /^(?:localhost|127\..*|\[::1\])$/.test(hostname) && port !== '' ? Number(port) : null
}
