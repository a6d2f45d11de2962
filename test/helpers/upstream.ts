// A model server that a test scripts. It behaves like OpenAI's API, or fails as its
// script says, and records its requests and disconnected clients.
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import {
  completion,
  embeddings,
  errorBody,
  events,
  modelList,
  type Said,
  type ScriptedError,
} from './upstream-answers.ts'

/** One answer: a text, an error or raw bytes, and the failures of its connection. */
export interface Script extends Said {
  status?: number
  headers?: Readonly<Record<string, string | readonly string[]>>
  /** An error object. The status is 400 unless it is set. */
  error?: ScriptedError
  /** The raw content type. */
  retry_after?: string
  /** Replaces the whole answer. */
  body?: string | Uint8Array
  content_type?: string
  /** The data of the stream's events, instead of the answer. Objects become JSON. */
  events?: readonly (string | object)[]
  /** The server awaits this before the event of that number, from 0. A body without a stream is one event. */
  before?: (event: number, request: UpstreamRequest) => unknown
  /** The server stops sending: before its head, after its head, or before the event of that number. */
  hangs?: 'head' | 'body' | number
  /** The server breaks the connection: before its head, after its head, or before the event of that number. */
  cuts?: 'head' | 'body' | number
  /** The bytes are sent in pieces that end at these offsets, or one by one. */
  split?: readonly number[] | 'every'
  /** The stream never ends: it repeats the last event as fast as the client reads, or with 'line' it sends bytes without a line end. */
  floods?: true | 'line'
  gzip?: boolean
  /** The line end of the stream. Absent: `\n`. */
  line_end?: '\n' | '\r\n' | '\r'
  /** Comment lines are sent between the events. */
  comments?: boolean
}

export interface UpstreamRequest {
  readonly method: string
  /** The path without the query: `/v1/chat/completions`. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly raw: Buffer
  /** The body as JSON. Null where it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever a client sent
  readonly json: any
  /** The number of its connection, from 0. */
  readonly connection: number
  /** When the client disconnected before the end of the answer, by performance.now(). Null: it has not. */
  gone_at: number | null
  /** Settles when the client disconnects before the end of the answer. */
  readonly gone: Promise<void>
  /** Bytes of the answer's body that were written so far. */
  sent: number
}

export interface UpstreamOptions {
  /** Answers a POST. The number counts POSTs from 0. By default each answer is "Hello from upstream". */
  answer?: (request: UpstreamRequest, n: number) => Script
  /** Answers `GET /v1/models`. By default with the list of `models`. */
  listing?: (request: UpstreamRequest, n: number) => Script
  models?: readonly string[]
  /** Absent: any key, or none, is accepted. */
  keys?: readonly string[]
  /** 0 selects a free port. */
  port?: number
}

export interface Upstream extends AsyncDisposable {
  /** With `/v1`. */
  readonly base_url: string
  readonly origin: string
  readonly port: number
  /** All requests in the order of arrival. */
  readonly requests: readonly UpstreamRequest[]
  /** The POST requests. */
  readonly posts: readonly UpstreamRequest[]
  /** The number of connections so far. */
  readonly connections: number
  /** The number of open connections. */
  readonly open: number
  /** Breaks every open connection. */
  cut(): void
}

const MODELS = ['gpt-4o-mini', 'gpt-4o', 'text-embedding-3-small']
const FLOOD = Buffer.alloc(65_536, 'x')

