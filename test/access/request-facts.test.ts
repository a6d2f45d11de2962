// Facts of real requests, parsed by Node, with every malformed header, before any fact is trusted.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { RequestFacts } from '../../src/access/request-facts.ts'
import { type FactsReader, factsReader } from './kit.ts'

let reader: FactsReader
before(async () => {
  reader = await factsReader()
})
after(() => reader[Symbol.asyncDispose]())

const HOST = 'Host: localhost'
const get = (headers: readonly string[], line = 'GET /api/workflows') => reader.read(line, [HOST, ...headers])

test('a plain request has few facts', async () => {
  const expected: RequestFacts = {
    transport: 'http',
    path: '/api/workflows',
    peer: '127.0.0.1',
    own_request: false,
    own_connection: false,
    forwards: false,
    forwarded_by: null,
    forwarded_for: null,
    host: 'localhost',
    origin: null,
    local_client: null,
    token: null,
    malformed: false,
  }
  assert.deepEqual(await get([]), expected)
  // Claims of callers about themselves are not read.
  const claims = ['X-User-Id: 1', 'X-Workspace-Id: w', 'Remote-User: 1', 'Cookie: user=1']
  assert.deepEqual(await get(claims), expected)
})

describe('the path', () => {
  const paths: [string, string][] = [
    ['/', '/'],
    ['/mcp', '/mcp'],
    ['/mcp?a=/ws', '/mcp'],
    ['/mcp?', '/mcp'],
    ['/mcp/', '/mcp/'],
    ['//mcp', '//mcp'],
    ['/MCP', '/MCP'],
    ['/%6dcp', '/%6dcp'],
    ['/mcp;x', '/mcp;x'],
    ['/mcp#x', '/mcp#x'],
    ['/a/../mcp', '/a/../mcp'],
    ['/a\\mcp', '/a\\mcp'],
    ['http://localhost/mcp?x', '/mcp'],
    ['http://localhost:7777/mcp', '/mcp'],
    ['WS://localhost/ws', '/ws'],
    ['http://localhost', ''],
    ['http://localhost?/mcp', ''],
    // If the authority is not plain, nothing is cut off, so that the rest cannot pass for another route.
    ['http://user@localhost/mcp', 'http://user@localhost/mcp'],
    ['http://localhost/http://x/mcp', '/http://x/mcp'],
  ]
  for (const [target, path] of paths) {
    test(`of ${target} is ${path || 'empty'}`, async () => {
      assert.equal((await reader.read(`GET ${target}`)).path, path)
    })
  }
  test('of * is *', async () => {
    const { path, host } = await reader.read('OPTIONS *', ['Host: localhost'])
    assert.deepEqual([path, host], ['*', 'localhost'])
  })
})

describe('the host', () => {
  const hostOf = async (target: string, ...headers: string[]) => (await reader.read(`GET ${target}`, headers)).host

  test('is that of the single Host header, as it was sent', async () => {
    assert.equal(await hostOf('/', 'Host: LocalHost:7777'), 'LocalHost:7777')
    assert.equal(await hostOf('/', 'Host:'), '')
  })
  test('is null without a header, or with more than one', async () => {
    assert.equal(await hostOf('/'), null)
    assert.equal(await hostOf('/', 'Host: localhost', 'Host: localhost'), null)
    assert.equal(await hostOf('/', 'Host: localhost', 'hOST: evil.example'), null)
  })
  test('is that of an absolute target, for any header', async () => {
    assert.equal(await hostOf('http://evil.example/', 'Host: localhost'), 'evil.example')
    assert.equal(await hostOf('http://localhost:7777/x', 'Host: evil.example'), 'localhost:7777')
    assert.equal(await hostOf('http://[::1]:7777/x', 'Host: evil.example'), '[::1]:7777')
    assert.equal(await hostOf('http://localhost/x'), 'localhost')
  })
  test('is null for a target with user information', async () => {
    assert.equal(await hostOf('http://localhost@evil.example/', 'Host: localhost'), null)
    assert.equal(await hostOf('http://evil.example@localhost/', 'Host: localhost'), null)
  })
})

