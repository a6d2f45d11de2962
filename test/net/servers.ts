// Servers that tests talk to, and a way to send to them without writing every part of a request.
import assert from 'node:assert/strict'
import { createServer, type Server as HttpServer, type IncomingMessage, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createRawServer, type Server, type Socket } from 'node:net'
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import type { IncomingResponse, OutgoingRequest } from '../../src/engine/node-api/services/outgoing-http.ts'
import {
  createOutgoingHttpClient,
  type OutgoingHttpClient,
  type OutgoingHttpClientOptions,
} from '../../src/net/outgoing/http-client.ts'

export interface TestServer extends AsyncDisposable {
  readonly url: string
  readonly port: number
  /** How many connections there have been. */
  readonly connections: number
  /** How many of them are open. */
  readonly open: number
}

async function listening(server: Server, address: string): Promise<TestServer> {
  const sockets = new Set<Socket>()
  let connections = 0
  server.on('connection', (socket: Socket) => {
    connections++
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, address, resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://${address.includes(':') ? `[${address}]` : address}:${port}`,
    get connections() {
      return connections
    },
    get open() {
      return sockets.size
    },
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

/** An HTTP server on its own port. */
export function httpServer(handle: RequestListener, address = '127.0.0.1'): Promise<TestServer> {
  return listening(createServer(handle) as HttpServer, address)
}

/** A server that says what the test wants as soon as it has read a request. */
export function rawServer(answer: (socket: Socket, request: string) => void): Promise<TestServer> {
  return listening(
    createRawServer((socket) => socket.on('data', (data) => answer(socket, data.toString('latin1')))),
    '127.0.0.1',
  )
}

/** The whole body of a request. */
export async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}

/** A client that reaches 127.0.0.1, and looks up nothing but what the test says. */
export function localHttp(options: Partial<OutgoingHttpClientOptions> = {}): OutgoingHttpClient {
  const lookup = async (name: string) => assert.fail(`nobody should look up ${name}`)
  return createOutgoingHttpClient({ allow: ['127.0.0.1'], lookup, ...options })
}

export function request(url: string, more: Partial<OutgoingRequest> = {}): OutgoingRequest {
  return {
    method: 'GET',
    url,
    headers: {},
    body: null,
    timeout_ms: 10_000,
    max_bytes: 1_000_000,
    max_redirects: 5,
    secrets: [],
    secret_body: false,
    signal: new AbortController().signal,
    ...more,
  }
}

export function textOf(response: IncomingResponse): string {
  return Buffer.from(response.body).toString('utf8')
}

/** The NodeError with which a request fails. */
export async function errorOf(sent: Promise<unknown>): Promise<NodeError> {
  const error = await sent.then(
    () => assert.fail('the request went through'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof NodeError, String(error))
  assert.ok(error.message.length < 1000)
  return error
}
