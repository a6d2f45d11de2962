// Refusals of unauthenticated callers: the exact status, body and headers, in each mode, on each transport.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Answer, call } from '../helpers/http.ts'
import { startIdentityProvider } from '../helpers/identity-provider.ts'
import { startServer } from '../helpers/server.ts'

/** A page of another site, which is not trusted in Local mode. */
const AWAY = { Origin: 'http://elsewhere.example' }
const PATHS = [
  '/api/workflows',
  '/api/nowhere',
  '/api/sdk/v1/capabilities',
  '/api/workflows/greeting/interface?version=1',
  '/v1/models',
  '/v1/nowhere',
  '/trpc/nowhere',
  '/mcp',
  '/ws',
  '/admin/collections',
  '/metrics',
  '/nowhere',
]

function bearer(token: string): Record<string, string> {
  return { ...AWAY, Authorization: `Bearer ${token}` }
}

function isRefusal(answer: Answer, reason: string, path: string, token_sent: boolean): void {
  assert.equal(answer.status, 401, path)
  assert.equal(answer.text, JSON.stringify({ error: reason }), path)
  assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8', path)
  const challenge = answer.headers['www-authenticate']
  if (path === '/mcp') return assert.equal(challenge, undefined)
  const expected = token_sent
    ? /^Bearer error="invalid_token", error_description="[^"]+"$/
    : /^Bearer error_description="[^"]+"$/
  assert.match(String(challenge), expected, path)
}

describe('in Local mode', () => {
  test('all other callers get the same refusal on every path, with an invalid token or none', async () => {
    await using server = await startServer()
    for (const path of PATHS) {
      const reason = 'Remote access requires authentication'
      isRefusal(await call(server, 'GET', path, { headers: AWAY }), reason, path, false)
      for (const token of ['ntk_unknown', 'unknown', 'a.b.c'])
        isRefusal(await call(server, 'GET', path, { headers: bearer(token) }), reason, path, true)
      const basic = { ...AWAY, Authorization: 'Basic dXNlcjpwYXNz' }
      isRefusal(await call(server, 'GET', path, { headers: basic }), reason, path, false)
    }
  })

  test('the refusal of nta_ and nda_ tokens is final, also for the local user', async () => {
    await using server = await startServer()
    for (const path of PATHS)
      for (const token of ['nta_unknown', 'nda_unknown'])
        for (const headers of [bearer(token), { Authorization: `Bearer ${token}` }])
          isRefusal(await call(server, 'GET', path, { headers }), 'invalid_token', path, true)
  })

  test('a refusal of HEAD has no body, and the headers of that of GET', async () => {
    await using server = await startServer()
    for (const path of ['/api/workflows', '/mcp', '/nowhere']) {
      const [get, head] = [
        await call(server, 'GET', path, { headers: AWAY }),
        await call(server, 'HEAD', path, { headers: AWAY }),
      ]
      assert.deepEqual([head.status, head.text], [401, ''])
      for (const name of ['content-type', 'content-length', 'www-authenticate'])
        assert.equal(head.headers[name], get.headers[name], `${path} ${name}`)
    }
  })
})

describe('with an identity provider', () => {
  test('a caller without a token is refused with that reason, also on loopback', async () => {
    await using idp = await startIdentityProvider()
    await using server = await startServer({ environment: idp.environment })
    for (const path of PATHS) {
      const given: Record<string, string>[] = [AWAY, {}, { Authorization: 'Bearer' }]
      for (const headers of given) isRefusal(await call(server, 'GET', path, { headers }), 'Unauthorized', path, false)
    }
    assert.deepEqual(idp.requests, { keys: 0, user: 0, other: 0 })
  })

  test('a rejected token is refused with the reason', async () => {
    await using idp = await startIdentityProvider()
    await using server = await startServer({ environment: idp.environment })
    const expired = await idp.token({ sub: 'ada', expires_in: -60 })
    for (const path of PATHS) {
      isRefusal(await call(server, 'GET', path, { headers: bearer(expired) }), 'Token expired', path, true)
      isRefusal(await call(server, 'GET', path, { headers: bearer('ntk_unknown') }), 'Invalid token', path, true)
      isRefusal(await call(server, 'GET', path, { headers: bearer('nta_unknown') }), 'invalid_token', path, true)
    }
    assert.equal(idp.requests.user, 0)
  })

  test('no caller is refused or accepted while it is unreachable: 503 in the error format of the path', async () => {
    await using idp = await startIdentityProvider()
    await using server = await startServer({ environment: { ...idp.environment, SVC_TRUST_LOCALHOST: 'true' } })
    idp.down()
    for (const path of PATHS) {
      const { status, body, headers, text } = await call(server, 'GET', path, { headers: bearer('opaque') })
      assert.equal(status, 503, `${path} ${text}`)
      assert.match(String(headers['retry-after']), /^[1-9]\d*$/)
      assert.equal(headers['www-authenticate'], undefined)
      const { error, ...flat } = body as { error: Record<string, unknown> }
      const { code, message } = error
      assert.equal(code, 503, path)
      assert.ok(!text.includes(idp.url) && !text.includes('opaque'), text)
      const sdk = path.startsWith('/api/sdk/v1/') || path.includes('/interface')
      const expected = { code: 'SERVICE_UNAVAILABLE', message, detail: message, retryable: true }
      assert.deepEqual(flat, sdk ? expected : {}, path)
      assert.equal('param' in error, path.startsWith('/v1/'), path)
    }
    // A caller without a token is judged by its address.
    assert.equal((await call(server, 'GET', '/api/workflows')).status, 200)
    assert.equal((await call(server, 'GET', '/health', { headers: bearer('opaque') })).status, 200)
  })
})