describe('the bearer token', () => {
  const tokenOf = async (...values: string[]) => (await get(values.map((value) => `Authorization: ${value}`))).token

  test('is the text after the scheme', async () => {
    for (const token of ['a', 'ntk_1', 'a.b-c_d~e+f/g==', 'Bearer'])
      assert.equal(await tokenOf(`Bearer ${token}`), token)
    for (const value of ['bearer x', 'BEARER x', 'Bearer   x', 'Bearer x  ']) assert.equal(await tokenOf(value), 'x')
  })
  test('is null if it is malformed, or has another scheme', async () => {
    const malformed = ['', 'Bearer', 'Bearer ', 'x', 'Bearer\tx', 'Bearer a b', 'Bearer a, b', 'Bearer a,Bearer b']
    const odd = ['Bearer =', 'Bearer a=b', 'Bearer "x"', 'Bearer a;b', 'Bearer ä', 'Bearer a:b', 'Bearerx', ' : ']
    const others = ['Basic dXNlcjpwYXNz', 'Token x', 'Digest x', 'Bearer-Token x']
    for (const value of [...malformed, ...odd, ...others]) assert.equal(await tokenOf(value), null, value)
  })
  test('is null if there are two headers, equal or not', async () => {
    assert.equal(await tokenOf('Bearer a', 'Bearer a'), null)
    assert.equal(await tokenOf('Bearer a', 'Basic b'), null)
    assert.equal(await tokenOf('Basic b', 'Bearer a'), null)
    assert.equal((await get(['Authorization: Bearer a', 'AUTHORIZATION: Bearer b'])).token, null)
  })
  test('is null if it is too long', async () => {
    const [longest, longer] = ['a'.repeat(8185), 'a'.repeat(8186)]
    assert.equal(await tokenOf(`Bearer ${longest}`), longest)
    assert.equal(await tokenOf(`Bearer ${longer}`), null)
  })
  test('is not read from queries, cookies and other headers', async () => {
    const elsewhere = ['Proxy-Authorization: Bearer x', 'Cookie: token=x', 'X-Api-Key: x']
    assert.equal((await get(elsewhere, 'GET /ws?api_key=x&access_token=x')).token, null)
  })
})

describe('the token of a socket', () => {
  const tokenOf = async (target: string, ...headers: string[]) =>
    (await reader.read(`GET ${target}`, [HOST, ...headers], 'socket')).token

  test('is api_key if there is no Authorization header', async () => {
    for (const query of ['api_key=x.y', 'a=b&api_key=x.y&c', 'api_key=%78.y']) {
      assert.equal(await tokenOf(`/ws?${query}`), 'x.y', query)
    }
    assert.equal(await tokenOf('/ws?api_key=a%2Bb%3D'), 'a+b=')
  })
  test('is that of the header if there is one, valid or not', async () => {
    assert.equal(await tokenOf('/ws?api_key=x', 'Authorization: Bearer y'), 'y')
    for (const value of ['', 'Basic y', 'Bearer', 'Bearer a b'])
      assert.equal(await tokenOf('/ws?api_key=x', `Authorization: ${value}`), null, value)
    assert.equal(await tokenOf('/ws?api_key=x', 'Authorization: Bearer y', 'Authorization: Bearer y'), null)
  })
  test('is null if api_key is empty, malformed or repeated', async () => {
    const queries = ['', 'api_key', 'api_key=', 'api_key=a&api_key=a', 'api_key=a%20b', 'api_key=a+b', 'api_key=%ff']
    for (const query of [...queries, 'API_KEY=x', 'api_key[]=x', 'api_key=a#b', `api_key=${'a'.repeat(8193)}`])
      assert.equal(await tokenOf(`/ws?${query}`), null, query.slice(0, 40))
    assert.equal(await tokenOf('/ws;api_key=x'), null)
  })
})

