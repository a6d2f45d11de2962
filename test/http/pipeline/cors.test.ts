// CORS: which pages may read responses, and the answers to preflight requests.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { operationManifest } from '../../../generated/operations.ts'
import { type Answer, call } from '../../helpers/http.ts'
import { startServer } from '../../helpers/server.ts'

const SECRET = 'a-secret-of-this-launch'
const ENVIRONMENT = {
  SVC_ALLOWED_ORIGINS: 'https://app.example',
  SVC_PUBLIC_URL: 'https://flows.example/base',
  SVC_LOCAL_CLIENT_TOKEN: SECRET,
}

const ALLOWED = [
  'https://app.example',
  'https://flows.example',
  'http://localhost:5173',
  'https://dev.localhost',
  'http://127.0.0.1:3000',
  'http://[::1]:3000',
  'chrome-extension://abcdefghijklmnop',
  'moz-extension://0b1c2d3e-0000-4000-8000-000000000000',
  'file://',
]

const FOREIGN = [
  'https://evil.example',
  'http://app.example',
  'https://app.example:444',
  'https://app.example.evil.example',
  'https://app.example/',
  'https://localhost.evil.example',
  'http://127.0.0.1.evil.example',
  'http://192.168.1.9:5173',
  'null',
  '*',
  '',
  'https://app.example, https://evil.example',
  'data:text/html',
  'not an origin',
]

function cors({ headers }: Answer): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-')))
}

function asks(origin: string, method = 'POST', more: Record<string, string> = {}) {
  return { headers: { Origin: origin, 'Access-Control-Request-Method': method, ...more } }
}

/** Headers that pages may always read (Fetch, "CORS-safelisted response-header name"), and headers that are only for browsers. */
const SAFE = ['cache-control', 'content-length', 'content-type', 'last-modified']
const OF_BROWSERS = ['content-security-policy', 'x-content-type-options']

/** The names of all declared response headers. */
function declaredHeaders(): Set<string> {
  const document = JSON.parse(readFileSync(new URL('../../../generated/openapi.json', import.meta.url), 'utf8'))
  const names = new Set<string>()
  const look = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const { headers, description } = value as { headers?: unknown; description?: unknown }
    if (typeof headers === 'object' && headers !== null && description !== undefined)
      for (const name of Object.keys(headers)) names.add(name.toLowerCase())
    for (const member of Object.values(value)) look(member)
  }
  for (const path of Object.values(document.paths)) look(path)
  look(document.components.responses)
  return names
}

describe('a response', () => {
  test('exposes every header that the contract declares', async () => {
    await using server = await startServer({ environment: ENVIRONMENT })
    const { headers } = await call(server, 'GET', '/health', { headers: { Origin: ALLOWED[0]! } })
    const shown = String(headers['access-control-expose-headers']).toLowerCase().split(', ')
    const declared = declaredHeaders()
    assert.ok(declared.has('x-svc-job-id') && declared.has('etag'), [...declared].join())
    assert.deepEqual(
      [...declared].filter((name) => !shown.includes(name) && ![...SAFE, ...OF_BROWSERS].includes(name)),
      [],
    )
  })

  test('to a page of an allowed origin can be read by that page, with any status, and by no other', async () => {
    await using server = await startServer({ environment: ENVIRONMENT })
    for (const origin of ALLOWED) {
      for (const [path, status] of [
        ['/health', 200],
        ['/api/workflows', 200],
        ['/api/workflows/none', 404],
        ['/nowhere', 404],
        ['/api/workflows?limit=0', 400],
      ] as const) {
        const answer = await call(server, 'GET', path, { headers: { Origin: origin } })
        assert.equal(answer.status, status, `${origin} ${path}`)
        assert.equal(answer.headers['access-control-allow-origin'], origin)
        assert.match(
          String(answer.headers['access-control-expose-headers']),
          /ETag.*Link.*Location.*RateLimit.*Retry-After.*X-Request-Id/,
        )
        assert.equal(answer.headers['access-control-allow-credentials'], undefined)
        assert.match(String(answer.headers.vary), /^Origin\b/)
      }
    }
  })

  test('to any other page has no CORS headers, and a protected operation is refused', async () => {
    await using server = await startServer({ environment: ENVIRONMENT })
    for (const origin of FOREIGN) {
      const open = await call(server, 'GET', '/health', { headers: { Origin: origin } })
      assert.deepEqual([open.status, cors(open)], [200, {}], origin)
      for (const method of ['GET', 'POST']) {
        const answer = await call(server, method, '/api/workflows', { headers: { Origin: origin } })
        assert.deepEqual([answer.status, cors(answer)], [401, {}], origin)
        assert.equal(answer.headers.vary, 'Origin')
      }
    }
  })

  test('to a caller without an origin has no CORS headers', async () => {
    await using server = await startServer({ environment: ENVIRONMENT })
    const answer = await call(server, 'GET', '/api/workflows')
    assert.deepEqual([answer.status, cors(answer)], [200, {}])
    assert.equal(answer.headers.vary, 'Origin')
  })

  test('to several origins at once can be read by none of them', async () => {
    await using server = await startServer({ environment: ENVIRONMENT })
    const headers = { Origin: ['https://app.example', 'https://app.example'] }
    const answer = await call(server, 'GET', '/api/workflows', { headers })
    assert.deepEqual([answer.status, cors(answer)], [401, {}])
  })

  test('to a desktop window can be read only with the secret of the launch', async () => {
    await using server = await startServer({ environment: ENVIRONMENT })
    const with_ = (secret: string) =>
      call(server, 'GET', '/api/workflows', { headers: { Origin: 'null', 'X-Svc-Local-Client': secret } })
    const window = await with_(SECRET)
    assert.deepEqual([window.status, window.headers['access-control-allow-origin']], [200, 'null'])
    const other = await with_(`${SECRET}-not`)
    assert.deepEqual([other.status, cors(other)], [401, {}])
  })
})

