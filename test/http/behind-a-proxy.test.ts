// A reverse proxy on the same machine: nobody behind it is the local user, as far as it can be told.
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect as dial } from 'node:net'
import type { Duplex, Readable } from 'node:stream'
import { describe, test } from 'node:test'
import { call } from '../helpers/http.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'

type Headers = Record<string, string | string[] | undefined>

/** Passes on what it is asked in this version of HTTP, under the name that it was asked by, with the headers that `rewrite` makes. */
async function proxy({ url }: TestServer, rewrite: (headers: Headers) => Headers, version = '1.1') {
  const { hostname, port } = new URL(url)
  const pass = ({ method, url: target, headers }: IncomingMessage, body: Readable | null, socket: Duplex) => {
    // One request for each connection, unless it is an upgrade.
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

/** What a visitor tries that is the local user's alone. */
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

describe('behind a proxy that says for whom it asks', () => {
  const appended = (headers: Headers) => ({
    ...headers,
    'x-forwarded-for': [headers['x-forwarded-for'], VISITOR].filter((one) => one !== undefined).join(', '),
  })

  test('nobody is the local user, in whatever way it is said', async () => {
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

  test('nobody becomes the local user by saying so', async () => {
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

  test('whoever comes from a trusted network is the local user, and counts as itself', async () => {
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

describe('behind a proxy that does not say for whom it asks', () => {
  const silent = (headers: Headers) => headers
  const rewriting =
    ({ url }: TestServer) =>
    (headers: Headers) => ({ ...headers, host: new URL(url).host })

  test('nobody is the local user once it is named as a proxy, or loopback is not trusted', async () => {
    for (const environment of [{ SVC_TRUSTED_PROXIES: '127.0.0.1' }, { SVC_TRUST_LOCALHOST: 'false' }]) {
      await using server = await startServer({ environment })
      for (const rewrite of [silent, rewriting(server)]) {
        await using front = await proxy(server, rewrite)
        await refused(front)
        await refused(front, { Host: 'localhost' })
      }
    }
  })

  // As nginx does, unless it is told otherwise.
  test('nobody is the local user where it speaks HTTP/1.0', async () => {
    await using server = await startServer()
    for (const rewrite of [silent, rewriting(server)]) {
      await using front = await proxy(server, rewrite, '1.0')
      await refused(front)
      await refused(front, { Host: 'localhost' })
    }
  })

  test('who asks by the name of the site is not the local user where it keeps that name', async () => {
    await using server = await startServer()
    await using front = await proxy(server, silent)
    await refused(front, { Host: 'flows.example' })
  })

  test('no page of the name that it serves is the local user', async () => {
    await using server = await startServer()
    await using front = await proxy(server, rewriting(server))
    await refused(front, { Host: 'flows.example', Origin: 'https://flows.example' })
  })

  // Such a request is one of a process of this machine in every respect. The README says what to do about it.
  test('a caller without an origin cannot be told from a local one, be Host rewritten or the caller’s own', async () => {
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
