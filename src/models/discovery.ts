// Servers of models that people run on their own machine: looked for on their usual ports, and on no other machine.
import type { UpstreamClient } from '../net/upstream.ts'
import { wholeBody } from '../net/upstream-body.ts'
import { openAiProvider } from './openai-compatible.ts'
import { listedModels } from './openai-models.ts'
import type { Provider } from './provider.ts'
import type { Providers } from './providers.ts'

export interface LocalServer {
  readonly name: string
  readonly title: string
  readonly port: number
}

/** The ports that they listen on unless told otherwise. */
export const USUAL_SERVERS: readonly LocalServer[] = [
  { name: 'ollama', title: 'Ollama', port: 11_434 },
  { name: 'lmstudio', title: 'LM Studio', port: 1_234 },
  { name: 'vllm', title: 'vLLM', port: 8_000 },
  { name: 'llamacpp', title: 'llama.cpp', port: 8_080 },
]

/** For all of them together, where somebody waits for it: what runs on this machine answers at once. */
const LOOK_MS = 300
const MOST_BYTES = 1_048_576

export interface DiscoveryParts {
  readonly client: UpstreamClient
  readonly servers?: readonly LocalServer[]
  readonly look_ms?: number
  /** The port of this very service, which lists models as well. */
  readonly own_port?: number
}

/** Adds those that answer with a list of models, and that nobody has named otherwise. What is not there is no failure. */
export async function discover(providers: Providers, parts: DiscoveryParts, signal: AbortSignal): Promise<Provider[]> {
  const { client, servers = USUAL_SERVERS, look_ms = LOOK_MS, own_port = 0 } = parts
  const enough = AbortSignal.any([signal, AbortSignal.timeout(look_ms)])
  const known = new Set(providers.all().flatMap(({ base_url }) => (base_url === undefined ? [] : [portHere(base_url)])))
  const sought = servers.filter(({ name, port }) => port !== own_port && !known.has(port) && !providers.get(name))
  const there = await Promise.all(sought.map((server) => isThere(server, client, enough)))
  if (signal.aborted) return []
  const found = sought.filter((_, index) => there[index]).map((server) => localProvider(server, client))
  for (const provider of found) providers.add(provider)
  return found
}

/** A server on this machine. It has a key only where its operator gave it one. */
function localProvider({ name, title, port }: LocalServer, client: UpstreamClient): Provider {
  const base_url = `http://127.0.0.1:${port}/v1`
  return openAiProvider({ name, title, base_url, credential: null, keyless: true, client })
}

async function isThere({ port }: LocalServer, client: UpstreamClient, signal: AbortSignal): Promise<boolean> {
  const call = {
    method: 'GET',
    origin: `http://127.0.0.1:${port}`,
    path: '/v1/models',
    headers: {},
    patient: false,
  } as const
  try {
    const reply = await client.send({ ...call, signal })
    if (reply.status === 200) return isList(JSON.parse(String(await wholeBody(reply.body, MOST_BYTES))))
    reply.body.destroy()
    return false
  } catch {
    return false
  }
}

/** Other servers listen on the same ports. */
function isList(body: unknown): boolean {
  return listedModels(body) !== null && (body as { object?: unknown }).object === 'list'
}

/** Of a base URL that means this machine; null where it means another one. */
function portHere(base_url: string): number | null {
  const { hostname, port } = new URL(base_url)
  return /^(?:localhost|127\..*|\[::1\])$/.test(hostname) && port !== '' ? Number(port) : null
}
