// Rate limits over HTTP: which requests count, the headers, and that no other check comes before.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { operationManifest } from '../../generated/operations.ts'
import type { Workflow } from '../../generated/types.ts'
import { systemPlatform } from '../../src/platform.ts'
import { type Answer, call, type ErrorBody } from '../helpers/http.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { greeting } from './kit.ts'

/** Loopback callers count as the clients for which they forward. */
const COUNTED = { SVC_RATE_LIMIT_TRUST_PROXY: '1' }
/** As a remote caller who is accepted as the local user. */
const TRUSTED = { ...COUNTED, SVC_TRUSTED_PROXIES: '127.0.0.1', SVC_TRUST_LOCAL_NETWORKS: '203.0.113.0/24' }

const from = (address: string, more: Record<string, string> = {}) => ({
  headers: { 'X-Forwarded-For': address, ...more },
})

/** Uses up the rest of an address. */
async function exhaust(server: TestServer, address: string, requests: number): Promise<void> {
  for (let n = 0; n < requests; n++) assert.notEqual((await call(server, 'GET', '/health', from(address))).status, 429)
}

function limits({ headers }: Answer) {
  return [headers.ratelimit, headers['ratelimit-policy']]
}

describe('a caller with a rate limit', () => {
  test('gets the rest of the limit and its time in every answer', async () => {
    await using server = await startServer({ environment: { ...COUNTED, SVC_RATE_LIMIT_MAX: '20' } })
    let left = 20
    for (const [method, path, status] of [
      ['GET', '/health', 200],
      ['GET', '/openapi.json', 200],
      ['GET', '/docs/page.css', 200],
      ['GET', '/api/workflows', 401],
      ['GET', '/nowhere', 401],
      ['POST', '/api/workflows', 401],
      ['OPTIONS', '/api/workflows', 401],
      ['POST', '/health', 401],
      ['HEAD', '/health', 200],
      ['GET', '/api/workflows/public/nobodys', 404],
      ['GET', '/docs/%zz', 400],
    ] as const) {
      const answer = await call(server, method, path, from('203.0.113.7'))
      left--
      assert.equal(answer.status, status, path)
      assert.match(String(answer.headers.ratelimit), new RegExp(`^"ip";r=${left};t=\\d+$`), path)
      assert.equal(answer.headers['ratelimit-policy'], '"ip";q=20;w=60', path)
    }
  })

  test('is refused beyond its limit, and others are not', async () => {
    await using server = await startServer({ environment: { ...COUNTED, SVC_RATE_LIMIT_MAX: '2' } })
    await exhaust(server, '203.0.113.7', 2)
    const refused = await call<ErrorBody>(server, 'GET', '/health', from('203.0.113.7'))
    assert.equal(refused.status, 429)
    const { message, type, code } = refused.body.error
    assert.deepEqual(
      { message, type, code },
      { message: 'Too many requests; try again later.', type: 'rate_limited', code: 429 },
    )
    const seconds = Number(refused.headers['retry-after'])
    assert.ok(seconds >= 1 && seconds <= 60)
    assert.deepEqual(limits(refused), [`"ip";r=0;t=${seconds}`, '"ip";q=2;w=60'])
    assert.equal((await call(server, 'GET', '/health', from('203.0.113.8'))).status, 200)
    assert.equal((await call(server, 'GET', '/health', from('198.51.100.1, 203.0.113.7'))).status, 429)
  })

  test('may ask again when its window is over', async () => {
    const clock = { ms: Date.now() }
    const platform = { ...systemPlatform(), now: () => clock.ms }
    const environment = { ...COUNTED, SVC_RATE_LIMIT_MAX: '1', SVC_RATE_LIMIT_WINDOW_MS: '1500' }
    await using server = await startServer({ environment, platform })
    await exhaust(server, '203.0.113.7', 1)
    assert.equal((await call(server, 'GET', '/health', from('203.0.113.7'))).headers['retry-after'], '2')
    clock.ms += 1_500
    assert.equal((await call(server, 'GET', '/health', from('203.0.113.7'))).status, 200)
  })

  test('is refused in the error format of the path', async () => {
    await using server = await startServer({ environment: { ...COUNTED, SVC_RATE_LIMIT_MAX: '1' } })
    await exhaust(server, '203.0.113.7', 1)
    const at = async (path: string) => {
      const answer = await fetch(server.url + path, from('203.0.113.7'))
      assert.equal(answer.status, 429, path)
      return (await answer.json()) as Record<string, unknown>
    }
    assert.deepEqual(Object.keys(await at('/api/workflows')), ['error'])
    const sdk = await at('/api/sdk/v1/capabilities')
    assert.deepEqual([sdk.code, sdk.retryable], ['RATE_LIMITED', true])
    const flat = await at('/api/workflows/some/interface?version=1')
    assert.deepEqual([flat.code, flat.retryable], ['RATE_LIMITED', true])
    const openai = await at('/v1/models')
    assert.deepEqual(openai.error, {
      message: 'Too many requests; try again later.',
      type: 'rate_limited',
      param: null,
      code: 429,
    })
    assert.deepEqual(Object.keys(await at('/nowhere')), ['error'])
  })

  test('can be a page of an allowed origin, which can read the limit', async () => {
    await using server = await startServer({
      environment: { ...COUNTED, SVC_RATE_LIMIT_MAX: '1', SVC_ALLOWED_ORIGINS: 'https://app.example' },
    })
    await exhaust(server, '203.0.113.7', 1)
    const { status, headers } = await call(
      server,
      'GET',
      '/health',
      from('203.0.113.7', { Origin: 'https://app.example' }),
    )
    assert.equal(status, 429)
    assert.equal(headers['access-control-allow-origin'], 'https://app.example')
    assert.match(String(headers['access-control-expose-headers']), /RateLimit, .*Retry-After/)
  })
})

