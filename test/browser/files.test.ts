// What the server hands out for the reference, without a browser: the files, their headers, and nothing else.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { call, type ErrorBody } from '../helpers/http.ts'
import { startServer } from '../helpers/server.ts'

const SOURCES = new URL('../../src/web/reference/', import.meta.url)
const TYPES: Readonly<Record<string, string>> = { js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' }

test('getReference answers with a page that allows nothing from elsewhere', async () => {
  await using server = await startServer()
  const { status, headers, text } = await call(server, 'GET', '/docs')
  assert.equal(status, 200)
  assert.equal(headers['content-type'], 'text/html')
  assert.match(text, /^<!doctype html>/)
  assert.doesNotMatch(text, /(src|href)="(https?:)?\/\//)
  const policy = String(headers['content-security-policy'])
  assert.match(policy, /^default-src 'none';/)
  assert.match(policy, /frame-ancestors 'none'/)
  assert.doesNotMatch(policy, /unsafe|\*|https?:/)
  assert.equal(headers['x-frame-options'], 'DENY')
})

test('getReferenceFile serves every source of the page, and every one is a file that it loads', async () => {
  await using server = await startServer()
  const names = readdirSync(SOURCES).filter((name) => name !== 'index.html')
  for (const name of [...names, 'swagger-ui-bundle.js', 'swagger-ui.css']) {
    const { status, headers, text } = await call(server, 'GET', `/docs/${name}`)
    assert.equal(status, 200, name)
    assert.equal(headers['content-type'], TYPES[name.split('.').at(-1)!], name)
    assert.match(String(headers['cache-control']), name.startsWith('swagger') ? /max-age=86400/ : /no-cache/)
    for (const [, imported] of text.matchAll(/^import .* from '\.\/(.+)'$/gm)) {
      assert.ok(names.includes(imported!), `${name} imports ${imported}`)
    }
  }
})

test('getReferenceFile reads nothing else', async () => {
  await using server = await startServer()
  const names = [
    'index.html',
    'package.json',
    'swagger-ui.js',
    '__proto__',
    'constructor',
    '..%2f..%2f..%2fpackage.json',
  ]
  for (const name of [...names, '%2e%2e%2findex.html', 'page.js%00', '%2fetc%2fpasswd']) {
    const { status, body } = await call<ErrorBody>(server, 'GET', `/docs/${name}`)
    assert.equal(status, 404, name)
    assert.equal(body.error.type, 'not_found')
  }
})

test('getOpenapiDocument and getAsyncapiDocument name the public address as their server', async () => {
  await using server = await startServer({ environment: { SVC_PUBLIC_URL: 'https://flows.example/base' } })
  const openapi = await call<{ servers: { url: string }[] }>(server, 'GET', '/openapi.json')
  assert.deepEqual(openapi.body.servers, [{ url: 'https://flows.example/base', description: 'This server.' }])
  const asyncapi = await call<{ servers: Record<string, object> }>(server, 'GET', '/asyncapi.json')
  const [place] = Object.values(asyncapi.body.servers)
  const expected = { host: 'flows.example', protocol: 'wss', pathname: '/base' }
  assert.deepEqual({ ...place, ...expected }, place)
})

test('without a public address the documents keep the default one', async () => {
  await using server = await startServer()
  const openapi = await call<{ servers: { url: string }[] }>(server, 'GET', '/openapi.json')
  assert.equal(openapi.body.servers[0]?.url, 'http://127.0.0.1:7777')
  const asyncapi = await call<{ servers: Record<string, { host: string }> }>(server, 'GET', '/asyncapi.json')
  assert.equal(Object.values(asyncapi.body.servers)[0]?.host, '127.0.0.1:7777')
})
