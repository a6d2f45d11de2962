// Clients that others write, unmodified, in front of the service: what their tests share.
import OpenAI from 'openai'
import { MODEL, startGateway } from '../completions/kit.ts'
import type { TestServer, TestSettings } from '../helpers/server.ts'
import type { Upstream, UpstreamOptions, UpstreamRequest } from '../helpers/upstream.ts'

export { MODEL }

export const VECTORS = 'up/text-embedding-3-small'
export const ASKED: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'hello there' }]
/** What this client sends as a key where it need not have one. */
const ANY_KEY = 'any text'

export interface Bench extends AsyncDisposable {
  readonly server: TestServer
  readonly upstream: Upstream
  /** Only its base URL is set, and that it asks once. */
  readonly openai: OpenAI
}

export function clientOf(server: { readonly url: string }, more: object = {}): OpenAI {
  return new OpenAI({ baseURL: `${server.url}/v1`, apiKey: ANY_KEY, maxRetries: 0, ...more })
}

export async function startBench(options: UpstreamOptions = {}, settings: TestSettings = {}): Promise<Bench> {
  const gateway = await startGateway(options, settings)
  const { server, upstream } = gateway
  return { server, upstream, openai: clientOf(server), [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() }
}

export const CITY = {
  type: 'object' as const,
  properties: { city: { type: 'string' as const } },
  required: ['city'],
  additionalProperties: false,
}

export async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const gathered: Item[] = []
  for await (const item of items) gathered.push(item)
  return gathered
}

/** A model that looks at the weather of two cities at once, and then says what it was told. */
export function weatherman({ json }: UpstreamRequest) {
  const told = json.messages.filter(({ role }: { role: string }) => role === 'tool')
  if (told.length > 0) return { text: told.map(({ content }: { content: string }) => content).join('; ') }
  return {
    tool_calls: [
      { id: 'call_ulm', name: 'weather', arguments: ['{"ci', 'ty":"Ulm"}'] },
      { id: 'call_bonn', name: 'weather', arguments: ['{"city":', '"Bonn"}'] },
    ],
  }
}
