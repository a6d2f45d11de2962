// Upgrades as raw bytes, and a gateway with an authenticator of the test's own.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type AddressInfo, createConnection, type Socket } from 'node:net'
import type { Authenticator } from '../../src/access/authenticator.ts'
import { CredentialRechecker } from '../../src/access/credential-rechecker.ts'
import type { AppContext } from '../../src/context.ts'
import { SocketGateway } from '../../src/sockets/gateway.ts'
import type { SocketTimeouts } from '../../src/sockets/keep-alive.ts'

export interface Handshake {
  method?: string
  /** The version of HTTP. */
  version?: string
  /** Headers that are added to a handshake, or replace its own; null omits a header. */
  headers?: Readonly<Record<string, string | null>>
}

/** The bytes of an upgrade. `path` is sent unchanged. */
export function handshake(
  at: URL,
  path: string,
  { method = 'GET', version = '1.1', headers = {} }: Handshake = {},
): string {
  const lines = Object.entries({
    Host: at.host,
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
    ...headers,
  }).flatMap(([name, value]) => (value === null ? [] : [`${name}: ${value}\r\n`]))
  return `${method} ${path} HTTP/${version}\r\n${lines.join('')}\r\n`
}

/** A socket that never closes its side by itself. */
export function dial(at: URL): Socket {
  return createConnection({ port: Number(at.port), host: at.hostname, allowHalfOpen: true })
}

/** Sends an upgrade. Returns all bytes until the server closes, or the head of an accepted handshake. */
export function upgrade(url: string | URL, path: string, handshaken: Handshake = {}, more = ''): Promise<string> {
  const at = new URL(url)
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = dial(at)
    const done = () => {
      socket.destroy()
      resolve(text)
    }
    socket.on('data', (data) => {
      text += data.toString()
      if (text.startsWith('HTTP/1.1 101')) done()
    })
    socket.once('end', done)
    socket.once('error', reject)
    socket.write(handshake(at, path, handshaken) + more)
  })
}

/** Asserts that an answer is only a status and `headers`. */
export function assertBare(answer: string, status: string, headers: readonly string[] = []): void {
  assert.equal(
    answer,
    [`HTTP/1.1 ${status}`, 'Connection: close', 'Content-Length: 0', ...headers, '', ''].join('\r\n'),
  )
}

export function accepted(answer: string): void {
  assert.match(answer, /^HTTP\/1\.1 101 Switching Protocols\r\n/)
}

export interface OwnGateway extends AsyncDisposable {
  readonly url: string
  readonly context: AppContext
  /** The number of its connections. */
  connections(): Promise<number>
}

/** A second gateway to the same services, with an authenticator of its own. */
export async function gatewayWith(
  app: AppContext,
  authenticate: Authenticator,
  times: Partial<SocketTimeouts> = {},
): Promise<OwnGateway> {
  const rechecker = new CredentialRechecker(authenticate, app, times.recheck_ms)
  const context: AppContext = { ...app, access: { ...app.access, authenticate, rechecker } }
  const gateway = new SocketGateway(context, times)
  const http = createServer()
  http.on('upgrade', (request, socket, head) => gateway.upgrade(request, socket, head))
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    context,
    connections: () =>
      new Promise((resolve, reject) => http.getConnections((error, count) => (error ? reject(error) : resolve(count)))),
    async [Symbol.asyncDispose]() {
      await gateway.close()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}
