// Security headers: responses are data, in no frame, for no other site, and not cached; pages and files of users have other headers. The helper of
// all HTTP tests asserts that every response has each header.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type CallOptions, call } from '../helpers/http.ts'
import { startServer } from '../helpers/server.ts'
import { created, greeting } from './kit.ts'
import { stored } from './storage-kit.ts'

const DATA = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
  vary: 'Origin',
}

/** The headers that `expected` names. */
function picked(headers: Record<string, unknown>, expected: Record<string, string>): Record<string, unknown> {
  return Object.fromEntries(Object.keys(expected).map((name) => [name, headers[name]]))
}

describe('a response with data', () => {
  test('has all security headers, with any status', async () => {
    await using server = await startServer()
    const { id } = await created(server, greeting())
    const cases: [number, string, string, CallOptions][] = [
      [200, 'GET', '/health', {}],
      [200, 'GET', '/metrics', {}],
      [200, 'GET', '/openapi.json', {}],
      [200, 'GET', '/api/workflows', {}],
      [200, 'GET', `/api/workflows/${id}`, {}],
      [200, 'HEAD', `/api/workflows/${id}`, {}],
      [200, 'POST', `/api/workflows/${id}/run`, { body: { params: { name: 'Ada' } } }],
      [204, 'OPTIONS', '/api/workflows', {}],
      [400, 'GET', '/api/workflows?limit=0', {}],
      [401, 'GET', '/api/workflows', { headers: { Host: 'elsewhere.example' } }],
      [404, 'GET', '/nowhere', {}],
      [404, 'GET', '/api/storage/1/none.html', {}],
      [405, 'DELETE', '/health', {}],
      [412, 'PUT', `/api/workflows/${id}`, { body: greeting(), headers: { 'If-Match': '"99"' } }],
      [415, 'POST', '/api/workflows', { raw: 'x', headers: { 'Content-Type': 'text/plain' } }],
      [422, 'POST', `/api/workflows/${id}/run`, { body: { params: { other: 1 } } }],
      [204, 'DELETE', `/api/workflows/${id}`, {}],
    ]
    for (const [status, method, path, options] of cases) {
      const answer = await call(server, method, path, options)
      assert.equal(answer.status, status, `${method} ${path}`)
      assert.deepEqual(picked(answer.headers, DATA), DATA, `${method} ${path}`)
    }
  })

  test('names neither the server software, nor HTTPS, which is the task of the proxy', async () => {
    await using server = await startServer()
    const { headers } = await call(server, 'GET', '/health')
    for (const name of ['x-powered-by', 'server', 'strict-transport-security']) assert.equal(headers[name], undefined)
  })
})

test('a page allows only its own files, and no window of another origin', async () => {
  await using server = await startServer()
  const page = await call(server, 'GET', '/docs')
  const policy = String(page.headers['content-security-policy'])
  assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; .*frame-ancestors 'none'$/)
  assert.doesNotMatch(policy, /unsafe|\*|https?:/)
  const expected = {
    ...DATA,
    'content-security-policy': policy,
    'cache-control': 'no-cache',
    'cross-origin-opener-policy': 'same-origin',
  }
  assert.deepEqual(picked(page.headers, expected), expected)
  const library = await call(server, 'GET', '/docs/swagger-ui.css')
  assert.equal(library.headers['cache-control'], 'public, max-age=86400')
})

describe('content of a user', () => {
  const SANDBOX = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

  test('never runs, and is saved if a browser would run or render it', async () => {
    await using server = await startServer()
    const kinds: [string, string][] = [
      ['text/html', 'attachment'],
      ['TEXT/HTML; charset=utf-8', 'attachment'],
      ['application/xhtml+xml', 'attachment'],
      ['image/svg+xml', 'attachment'],
      ['text/xml', 'attachment'],
      ['application/xml', 'attachment'],
      ['application/xslt+xml', 'attachment'],
      ['application/rss+xml', 'attachment'],
      ['application/mathml+xml', 'attachment'],
      ['text/javascript', 'attachment'],
      ['application/x-javascript', 'attachment'],
      ['application/ecmascript', 'attachment'],
      ['application/wasm', 'attachment'],
      ['multipart/related', 'attachment'],
      ['message/rfc822', 'attachment'],
      ['application/pdf', 'inline'],
      ['text/plain', 'inline'],
      ['image/png', 'inline'],
    ]
    for (const [content_type, kind] of kinds) {
      const { storage_key } = await stored(server, '<script>alert(1)</script>', { content_type, name: 'a' })
      const { headers } = await call(server, 'GET', `/api/storage/${storage_key}`)
      const expected = { ...DATA, 'content-security-policy': SANDBOX, 'cache-control': 'private, no-cache' }
      assert.deepEqual(picked(headers, expected), expected, content_type)
      assert.match(String(headers['content-disposition']), new RegExp(`^${kind};`), content_type)
    }
  })

  test('with a signed URL may be shown by any page, but not its errors', async () => {
    await using server = await startServer()
    const { storage_key } = await stored(server, 'x', { content_type: 'image/png' })
    const seconds = Math.floor(Date.now() / 1_000)
    const at = (expires: number) =>
      call(server, 'GET', server.context.assets.store.signatures.signUrl(storage_key, expires))
    const signed = await at(seconds + 60)
    assert.deepEqual([signed.status, signed.headers['cross-origin-resource-policy']], [200, 'cross-origin'])
    assert.equal(signed.headers['content-security-policy'], SANDBOX)
    // A local caller may read it without a signature as well.
    const late = await at(seconds - 60)
    assert.deepEqual([late.status, late.headers['cross-origin-resource-policy']], [200, 'same-origin'])
  })
})
