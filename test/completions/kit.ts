// A service with a scripted model server, and clients that check every byte.
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { startServer, type TestServer, type TestSettings } from '../helpers/server.ts'
import { startUpstream, type Upstream, type UpstreamOptions } from '../helpers/upstream.ts'

export interface Gateway extends AsyncDisposable {
  readonly server: TestServer
  readonly upstream: Upstream
}

/** Its models are `up/gpt-4o-mini` and so on. */
export async function startGateway(options: UpstreamOptions = {}, settings: TestSettings = {}): Promise<Gateway> {
  const upstream = await startUpstream(options)
  try {
    const { environment, ...rest } = settings
    const servers = { SVC_MODEL_SERVERS: `up=${upstream.base_url}`, ...environment }
    const server = await startServer({ ...rest, environment: servers })
    return {
      server,
      upstream,
      async [Symbol.asyncDispose]() {
        await server[Symbol.asyncDispose]()
        await upstream[Symbol.asyncDispose]()
      },
    }
  } catch (error) {
    await upstream[Symbol.asyncDispose]()
    throw error
  }
}

export const CHAT = '/v1/chat/completions'
export const MODEL = 'up/gpt-4o-mini'

/** The text of a request with some fields; of duplicates the last counts. */
export function asking(fields: object = {}): string {
  return JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'hello there' }], ...fields })
}

export interface Received {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

interface Sending {
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends a text unchanged. */
export async function post(
  server: { readonly url: string },
  body: string | Uint8Array,
  sending: Sending = {},
): Promise<Received> {
  const { incoming } = await open(server, body, sending)
  const pieces: Buffer[] = []
  for await (const piece of incoming) pieces.push(piece as Buffer)
  const { statusCode, headers } = incoming
  return { status: statusCode!, headers, text: Buffer.concat(pieces).toString() }
}

export interface Open {
  readonly incoming: IncomingMessage
  /** Disconnects the client. */
  leave(): void
}

/** Sends a text unchanged, and returns the answer after its head. */
export function open(
  { url }: { readonly url: string },
  body: string | Uint8Array,
  { path = CHAT, headers = {} }: Sending = {},
): Promise<Open> {
  return new Promise((resolve, reject) => {
    const outgoing = sent(url, body, path, headers)
    outgoing.on('error', reject)
    outgoing.on('response', (incoming) => resolve({ incoming, leave: () => outgoing.destroy() }))
  })
}

/** Sends a text unchanged, without waiting for the answer. */
export function sent(url: string, body: string | Uint8Array, path = CHAT, headers: object = {}) {
  const length = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
  const outgoing = request(`${url}${path}`, { method: 'POST', agent: false, headers: { ...length, ...headers } })
  outgoing.end(body)
  return outgoing
}

/** The data of a stream's events. */
export function dataOf(text: string): string[] {
  return text
    .split('\n\n')
    .filter((event) => event.startsWith('data: '))
    .map((event) => event.slice(6))
}

/** The chunks of a stream, without its end. */
// biome-ignore lint/suspicious/noExplicitAny: whatever came
export function chunksIn(text: string): any[] {
  return dataOf(text)
    .filter((data) => data !== '[DONE]')
    .map((data) => JSON.parse(data))
}

/** The joined text deltas of the first choice. */
export function textIn(text: string): string {
  return chunksIn(text)
    .map(({ choices }) => choices?.[0]?.delta?.content ?? '')
    .join('')
}
