// The order of checks on a request of the lifecycle profile: the first error is reported.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { LOCAL_PRINCIPAL } from '../../src/access/principal.ts'
import { type CallOptions, call } from '../helpers/http.ts'
import { startServer, type TestServer } from '../helpers/server.ts'

const PREFLIGHT = '/api/sdk/v1/preflight'
const JSON_TYPE = { 'Content-Type': 'application/json' }
/** All clients come through a proxy, so that they have addresses, and none is trusted without a token. */
const environment = { SVC_TRUSTED_PROXIES: '127.0.0.1' }

let on: TestServer
let off: TestServer
before(async () => {
  on = await startServer({ environment })
  off = await startServer({ environment: { ...environment, SVC_DISABLE_SDK_LIFECYCLE_V1: '1' } })
})
after(async () => {
  await on[Symbol.asyncDispose]()
  await off[Symbol.asyncDispose]()
})

async function tokenOf(server: TestServer): Promise<Record<string, string>> {
  const { token } = await server.context.access.tokens.access.mint(LOCAL_PRINCIPAL, { name: 'order' })
  return { Authorization: `Bearer ${token}` }
}

async function answer(server: TestServer, method: string, path: string, options: CallOptions): Promise<string> {
  const { status, body } = await call<{ code?: string }>(server, method, path, options)
  return `${status} ${body.code ?? ''}`.trim()
}

describe('a request of the lifecycle profile is checked', () => {
  test('for its credentials before its path', async () => {
    assert.equal(await answer(on, 'POST', '/api/sdk/v1/nothing', {}), '401')
    assert.equal(await answer(on, 'POST', '/api/sdk/v1/nothing', { headers: await tokenOf(on) }), '404 NOT_FOUND')
  })

  test('for its path and method before the switch, and for the switch before its content', async () => {
    const headers = { ...(await tokenOf(off)), 'Content-Type': 'text/plain' }
    assert.equal(await answer(off, 'POST', '/api/sdk/v1/nothing', { headers, raw: '{' }), '404 NOT_FOUND')
    assert.equal(await answer(off, 'PUT', PREFLIGHT, { headers, raw: '{' }), '405 METHOD_NOT_ALLOWED')
    assert.equal(await answer(off, 'POST', PREFLIGHT, { headers, raw: '{' }), '503 SDK_LIFECYCLE_DISABLED')
  })

  test('for its content type before its content, and for its content before the resource', async () => {
    const headers = await tokenOf(on)
    const json = { ...headers, ...JSON_TYPE }
    const text = { ...headers, 'Content-Type': 'text/plain' }
    assert.equal(await answer(on, 'POST', PREFLIGHT, { headers: text, raw: '{' }), '415 UNSUPPORTED_MEDIA_TYPE')
    assert.equal(await answer(on, 'POST', PREFLIGHT, { headers: json, raw: '{' }), '400 INVALID_REQUEST')
    const unknown = { workflow_id: 'nothing', more: 1 }
    assert.equal(await answer(on, 'POST', PREFLIGHT, { headers, body: unknown }), '400 INVALID_REQUEST')
    assert.equal(
      await answer(on, 'POST', PREFLIGHT, { headers, body: { workflow_id: 'nothing' } }),
      '404 WORKFLOW_NOT_FOUND',
    )
  })

  test('for the rate limit of its caller before everything else', async () => {
    await using server = await startServer({ environment: { ...environment, SVC_RATE_LIMIT_MAX: '1' } })
    const headers = { 'X-Forwarded-For': '203.0.113.9', 'Content-Type': 'text/plain' }
    assert.equal(await answer(server, 'PUT', PREFLIGHT, { headers, raw: '{' }), '401')
    assert.equal(await answer(server, 'PUT', PREFLIGHT, { headers, raw: '{' }), '429 RATE_LIMITED')
    assert.equal(await answer(server, 'POST', '/api/sdk/v1/nothing', { headers }), '429 RATE_LIMITED')
  })
})
