// Probes, the public configuration and the published documents.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import type { ApiHealth, Health, RunResult, ServiceConfig } from '../../../generated/types.ts'
import { systemPlatform } from '../../../src/platform.ts'
import { runToCompletion } from '../../../src/shared/time-slices.ts'
import { version } from '../../../src/version.ts'
import { call } from '../../helpers/http.ts'
import { startServer, until } from '../../helpers/server.ts'
import { created, GATED, gate } from '../kit.ts'

describe('probes', () => {
  test('getHealth: is healthy with both services up', async () => {
    await using server = await startServer()
    const { status, body } = await call<Health>(server, 'GET', '/health')
    assert.equal(status, 200)
    assert.equal(body.status, 'healthy')
    assert.deepEqual(body.services, { database: 'healthy', server: 'healthy' })
    assert.match(body.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    assert.ok(Math.abs(Date.parse(body.timestamp) - Date.now()) < 5_000)
  })

  test('getHealth: gives 503 once the database does not answer, while getReady and getApiHealth still answer', async () => {
    await using server = await startServer()
    await server.context.store[Symbol.asyncDispose]()
    const { status, body } = await call<Health>(server, 'GET', '/health')
    assert.equal(status, 503)
    assert.equal(body.status, 'unhealthy')
    assert.deepEqual(body.services, { database: 'unhealthy', server: 'healthy' })
    assert.equal((await call(server, 'GET', '/ready')).status, 200)
    assert.equal((await call(server, 'GET', '/api/health')).status, 200)
  })

  test('SERVICE_UNAVAILABLE: a draining server refuses runs, is unhealthy, stays ready and answers running ones', async () => {
    const { registry, open } = gate()
    await using server = await startServer({ registry })
    const { id } = await created(server, GATED)
    const running = call<RunResult>(server, 'POST', `/api/workflows/${id}/run`, { body: {} })
    await until(
      'the job to run',
      () => runToCompletion(server.context.runs.jobs.listActive({ user_id: '1', workspace_id: null })).length === 1,
    )
    const closed = server.close(10_000)
    const health = await call<Health>(server, 'GET', '/health')
    assert.equal(health.status, 503)
    assert.deepEqual(health.body.services, { database: 'healthy', server: 'draining' })
    assert.equal((await call(server, 'GET', '/ready')).status, 200)
    const refused = await call<{ error: { type: string } }>(server, 'POST', `/api/workflows/${id}/run`, { body: {} })
    assert.equal(refused.status, 503)
    assert.equal(refused.body.error.type, 'service_unavailable')
    assert.match(String(refused.headers['retry-after']), /^\d+$/)
    assert.equal((await call(server, 'GET', `/api/workflows/${id}`)).status, 200)
    open()
    const { body } = await running
    assert.equal(body.status, 'completed')
    assert.deepEqual(body.outputs, { result: 'done' })
    await closed
  })

  test('getApiHealth: returns the version and whole seconds', async () => {
    let ms = 1_000_000
    await using server = await startServer({ platform: { ...systemPlatform(), now: () => ms } })
    ms += 12_900
    const { body } = await call<ApiHealth>(server, 'GET', '/api/health')
    assert.deepEqual(body, { version, uptime: 12 })
    assert.equal((await call<Health>(server, 'GET', '/health')).body.uptime, 12.9)
  })

  test('getReady: returns ok', async () => {
    await using server = await startServer()
    assert.deepEqual((await call(server, 'GET', '/ready')).body, { status: 'ok' })
  })

  test('probes ignore unknown parameters', async () => {
    await using server = await startServer()
    for (const path of ['/health', '/api/health', '/ready']) {
      assert.equal((await call(server, 'GET', `${path}?x=1&x=2`, { headers: { Accept: 'text/html' } })).status, 200)
    }
  })
})

describe('the configuration', () => {
  const on = ({ features }: ServiceConfig) => Object.keys(features).filter((name) => features[name])

  test('getConfig: reports Local mode, the lifecycle profile as the only feature, and the enforced limits', async () => {
    await using server = await startServer({
      environment: { SVC_MAX_BODY_BYTES: '4096', SVC_LOCAL_CLIENT_TOKEN: 'sesame-open-up-now' },
    })
    const { body, text } = await call<ServiceConfig>(server, 'GET', '/api/config')
    assert.equal(body.version, version)
    assert.equal(body.auth_mode, 'local')
    assert.equal(body.identity_provider, null)
    assert.deepEqual(on(body), ['sdk_lifecycle'])
    assert.equal(body.limits.max_body_bytes, 4096)
    assert.equal(body.limits.ws_max_message_bytes, 32 * 1024 * 1024)
    assert.ok(!text.includes('sesame') && !text.includes(server.data_dir))
  })

  test('getConfig: reports the switches of the lifecycle profile, of which the general one counts first', async () => {
    for (const [environment, expected] of [
      [{ SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' }, ['sdk_lifecycle', 'sdk_lifecycle_preview']],
      [{ SVC_DISABLE_SDK_LIFECYCLE_V1: '1' }, []],
      [{ SVC_DISABLE_SDK_LIFECYCLE_V1: '1', SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' }, []],
    ] as const) {
      await using server = await startServer({ environment })
      const { body } = await call<ServiceConfig>(server, 'GET', '/api/config')
      assert.deepEqual(on(body), expected)
      assert.equal(body.features.sdk_lifecycle, expected.length > 0)
      assert.equal(body.features.sdk_lifecycle_preview, expected.length > 1)
    }
  })
})

describe('the documents', () => {
  test('getOpenapiDocument: returns the generated document', async () => {
    await using server = await startServer()
    const { body } = await call<{ openapi: string }>(server, 'GET', '/openapi.json')
    assert.match(body.openapi, /^3\.1\./)
    assert.deepEqual(
      body,
      JSON.parse(readFileSync(new URL('../../../generated/openapi.json', import.meta.url), 'utf8')),
    )
  })

  test('getAsyncapiDocument: returns the generated document', async () => {
    await using server = await startServer()
    const { body } = await call<{ asyncapi: string }>(server, 'GET', '/asyncapi.json')
    assert.match(body.asyncapi, /^3\.0\./)
    assert.deepEqual(
      body,
      JSON.parse(readFileSync(new URL('../../../generated/asyncapi.json', import.meta.url), 'utf8')),
    )
  })

  test('getStartPage redirects to the reference', async () => {
    await using server = await startServer()
    const { status, headers } = await call(server, 'GET', '/')
    assert.deepEqual([status, headers.location], [302, 'docs'])
    const page = await fetch(server.url)
    assert.deepEqual([page.status, page.url], [200, `${server.url}/docs`])
    assert.equal((await call(server, 'POST', '/', { body: {} })).status, 405)
  })

  test('getReference and getReferenceFile: return a page with all files that it loads', async () => {
    await using server = await startServer()
    const page = await call<string>(server, 'GET', '/docs')
    assert.equal(page.status, 200)
    assert.match(String(page.headers['content-type']), /^text\/html/)
    const linked = [...page.text.matchAll(/(?:src|href)="([^"#]+)"/g)].map((match) => match[1]!)
    assert.ok(linked.length > 0)
    for (const link of linked) {
      const { pathname, origin } = new URL(link, `${server.url}/docs`)
      assert.equal(origin, new URL(server.url).origin, `${link} is loaded from elsewhere`)
      assert.equal((await call(server, 'GET', pathname)).status, 200, link)
    }
    assert.equal((await call(server, 'GET', '/docs/nothing.js')).status, 404)
  })
})
