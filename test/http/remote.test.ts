// Access of remote callers, foreign hosts and origins, and the public operations for all of them.
import assert from 'node:assert/strict'
import { networkInterfaces } from 'node:os'
import { describe, test } from 'node:test'
import { operationManifest } from '../../generated/operations.ts'
import { type CallOptions, call } from '../helpers/http.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { created, greeting } from './kit.ts'

const REFUSAL = { error: 'Remote access requires authentication' }

/** An address of this machine that is not loopback, or null. */
function ownAddress(): string | null {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  return all.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? null
}

const outside = ownAddress()
const skip = outside === null ? 'this machine has no address but loopback' : false

function fromOutside(server: TestServer): { url: string } {
  return { url: `http://${outside}:${new URL(server.url).port}` }
}

const PUBLIC = [
  '/health',
  '/api/health',
  '/ready',
  '/api/config',
  '/openapi.json',
  '/asyncapi.json',
  '/docs',
  '/api/nodes/metadata?namespace=text',
  '/api/workflows/public',
  '/api/workflows/examples',
  '/api/workflows/examples/greeting',
]

const PRIVATE: [string, string, CallOptions][] = [
  ['GET', '/api/workflows', {}],
  ['POST', '/api/workflows', { body: greeting() }],
  ['GET', '/api/workflows/greeting', {}],
  ['POST', '/api/workflows/greeting/run', { body: { params: { name: 'x' } } }],
  ['GET', '/api/workflows/greeting/interface', {}],
  ['GET', '/nowhere', {}],
  ['GET', '/api/nowhere', {}],
  ['GET', '/v1/models', {}],
  ['GET', '/api/sdk/v1/capabilities', {}],
  ['GET', '/admin/collections', {}],
  ['PATCH', '/api/workflows', {}],
  ['OPTIONS', '/api/workflows', {}],
  ['POST', '/health', {}],
  // 401 comes before all other errors of the request.
  ['GET', '/api/workflows?limit=0', {}],
  ['POST', '/api/workflows', { raw: '{', headers: { 'Content-Type': 'text/plain' } }],
]

async function refusedAll(server: { url: string }, headers: Record<string, string>): Promise<void> {
  for (const [method, path, options] of PRIVATE) {
    const answer = await call(server, method, path, { ...options, headers: { ...options.headers, ...headers } })
    assert.equal(answer.status, 401, `${method} ${path}`)
    assert.deepEqual(answer.body, REFUSAL, `${method} ${path}`)
  }
}

async function publicOpen(server: { url: string }, headers: Record<string, string>): Promise<void> {
  for (const path of PUBLIC) {
    assert.equal((await call(server, 'GET', path, { headers })).status, 200, path)
  }
}

test('a remote caller gets 401, and can use only the public operations', { skip }, async () => {
  await using server = await startServer({ config: { host: '0.0.0.0' } })
  const remote = fromOutside(server)
  await refusedAll(remote, {})
  await refusedAll(remote, { 'X-Forwarded-For': '127.0.0.1', 'X-User-Id': '1', Host: 'localhost' })
  await publicOpen(remote, {})
  assert.equal(
    (await call({ url: `http://127.0.0.1:${new URL(server.url).port}` }, 'GET', '/api/workflows')).status,
    200,
  )
})

test('a public and a shared workflow can be read from anywhere, a private one only by its owner', {
  skip,
}, async () => {
  await using server = await startServer({ config: { host: '0.0.0.0' } })
  const local = { url: `http://127.0.0.1:${new URL(server.url).port}` }
  const remote = fromOutside(server)
  const open = await created(local, greeting({ access: 'public' }))
  const closed = await created(local, greeting())
  const share = await call<{ token: string }>(local, 'POST', `/api/workflows/${closed.id}/share`)
  assert.equal((await call(remote, 'GET', `/api/workflows/public/${open.id}`)).status, 200)
  assert.equal((await call(remote, 'GET', `/api/workflows/public/${closed.id}`)).status, 404)
  assert.equal((await call(remote, 'GET', `/api/shared-workflows/${share.body.token}`)).status, 200)
  assert.equal((await call(remote, 'GET', '/api/shared-workflows/unknown')).status, 404)
  assert.equal((await call(remote, 'GET', `/api/workflows/${open.id}`)).status, 401)
  assert.equal((await call(remote, 'DELETE', `/api/workflows/public/${open.id}`)).status, 401)
})