export async function startUpstream(options: UpstreamOptions = {}): Promise<Upstream> {
  const { models = MODELS, answer = plain, listing = plain } = options
  const requests: UpstreamRequest[] = []
  const counts = { GET: 0, POST: 0, connections: 0, open: 0 }
  const numbers = new WeakMap<object, number>()
  const server = createServer((request, response) => {
    void received(request, response, numbers.get(request.socket) ?? -1).then(async (asked) => {
      requests.push(asked)
      const script = scriptFor(asked)
      await play(script, asked, response).catch(() => response.destroy())
    })
  })
  const scriptFor = (asked: UpstreamRequest): Script => {
    const refused = refusal(asked, options.keys)
    if (refused) return refused
    if (asked.method === 'GET' && asked.path === '/v1/models') {
      const script = listing(asked, counts.GET++)
      return {
        body: JSON.stringify(modelList(models)),
        ...script,
        ...(script.error ? { body: errorBody(script.error) } : {}),
      }
    }
    if (asked.method !== 'POST' || !isKnown(asked.path)) return unknownUrl(asked)
    const script = answer(asked, counts.POST++)
    return { ...(plainly(script) ? (wrong(asked, models) ?? {}) : {}), ...script }
  }
  server.on('connection', (socket) => {
    numbers.set(socket, counts.connections++)
    counts.open++
    socket.on('close', () => counts.open--).on('error', () => {})
  })
  server.listen(options.port ?? 0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  return {
    base_url: `${origin}/v1`,
    origin,
    port,
    requests,
    get posts() {
      return requests.filter(({ method }) => method === 'POST')
    },
    get connections() {
      return counts.connections
    },
    get open() {
      return counts.open
    },
    cut: () => server.closeAllConnections(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const plain = (): Script => ({})
const isKnown = (path: string) => path === '/v1/chat/completions' || path === '/v1/embeddings'

/** Whether a script leaves the answer to the server, which then validates the request first. */
function plainly({ status, error, body, events: given, hangs, cuts, floods }: Script): boolean {
  return [status, error, body, given, hangs, cuts, floods].every((one) => one === undefined)
}

async function received(
  request: IncomingMessage,
  response: ServerResponse,
  connection: number,
): Promise<UpstreamRequest> {
  const gone = Promise.withResolvers<void>()
  const pieces: Buffer[] = []
  const asked = {
    method: request.method!,
    path: request.url!.split('?', 1)[0]!,
    headers: request.headers,
    raw: Buffer.alloc(0),
    json: null as unknown,
    connection,
    gone_at: null as number | null,
    gone: gone.promise,
    sent: 0,
  }
  response
    .on('error', () => {})
    .once('close', () => {
      if (response.writableFinished) return
      asked.gone_at = performance.now()
      gone.resolve()
    })
  for await (const piece of request) pieces.push(piece as Buffer)
  asked.raw = Buffer.concat(pieces)
  try {
    asked.json = JSON.parse(asked.raw.toString())
  } catch {}
  return asked
}

function refusal({ headers }: UpstreamRequest, keys: readonly string[] | undefined): Script | null {
  if (!keys) return null
  const key = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1]
  if (key !== undefined && keys.includes(key)) return null
  const missing = "You didn't provide an API key. You need to provide your API key in an Authorization header."
  const message =
    key === undefined ? missing : `Incorrect API key provided: ${key}. You can find your API key in your account.`
  return failure(401, { message, code: key === undefined ? null : 'invalid_api_key' })
}

function unknownUrl({ method, path }: UpstreamRequest): Script {
  return failure(404, { message: `Invalid URL (${method} ${path})` })
}

/** Returns the error of the real API, or null. */
function wrong({ json, path }: UpstreamRequest, models: readonly string[]): Script | null {
  if (typeof json !== 'object' || json === null)
    return failure(400, { message: 'We could not parse the JSON body of your request.' })
  const missing = ['model', path === '/v1/embeddings' ? 'input' : 'messages'].find((name) => json[name] === undefined)
  if (missing)
    return failure(400, {
      message: `Missing required parameter: '${missing}'.`,
      param: missing,
      code: 'missing_required_parameter',
    })
  if (!models.includes(json.model))
    return failure(404, {
      message: `The model \`${json.model}\` does not exist or you do not have access to it.`,
      code: 'model_not_found',
    })
  if (json.stream_options && !json.stream)
    return failure(400, {
      message: "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
      param: 'stream_options',
    })
  return null
}

const failure = (status: number, error: ScriptedError): Script => ({ status, error })

async function play(script: Script, asked: UpstreamRequest, response: ServerResponse): Promise<void> {
  await at('head', script, asked, response)
  const pieces = piecesOf(script, asked)
  const streamed = pieces.streamed ? 'text/event-stream; charset=utf-8' : 'application/json'
  response.statusCode = script.status ?? (script.error ? 400 : 200)
  response.setHeader('content-type', script.content_type ?? streamed)
  response.setHeader('x-request-id', 'req_7d1f')
  response.setHeader('openai-processing-ms', '12')
  if (script.retry_after !== undefined) response.setHeader('retry-after', script.retry_after)
  if (script.gzip) response.setHeader('content-encoding', 'gzip')
  for (const [name, value] of Object.entries(script.headers ?? {})) response.setHeader(name, value)
  if (script.hangs === 'body' || script.cuts === 'body') response.flushHeaders()
  await at('body', script, asked, response)
  const all = script.gzip ? [gzipSync(Buffer.concat(pieces.bytes))] : pieces.bytes
  let from = 0
  for (const [number, bytes] of all.entries()) {
    await script.before?.(number, asked)
    if (number === script.hangs || number === script.cuts) response.flushHeaders()
    await at(number, script, asked, response)
    for (const piece of split(bytes, from, script.split)) await write(piece, asked, response)
    from += bytes.length
  }
  await script.before?.(all.length, asked)
  await at(all.length, script, asked, response)
  while (script.floods && !response.destroyed)
    await write(script.floods === 'line' ? FLOOD : all.at(-1)!, asked, response)
  response.end()
}

/** Whether the script has a failure at this position. */
async function at(
  place: Script['hangs'],
  { hangs, cuts }: Script,
  asked: UpstreamRequest,
  response: ServerResponse,
): Promise<void> {
  if (hangs === place) await asked.gone
  if (cuts !== place) return
  // The written data is sent before the connection breaks.
  await new Promise((resolve) => setImmediate(resolve))
  response.socket?.resetAndDestroy()
  throw new Error('cut')
}

function piecesOf(script: Script, asked: UpstreamRequest): { streamed: boolean; bytes: Buffer[] } {
  const whole = (body: string | Uint8Array) => ({ streamed: false, bytes: [Buffer.from(body as string)] })
  if (script.body !== undefined) return whole(script.body)
  if (script.error) return whole(errorBody(script.error))
  if (asked.path === '/v1/embeddings') return whole(JSON.stringify(embeddings(script, asked.json), null, 2))
  if (!asked.json?.stream && !script.events) return whole(JSON.stringify(completion(script, asked.json ?? {}), null, 2))
  const end = script.line_end ?? '\n'
  const comment = script.comments ? `: keep-alive${end}${end}` : ''
  const data =
    script.events?.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))) ?? events(script, asked.json)
  return { streamed: true, bytes: data.map((text) => Buffer.from(`${comment}data: ${text}${end}${end}`)) }
}

/** Splits the bytes from `from` on at offsets of the whole. */
function split(bytes: Buffer, from: number, offsets: Script['split']): Buffer[] {
  if (offsets === undefined) return [bytes]
  if (offsets === 'every') return Array.from(bytes, (_, index) => bytes.subarray(index, index + 1))
  const places = offsets.map((offset) => offset - from).filter((place) => place > 0 && place < bytes.length)
  return [0, ...places].map((start, index) => bytes.subarray(start, places[index] ?? bytes.length))
}

/** Writes each piece as a chunk of its own, no faster than the client reads. */
async function write(piece: Buffer, asked: UpstreamRequest, response: ServerResponse): Promise<void> {
  if (response.destroyed) throw new Error('gone')
  asked.sent += piece.length
  if (!response.write(piece)) await Promise.race([once(response, 'drain'), asked.gone])
}
