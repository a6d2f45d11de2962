// A reverse proxy on the same machine: no client behind it is the local user, as far as the server can tell.
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect as dial } from 'node:net'
import type { Duplex, Readable } from 'node:stream'
import { describe, test } from 'node:test'
import { call } from '../helpers/http.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'

type Headers = Record<string, string | string[] | undefined>

/** Forwards requests in this version of HTTP, under the requested name, with headers that `rewrite` makes. */
async function proxy({ url }: TestServer, rewrite: (headers: Headers) => Headers, version = '1.1') {
  const { hostname, port } = new URL(url)
  const pass = ({ method, url: target, headers }: IncomingMessage, body: Readable | null, socket: Duplex) => {
    // One request per connection, unless it is an upgrade.
    const lines = Object.entries({ ...rewrite(headers), connection: headers.upgrade ? 'Upgrade' : 'close' })
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${name}: ${value}\r\n`)
    const passed = dial(Number(port), hostname, () => {
      passed.write(`${method} ${target} HTTP/${version}\r\n${lines.join('')}\r\n`)
      ;(body ?? socket).pipe(passed, { end: body === null })
      passed.pipe(socket)
    })
    passed.on('error', () => socket.destroy())
    socket.on('error', () => passed.destroy())
  }
  const server = createServer((request) => pass(request, request, request.socket))
  server.on('upgrade', (request, socket) => pass(request, null, socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const RUN = '/api/workflows/greeting/run'
const VISITOR = '203.0.113.7'

/** Requests of a visitor that only the local user may send. */
async function refused(place: { url: string }, headers: Record<string, string> = {}): Promise<void> {
  assert.equal((await call(place, 'GET', '/health', { headers })).status, 200)
  for (const [method, path, options] of [
    ['GET', '/api/workflows', {}],
    ['POST', RUN, { body: { params: { name: 'x' } } }],
    ['GET', '/api/jobs', {}],
    ['GET', '/metrics', {}],
  ] as const) {
    const answer = await call(place, method, path, { ...options, headers })
    assert.equal(answer.status, 401, `${method} ${path}`)
    assert.deepEqual(answer.body, { error: 'Remote access requires authentication' })
  }
  await assert.rejects(connect(place, { headers }), /401/)
}

describe('behind a proxy that names its client', () => {
  const appended = (headers: Headers) => ({
    ...headers,
    'x-forwarded-for': [headers['x-forwarded-for'], VISITOR].filter((one) => one !== undefined).join(', '),
  })

  test('no client is the local user, with any forwarding header', async () => {
    await using server = await startServer()
    const forms: Headers[] = [
      { 'x-forwarded-for': VISITOR },
      { 'x-forwarded-for': '127.0.0.1' },
      { 'x-forwarded-for': '' },
      { forwarded: `for=${VISITOR};host=flows.example` },
      { 'x-real-ip': VISITOR },
      { 'x-forwarded-host': 'flows.example' },
      { 'x-forwarded-proto': 'https' },
    ]
    for (const form of forms) {
      await using front = await proxy(server, (headers) => ({ ...headers, ...form }))
      await refused(front)
    }
    assert.deepEqual((await call(server, 'GET', '/api/jobs')).body, [])
  })

  test('no client becomes the local user by its own headers', async () => {
    for (const environment of [
      {},
      { SVC_TRUSTED_PROXIES: '127.0.0.1' },
      { SVC_TRUSTED_PROXIES: '127.0.0.0/8, 10.0.0.0/8' },
    ]) {
      await using server = await startServer({ environment })
      await using front = await proxy(server, appended)
      for (const claim of ['127.0.0.1', '::1', '10.0.0.1', '127.0.0.1, 127.0.0.1', 'localhost']) {
        await refused(front, { 'X-Forwarded-For': claim })
        await refused(front, { 'X-Forwarded-For': claim, Host: 'localhost' })
        await refused(front, { 'X-Real-IP': claim })
      }
    }
  })

  test('a client from a trusted network is the local user, and has its own rate limit', async () => {
    const environment = {
      SVC_TRUSTED_PROXIES: '127.0.0.1',
      SVC_TRUST_LOCAL_NETWORKS: '203.0.113.0/24',
      SVC_RATE_LIMIT_MAX: '50',
    }
    await using server = await startServer({ environment })
    await using front = await proxy(server, appended)
    const answer = await call(front, 'GET', '/api/workflows')
    assert.equal(answer.status, 200)
    assert.match(String(answer.headers.ratelimit), /^"ip";r=49;/)
  })
})

describe('behind a proxy that names no client', () => {
  const silent = (headers: Headers) => headers
  const rewriting =
    ({ url }: TestServer) =>
    (headers: Headers) => ({ ...headers, host: new URL(url).host })

  test('no client is the local user if the proxy is configured, or loopback is not trusted', async () => {
    for (const environment of [{ SVC_TRUSTED_PROXIES: '127.0.0.1' }, { SVC_TRUST_LOCALHOST: 'false' }]) {
      await using server = await startServer({ environment })
      for (const rewrite of [silent, rewriting(server)]) {
        await using front = await proxy(server, rewrite)
        await refused(front)
        await refused(front, { Host: 'localhost' })
      }
    }
  })

  // As nginx does by default.
  test('no client is the local user if the proxy speaks HTTP/1.0', async () => {
    await using server = await startServer()
    for (const rewrite of [silent, rewriting(server)]) {
      await using front = await proxy(server, rewrite, '1.0')
      await refused(front)
      await refused(front, { Host: 'localhost' })
    }
  })

  test('a client is not the local user if the proxy keeps the Host of the site', async () => {
    await using server = await startServer()
    await using front = await proxy(server, silent)
    await refused(front, { Host: 'flows.example' })
  })

  test('no page of the site is the local user', async () => {
    await using server = await startServer()
    await using front = await proxy(server, rewriting(server))
    await refused(front, { Host: 'flows.example', Origin: 'https://flows.example' })
  })

  // Such a request looks exactly like that of a process of this machine. The README explains how to handle this.
  test('a client without an origin is treated as local, with a rewritten Host or a local one of its own', async () => {
    await using server = await startServer()
    await using rewritten = await proxy(server, rewriting(server))
    await using kept = await proxy(server, silent)
    for (const [front, Host] of [
      [rewritten, 'flows.example'],
      [kept, 'localhost'],
    ] as const) {
      assert.equal((await call(front, 'GET', '/api/workflows', { headers: { Host } })).status, 200)
      await using client = await connect(front, { headers: { Host } })
      assert.equal((await client.ask('list_workflows', {})).error, undefined)
    }
  })
})