describe('a loopback caller', () => {
  test('with a foreign Host is refused', async () => {
    await using server = await startServer({ environment: { SVC_ALLOWED_HOSTS: 'box.example, other.example' } })
    for (const Host of ['evil.com', 'localhost.evil.com', '127.0.0.1.nip.io:7777']) {
      await refusedAll(server, { Host })
      await publicOpen(server, { Host })
    }
    for (const Host of ['localhost', 'app.localhost:7777', '10.1.2.3', '[::1]:1', 'box.example', 'OTHER.example:80']) {
      assert.equal((await call(server, 'GET', '/api/workflows', { headers: { Host } })).status, 200, Host)
    }
  })

  test('from a page that is not local is refused', async () => {
    await using server = await startServer({ environment: { SVC_ALLOWED_ORIGINS: 'https://app.example' } })
    for (const Origin of ['http://evil.com', 'https://localhost.evil.com', 'null']) {
      await refusedAll(server, { Origin })
      await publicOpen(server, { Origin })
    }
    const own = new URL(server.url).origin
    for (const Origin of [own, 'http://localhost:5173', 'file://', 'chrome-extension://abc', 'https://app.example']) {
      assert.equal((await call(server, 'GET', '/api/workflows', { headers: { Origin } })).status, 200, Origin)
    }
  })

  test('with Origin null needs the secret of this launch', async () => {
    await using server = await startServer({ environment: { SVC_LOCAL_CLIENT_TOKEN: 'the-launch-secret' } })
    const get = (headers: Record<string, string>) => call(server, 'GET', '/api/workflows', { headers })
    assert.equal((await get({ Origin: 'null' })).status, 401)
    assert.equal((await get({ Origin: 'null', 'X-Svc-Local-Client': 'wrong' })).status, 401)
    assert.equal((await get({ Origin: 'null', 'X-Svc-Local-Client': 'the-launch-secret' })).status, 200)
    assert.equal((await get({ Origin: 'http://evil.com', 'X-Svc-Local-Client': 'the-launch-secret' })).status, 401)
    assert.equal((await get({ 'X-Svc-Local-Client': 'wrong' })).status, 200)
  })

  test('that forwards for a client is refused', async () => {
    await using server = await startServer()
    const values: Record<string, string> = {
      Forwarded: 'for=127.0.0.1',
      'X-Forwarded-For': '127.0.0.1',
      'X-Forwarded-Host': 'localhost',
      'X-Forwarded-Proto': 'https',
      'X-Real-IP': '::1',
      Via: '1.1 proxy',
      'CF-Connecting-IP': '127.0.0.1',
    }
    for (const [name, value] of Object.entries(values)) {
      await refusedAll(server, { [name]: value })
      await publicOpen(server, { [name]: value })
    }
  })
})

describe('a configured proxy', () => {
  const environment = { SVC_TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/24', SVC_TRUST_LOCAL_NETWORKS: '192.168.7.0/24' }

  test('makes no client local, even if it rewrites Host or names no client', async () => {
    await using server = await startServer({ environment })
    await refusedAll(server, {})
    await refusedAll(server, { Host: 'localhost' })
    for (const list of ['127.0.0.1', '::1', '203.0.113.7', '192.168.7.9, 203.0.113.7', 'unknown', '']) {
      await refusedAll(server, { Host: 'localhost', 'X-Forwarded-For': list })
      await publicOpen(server, { 'X-Forwarded-For': list })
    }
    await refusedAll(server, { Forwarded: 'for=192.168.7.9', 'X-Real-IP': '192.168.7.9' })
  })

  test('forwards for clients of a trusted network', async () => {
    await using server = await startServer({ environment })
    const get = (headers: CallOptions['headers'] & {}) => call(server, 'GET', '/api/workflows', { headers })
    for (const list of ['192.168.7.9', '203.0.113.7, 192.168.7.9', '192.168.7.9:4711, 10.0.0.2', '::ffff:192.168.7.9'])
      assert.equal((await get({ 'X-Forwarded-For': list })).status, 200, list)
    // Several lines of a header are one list.
    assert.equal((await get({ 'X-Forwarded-For': ['203.0.113.7', '192.168.7.9'] })).status, 200)
    assert.equal((await get({ 'X-Forwarded-For': ['192.168.7.9', '203.0.113.7'] })).status, 401)
    assert.equal((await get({ 'X-Forwarded-For': '192.168.7.9', Host: 'evil.example' })).status, 401)
    assert.equal((await get({ 'X-Forwarded-For': '192.168.7.9', Origin: 'http://evil.example' })).status, 401)
  })
})

test('every operation needs a principal unless it is public', async () => {
  await using server = await startServer()
  const headers = { Origin: 'http://evil.com' }
  for (const { method, path, access, implementation } of operationManifest) {
    if (implementation !== 'implemented') continue
    const { status } = await call(server, method.toUpperCase(), path.replace(/\{\w+\}/g, 'x'), { headers })
    assert.equal(status === 401, access !== 'public', `${method} ${path}: ${status}`)
  }
})
