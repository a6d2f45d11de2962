// The common part of scripted vendor servers. They send the answers that a test scripts, in the scripted pieces, and hang or break there.
// They record all requests.
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface VendorScript {
  status?: number
  headers?: Readonly<Record<string, string>>
  /** JSON, or raw text. */
  body?: object | string
  /** The raw events of a stream, instead of a body. */
  events?: readonly string[]
  content_type?: string
  /** The bytes are sent in pieces that end at these offsets, or one by one. */
  split?: readonly number[] | 'every'
  /** The server stops sending before the event of that number, from 0. */
  hangs?: number
  /** The server breaks the connection before the event of that number. */
  cuts?: number
}

/** The body of any client. */
// biome-ignore lint/suspicious/noExplicitAny: its parts are looked for where they should be
export type Loose = any

export interface VendorRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly json: Loose
  /** Settles when the client disconnects before the end of the answer. */
  readonly gone: Promise<void>
}

export interface VendorUpstream extends AsyncDisposable {
  readonly base_url: string
  readonly requests: readonly VendorRequest[]
  /** The bodies of the POST requests. */
  readonly posted: readonly Loose[]
  readonly connections: number
}

export async function startVendor(answer: (request: VendorRequest) => VendorScript): Promise<VendorUpstream> {
  const requests: VendorRequest[] = []
  let connections = 0
  const server = createServer(async (request, response) => {
    const gone = Promise.withResolvers<void>()
    response.on('error', () => {}).once('close', () => response.writableFinished || gone.resolve())
    const pieces = await request.toArray()
    const { pathname: path, searchParams: query } = new URL(request.url!, 'http://upstream')
    const text = Buffer.concat(pieces).toString()
    const { method, headers } = request
    const asked = { method: method!, path, query, headers, json: text && JSON.parse(text), gone: gone.promise }
    requests.push(asked)
    await play(answer(asked), asked, response).catch(() => response.destroy())
  })
  server.on('connection', () => connections++)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    base_url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    get posted() {
      return requests.filter(({ method }) => method === 'POST').map(({ json }) => json)
    },
    get connections() {
      return connections
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function play(script: VendorScript, asked: VendorRequest, response: ServerResponse): Promise<void> {
  const { events, body = {}, status = 200, headers = {} } = script
  const type = script.content_type ?? (events ? 'text/event-stream' : 'application/json')
  response.writeHead(status, { 'content-type': type, ...headers })
  const all = (events ?? [typeof body === 'string' ? body : JSON.stringify(body)]).map((text) => Buffer.from(text))
  let from = 0
  for (const [number, bytes] of all.entries()) {
    await wrong(number, script, asked, response)
    for (const piece of pieces(bytes, from, script.split)) {
      response.write(piece)
      // Pieces that are written in one turn may arrive as one.
      if (script.split) await new Promise((resolve) => setImmediate(resolve))
    }
    from += bytes.length
  }
  await wrong(all.length, script, asked, response)
  response.end()
}

async function wrong(
  number: number,
  { hangs, cuts }: VendorScript,
  asked: VendorRequest,
  response: ServerResponse,
): Promise<void> {
  if (hangs !== number && cuts !== number) return
  response.flushHeaders()
  if (hangs === number) await asked.gone
  // The written data is sent before the connection breaks.
  await new Promise((resolve) => setImmediate(resolve))
  response.socket?.resetAndDestroy()
  throw new Error('cut')
}

function pieces(bytes: Buffer, from: number, offsets: VendorScript['split']): Buffer[] {
  if (offsets === undefined) return [bytes]
  if (offsets === 'every') return Array.from(bytes, (_, index) => bytes.subarray(index, index + 1))
  const places = offsets.map((offset) => offset - from).filter((place) => place > 0 && place < bytes.length)
  return [0, ...places].map((start, index) => bytes.subarray(start, places[index] ?? bytes.length))
}