describe('a proxy', () => {
  const headers = [
    'Forwarded: for=127.0.0.1',
    'X-Forwarded-For: 127.0.0.1',
    'X-Forwarded-For:',
    'x-forwarded-host: localhost',
    'X-Forwarded-Proto: https',
    'X-Forwarded-Port: 443',
    'X-Forwarded-Server: proxy',
    'X-Real-IP: ::1',
    'X-Client-IP: ::1',
    'X-Cluster-Client-IP: ::1',
    'True-Client-IP: ::1',
    'CF-Connecting-IP: ::1',
    'X-Original-Host: localhost',
    'CDN-Loop: cdn',
    'Via: 1.1 proxy',
    'X-Forwarded: for=::1',
    'X-Forwarded-User: 1',
    'X-FORWARDED-ANYTHING:',
    'X-Original-URL: /',
    'X-Original-Forwarded-For: ::1',
    'X-Envoy-External-Address: ::1',
    'X-Azure-ClientIP: ::1',
    'CF-Ray: 1',
    'Fastly-Client-IP: ::1',
    'Fly-Client-IP: ::1',
    'Tailscale-User-Login: ada',
    'X-Scheme: https',
    'X-Url-Scheme: https',
    'Front-End-Https: on',
    'X-Rewrite-URL: /',
    'WL-Proxy-Client-IP: ::1',
    'Proxy-Client-IP: ::1',
    'X-Real-Port: 1',
    'X-Nginx-Proxy: true',
    'Max-Forwards: 10',
  ]
  for (const header of headers) {
    test(`is recognized by ${header}`, async () => {
      const facts = await get([header])
      assert.equal(facts.forwards, true)
      assert.equal(facts.forwarded_for, header.toLowerCase().startsWith('x-forwarded-for') ? header.slice(17) : null)
    })
  }
  test('is recognized among any number of headers', async () => {
    const many = Array.from({ length: 500 }, (_, n) => `X-${n}: 1`)
    assert.equal((await get([...many, 'Via: 1.1 proxy'])).forwards, true)
    assert.equal((await get(many)).forwards, false)
  })
  test('is not assumed for the headers of programs and browsers', async () => {
    const usual = [
      'Accept: */*',
      'Content-Type: text/plain',
      'X-Request-Id: 1',
      'X-Requested-With: x',
      'Cache-Control: no-cache',
    ]
    const near = [
      'X-Forward: 1',
      'Viable: 1',
      'XX-Real-IP: 1',
      'X-Scheme-Of: 1',
      'Flying: 1',
      'X-Svc-Local-Client: via',
      'Forwarded-By: x',
    ]
    for (const header of [...usual, ...near]) assert.equal((await get([header])).forwards, false, header)
  })
  test('is recognized by HTTP/1.0, which proxies use without forwarding headers', async () => {
    for (const transport of ['http', 'socket'] as const) {
      assert.equal((await reader.read('GET /ws', [HOST], transport, '1.0')).forwards, true)
      assert.equal((await reader.read('GET /ws', [HOST], transport, '1.1')).forwards, false)
    }
  })
  test('sends lists in several headers that are joined in order', async () => {
    const { forwarded_for } = await get(['X-Forwarded-For: 192.0.2.1', 'x-forwarded-for: 192.0.2.2,192.0.2.3'])
    assert.equal(forwarded_for, '192.0.2.1, 192.0.2.2,192.0.2.3')
  })
})

describe('the origin and the secret of the launch', () => {
  test('are kept as sent', async () => {
    const { origin, local_client } = await get(['Origin: http://LOCALHOST:1', 'X-Svc-Local-Client: a b'])
    assert.deepEqual([origin, local_client], ['http://LOCALHOST:1', 'a b'])
    assert.deepEqual([(await get(['Origin:'])).origin, (await get(['Origin: null'])).origin], ['', 'null'])
  })
  test('are unusable if repeated', async () => {
    const facts = await get(['Origin: null', 'Origin: null', 'X-Svc-Local-Client: s', 'X-Svc-Local-Client: s'])
    assert.deepEqual([facts.origin, facts.local_client], ['null, null', 's, s'])
  })
})