describe('the rate limit', () => {
  test('does not apply to callers on this machine', async () => {
    await using server = await startServer({ environment: { SVC_RATE_LIMIT_MAX: '1' } })
    for (let n = 0; n < 5; n++) {
      const answer = await call(server, 'GET', '/api/workflows')
      assert.equal(answer.status, 200)
      assert.deepEqual(limits(answer), [undefined, undefined])
    }
    for (let n = 0; n < 12; n++)
      assert.equal((await call(server, 'POST', '/api/tokens', { body: { name: 'local' } })).status, 201)
  })

  test('is off with SVC_RATE_LIMIT_DISABLED', async () => {
    await using server = await startServer({
      environment: { ...COUNTED, SVC_RATE_LIMIT_MAX: '1', SVC_RATE_LIMIT_DISABLED: '1' },
    })
    for (let n = 0; n < 5; n++) {
      const answer = await call(server, 'GET', '/health', from('203.0.113.7'))
      assert.deepEqual([answer.status, ...limits(answer)], [200, undefined, undefined])
    }
  })
})

test('all clients behind an unknown proxy on this machine share one limit', async () => {
  await using server = await startServer({ environment: { SVC_RATE_LIMIT_MAX: '2' } })
  for (const address of ['203.0.113.7', '203.0.113.8'])
    assert.equal((await call(server, 'GET', '/health', from(address))).status, 200)
  assert.equal((await call(server, 'GET', '/health', from('203.0.113.9'))).status, 429)
  await assert.rejects(connect(server, { headers: { 'X-Forwarded-For': '203.0.113.9' } }), /429/)
  assert.equal((await call(server, 'GET', '/health')).status, 200, 'a program of this machine')
})