describe('a preflight request', () => {
  test('for a page of an allowed origin gets the methods of the path', async () => {
    await using server = await startServer({ environment: ENVIRONMENT })
    for (const origin of ALLOWED) {
      const wanted = { 'Access-Control-Request-Headers': 'authorization,content-type,x-stainless-os' }
      const answer = await call(server, 'OPTIONS', '/api/workflows/some/run', asks(origin, 'POST', wanted))
      assert.equal(answer.status, 204, origin)
      assert.deepEqual(cors(answer), {
        'access-control-allow-origin': origin,
        'access-control-expose-headers': answer.headers['access-control-expose-headers'],
        'access-control-allow-methods': 'OPTIONS, POST',
        'access-control-allow-headers': 'authorization,content-type,x-stainless-os',
        'access-control-max-age': '600',
      })
      assert.equal(answer.headers.vary, 'Origin, Access-Control-Request-Headers')
    }
  })

  test('is answered for every operation before authentication', async () => {
    // Local callers are not trusted here: only a token would do, and a preflight has none.
    await using server = await startServer({ environment: { ...ENVIRONMENT, SVC_TRUST_LOCALHOST: 'false' } })
    for (const { path, method, implementation } of operationManifest) {
      const concrete = path.replaceAll(/\{\w+\}/g, 'x')
      const answer = await call(server, 'OPTIONS', concrete, asks('https://app.example', method.toUpperCase()))
      assert.equal(answer.status, 204, concrete)
      const methods = String(answer.headers['access-control-allow-methods'])
      if (implementation === 'implemented') assert.ok(methods.split(', ').includes(method.toUpperCase()), concrete)
    }
    const unknown = await call(server, 'OPTIONS', '/nowhere', asks('https://app.example', 'GET'))
    assert.deepEqual(
      [unknown.status, unknown.headers['access-control-allow-methods']],
      [204, 'DELETE, GET, HEAD, OPTIONS, POST, PUT'],
    )
    assert.equal(
      (await call(server, 'GET', '/api/workflows', { headers: { Origin: 'https://app.example' } })).status,
      401,
    )
  })

  test('for any other page is refused like any request, without CORS headers', async () => {
    await using server = await startServer({ environment: ENVIRONMENT })
    for (const origin of FOREIGN.filter((one) => one !== 'null')) {
      for (const path of ['/api/workflows', '/health', '/nowhere']) {
        const private_ = { 'Access-Control-Request-Private-Network': 'true' }
        const answer = await call(server, 'OPTIONS', path, asks(origin, 'GET', private_))
        assert.deepEqual([answer.status, cors(answer)], [401, {}], `${origin} ${path}`)
      }
    }
  })

  test('for a desktop window is answered if windows have a secret', async () => {
    const wanted = asks('null', 'GET', { 'Access-Control-Request-Headers': 'x-svc-local-client' })
    await using server = await startServer({ environment: ENVIRONMENT })
    const answer = await call(server, 'OPTIONS', '/api/workflows', wanted)
    assert.deepEqual([answer.status, answer.headers['access-control-allow-origin']], [204, 'null'])
    await using without = await startServer()
    const refused = await call(without, 'OPTIONS', '/api/workflows', wanted)
    assert.deepEqual([refused.status, cors(refused)], [401, {}])
  })

  test('may ask for a private network from an allowed origin', async () => {
    await using server = await startServer({ environment: ENVIRONMENT })
    const wanted = asks('https://app.example', 'GET', { 'Access-Control-Request-Private-Network': 'true' })
    const answer = await call(server, 'OPTIONS', '/api/workflows', wanted)
    assert.equal(answer.headers['access-control-allow-private-network'], 'true')
  })

  test('with malformed header names gets none of them back', async () => {
    await using server = await startServer({ environment: ENVIRONMENT })
    for (const names of ['a b', 'x:y', 'a,,b', ',', '"quoted"', 'é'])
      assert.equal(
        (
          await call(
            server,
            'OPTIONS',
            '/api/workflows',
            asks('https://app.example', 'GET', { 'Access-Control-Request-Headers': names }),
          )
        ).headers['access-control-allow-headers'],
        undefined,
        names,
      )
  })

  test('needs Access-Control-Request-Method, unlike a plain OPTIONS', async () => {
    await using server = await startServer({ environment: ENVIRONMENT })
    const plain = await call(server, 'OPTIONS', '/api/workflows', { headers: { Origin: 'https://app.example' } })
    assert.equal(plain.status, 204)
    assert.equal(plain.headers['access-control-allow-methods'], undefined)
    assert.equal(plain.headers.allow, 'GET, HEAD, OPTIONS, POST')
    assert.equal(
      (await call(server, 'OPTIONS', '/api/workflows', { headers: { 'Access-Control-Request-Method': 'GET' } })).status,
      204,
    )
  })
})