test('a forwarded loopback address has a limit, and so has a proxy that names no client', async () => {
  await using server = await startServer({ environment: { SVC_TRUSTED_PROXIES: '127.0.0.1', SVC_RATE_LIMIT_MAX: '1' } })
  await exhaust(server, '127.0.0.1', 1)
  assert.equal((await call(server, 'GET', '/health', from('127.0.0.1'))).status, 429)
  assert.equal((await call(server, 'GET', '/health')).status, 429)
  assert.equal((await call(server, 'GET', '/health', from('203.0.113.7'))).status, 200)
})

describe('operations that issue or try credentials', () => {
  test('are marked in the contract', () => {
    const marked = operationManifest.filter(({ rate_limit }) => rate_limit === 'sign_in')
    assert.deepEqual(marked.map(({ operationId }) => operationId).sort(), [
      'confirmLink',
      'createAppSession',
      'createLinkCode',
      'createToken',
      'decideAuthorization',
      'issueToken',
      'registerClient',
    ])
  })

  test('createToken has a second limit, that is used up before the first', async () => {
    await using server = await startServer({ environment: TRUSTED })
    const mint = (address: string) =>
      call(server, 'POST', '/api/tokens', { ...from(address), body: { name: 'tight', scopes: ['read'] } })
    for (let left = 9; left >= 0; left--) {
      const answer = await mint('203.0.113.7')
      assert.equal(answer.status, 201, answer.text)
      assert.match(String(answer.headers.ratelimit), new RegExp(`^"ip";r=\\d+;t=\\d+, "sign_in";r=${left};t=\\d+$`))
      assert.equal(answer.headers['ratelimit-policy'], '"ip";q=1000;w=60, "sign_in";q=10;w=60')
    }
    const refused = await mint('203.0.113.7')
    assert.equal(refused.status, 429)
    assert.match(String(refused.headers['retry-after']), /^\d+$/)
    assert.equal((await call(server, 'GET', '/api/tokens', from('203.0.113.7'))).status, 200)
    assert.equal((await mint('203.0.113.8')).status, 201)
  })
})

// Rate limit → authentication → path and method → content type → parse and validate → service: each step hides later ones.
test('the checks of a request come in their order', async () => {
  await using server = await startServer({ environment: { ...TRUSTED, SVC_RATE_LIMIT_MAX: '1000' } })
  const { body } = await call<Workflow>(server, 'POST', '/api/workflows', { ...from('203.0.113.7'), body: greeting() })
  const run = `/api/workflows/${body.id}/run`
  const json = { 'Content-Type': 'application/json' }
  const text = { 'Content-Type': 'text/plain' }
  const ask = async (address: string, method: string, path: string, headers: Record<string, string>, raw: string) =>
    (await call(server, method, path, { raw, headers: { 'X-Forwarded-For': address, ...headers } })).status
  const [trusted, stranger, tired] = ['203.0.113.7', '198.51.100.7', '198.51.100.8'] as const
  await exhaust(server, tired, 1_000)
  for (const path of [run, '/nowhere', '/health']) assert.equal(await ask(tired, 'PATCH', path, text, '{'), 429)
  for (const path of [run, '/nowhere', '/health']) assert.equal(await ask(stranger, 'PATCH', path, text, '{'), 401)
  assert.equal(await ask(trusted, 'PATCH', '/nowhere', text, '{'), 404)
  assert.equal(await ask(trusted, 'PATCH', run, text, '{'), 405)
  assert.equal(await ask(trusted, 'POST', run, text, '{'), 415)
  assert.equal(await ask(trusted, 'POST', run, json, '{'), 400)
  assert.equal(await ask(trusted, 'POST', run, json, '{"unknown": 1}'), 400)
  assert.equal(await ask(trusted, 'POST', '/api/workflows/nobodys/run', json, '{"unknown": 1}'), 400)
  assert.equal(await ask(trusted, 'POST', '/api/workflows/nobodys/run', json, '{}'), 404)
  assert.equal(await ask(trusted, 'POST', run, json, '{"params": {"other": 1}}'), 422)
  assert.equal(await ask(trusted, 'POST', run, json, '{"params": {"name": "Ada"}}'), 200)
})
