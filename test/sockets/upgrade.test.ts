// Authentication of upgrades on the wire: a refusal is only a status, and leaves nothing behind.
import assert from 'node:assert/strict'
import { networkInterfaces } from 'node:os'
import { after, before, describe, test } from 'node:test'
import { admitPrincipal } from '../../src/access/auth-verdict.ts'
import { LOCAL_PRINCIPAL } from '../../src/access/principal.ts'
import { createLog } from '../../src/log.ts'
import { startServer } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { type Bench, startBench } from './kit.ts'
import { accepted, assertBare, gatewayWith, type Handshake, upgrade as upgradeAt } from './raw.ts'

let bench: Bench
before(async () => {
  bench = await startBench({ config: { allowed_hosts: ['svc.example'], local_client_token: 'per-launch-secret' } })
})
after(() => bench[Symbol.asyncDispose]())

const upgrade = (path: string, headers: Handshake['headers'] = {}, method = 'GET') =>
  upgradeAt(bench.server.url, path, { method, headers })

describe('refused upgrades', () => {
  test('a foreign Host: 401', async () => {
    for (const Host of ['evil.example', 'localhost.evil.example', '', 'a b', '127.0.0.1.evil.example:7777']) {
      assertBare(await upgrade('/ws', { Host }), '401 Unauthorized')
    }
    for (const Host of ['localhost', 'app.localhost:7777', '127.0.0.1', '[::1]:7777', 'svc.example', '192.0.2.7']) {
      accepted(await upgrade('/ws', { Host }))
    }
  })

  test('an untrusted Origin: 401', async () => {
    for (const Origin of ['null', 'https://evil.example', 'http://localhost.evil.example', 'http://localhost:1/path']) {
      assertBare(await upgrade('/ws', { Origin }), '401 Unauthorized')
    }
    const own = bench.server.url
    for (const Origin of [own, 'http://localhost:5173', 'file://', 'chrome-extension://abc', 'http://[::1]:3000']) {
      accepted(await upgrade('/ws', { Origin }))
    }
  })

  test('Origin: null with the per-launch secret of the desktop window is accepted; with another secret: 401', async () => {
    accepted(await upgrade('/ws', { Origin: 'null', 'X-Svc-Local-Client': 'per-launch-secret' }))
    assertBare(await upgrade('/ws', { Origin: 'null', 'X-Svc-Local-Client': 'per-launch-secres' }), '401 Unauthorized')
  })

  test('forwarding headers: 401', async () => {
    for (const name of ['Forwarded', 'X-Forwarded-For', 'X-Forwarded-Host', 'X-Forwarded-Proto', 'X-Real-IP']) {
      assertBare(await upgrade('/ws', { [name]: '127.0.0.1' }), '401 Unauthorized')
    }
  })

  const own = Object.values(networkInterfaces())
    .flat()
    .find((address) => address && !address.internal && address.family === 'IPv4')

  test('a peer that is not loopback: 401', { skip: own === undefined && 'there is loopback only' }, async () => {
    await using open = await startBench({ config: { host: '0.0.0.0' } })
    const url = new URL(open.server.url)
    url.hostname = own!.address
    assertBare(await upgradeAt(url, '/ws'), '401 Unauthorized')
  })

  test('anything but exactly /ws: 404, after authentication', async () => {
    const variants = [
      '/ws/',
      '/WS',
      '/Ws',
      '//ws',
      '/ws//',
      '/ws%2f',
      '/%77s',
      '/ws;a=b',
      '/./ws',
      '/ws/../ws',
      '/ws#a',
      '/wsx',
    ]
    for (const path of [
      '/ws/agent',
      '/ws/extension',
      '/ws/download/',
      ...variants,
      '/',
      '*',
      '/api/workflows',
      '/mcp',
    ]) {
      assertBare(await upgrade(path), '404 Not Found')
      assertBare(await upgrade(path, { Host: 'evil.example' }), '401 Unauthorized')
    }
    accepted(await upgrade('/ws?api_key=ignored'))
    accepted(await upgrade('/ws/download'))
    accepted(await upgrade('http://localhost/ws'))
    assertBare(await upgrade('http://evil.example/ws'), '401 Unauthorized')
  })

  test('a request for another protocol is a plain request', async () => {
    const answer = await upgrade('/ready', { Upgrade: 'h2c', Connection: 'Upgrade, close' })
    assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/)
    const walled = await upgrade('/api/workflows', {
      Upgrade: 'h2c',
      Connection: 'Upgrade, close',
      Host: 'evil.example',
    })
    assert.match(walled, /^HTTP\/1\.1 401 /)
  })

  test('a malformed handshake: 400 with the supported version, and the server keeps running', async () => {
    const broken: [Handshake['headers'], readonly string[]][] = [
      [{ 'Sec-WebSocket-Version': '7' }, ['Sec-WebSocket-Version: 13']],
      [{ 'Sec-WebSocket-Version': '8' }, ['Sec-WebSocket-Version: 13']],
      [{ 'Sec-WebSocket-Version': '8', 'Sec-WebSocket-Origin': 'http://localhost' }, ['Sec-WebSocket-Version: 13']],
      [{ 'Sec-WebSocket-Version': '13.0' }, ['Sec-WebSocket-Version: 13']],
      [{ 'Sec-WebSocket-Version': '13, 8' }, ['Sec-WebSocket-Version: 13']],
      [{ 'Sec-WebSocket-Version': null }, ['Sec-WebSocket-Version: 13']],
      [{ 'Sec-WebSocket-Key': 'short' }, []],
      [{ 'Sec-WebSocket-Key': null }, []],
      [{ 'Sec-WebSocket-Protocol': 'a,,b' }, []],
    ]
    for (const [headers, more] of broken) assertBare(await upgrade('/ws', headers), '400 Bad Request', more)
    assertBare(await upgrade('/ws', { 'Content-Length': '0' }, 'POST'), '400 Bad Request')
    assertBare(await upgrade('/ws', { 'Sec-WebSocket-Key': 'short', Host: 'evil.example' }), '401 Unauthorized')
    assertBare(await upgrade('/ws', { 'Sec-WebSocket-Version': '8', Host: 'evil.example' }), '401 Unauthorized')
    await using client = await connect(bench.server)
    await client.settled()
  })

  test('of HTTP/1.0, or with a body: never accepted', async () => {
    await using open = await gatewayWith(bench.server.context, () => admitPrincipal(LOCAL_PRINCIPAL))
    accepted(await upgradeAt(open.url, '/ws'))
    assertBare(await upgradeAt(open.url, '/ws', { version: '1.0' }), '400 Bad Request')
    const bodies: [Handshake['headers'], string][] = [
      [{ 'Content-Length': '5' }, 'hello'],
      [{ 'Transfer-Encoding': 'chunked' }, '5\r\nhello\r\n0\r\n\r\n'],
    ]
    for (const [headers, body] of bodies) {
      assertBare(await upgradeAt(bench.server.url, '/ws', { headers }, body), '400 Bad Request')
    }
    accepted(await upgrade('/ws', { 'Content-Length': '0' }))
  })

  test('tokens that are not valid on a socket: 401; a malformed token counts as none', async () => {
    const { mcp, signed } = bench.server.context.access.tokens
    const { token } = await mcp.issue(LOCAL_PRINCIPAL, { client_id: 'c', scopes: ['read', 'write'] })
    const session = signed.issueAppSession({ app_id: 'a', visitor_id: 'v', workspace_id: null })
    for (const key of [token, 'nta_', 'nda_', 'nda_a.b', `${session}x`, session.replace('nda_', 'nta_')]) {
      assertBare(await upgrade('/ws', { Authorization: `Bearer ${key}` }), '401 Unauthorized')
      assertBare(await upgrade(`/ws?api_key=${key}`), '401 Unauthorized')
    }
    accepted(await upgrade('/ws', { Authorization: `Bearer ${session}` }))
    accepted(await upgrade(`/ws?api_key=${session}`))
    // The query counts only if the header is absent.
    assertBare(await upgrade(`/ws?api_key=${session}`, { Authorization: `Bearer ${token}` }), '401 Unauthorized')
    accepted(await upgrade(`/ws?api_key=${token}`, { Authorization: `Bearer ${session}` }))
  })

  test('the answer arrives even if the client has sent more than the handshake', async () => {
    const answer = await upgradeAt(bench.server.url, '/ws/agent', {}, 'x'.repeat(100_000))
    assertBare(answer, '404 Not Found')
  })
})

test('upgrades count with requests for the rate limit, before authentication: 429', async () => {
  await using server = await startServer({
    config: { rate_limit_max: 3, rate_limit_trust_proxy: true },
  })
  const from = (address: string) => upgradeAt(server.url, '/ws', { headers: { 'X-Forwarded-For': address } })
  for (let at = 0; at < 3; at++) assertBare(await from('203.0.113.7'), '401 Unauthorized')
  const [head = '', retry = '', ...rest] = (await from('203.0.113.7')).split(/(?=Retry-After: )/)
  assert.equal(head, 'HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\nContent-Length: 0\r\n')
  assert.match(retry, /^Retry-After: ([1-9]|[1-5]\d|60)\r\n\r\n$/)
  assert.deepEqual(rest, [])
  assertBare(await from('203.0.113.8'), '401 Unauthorized')
  for (let at = 0; at < 5; at++) accepted(await upgradeAt(server.url, '/ws'))
})

test('a key in the query is never logged, for any outcome of the upgrade', async () => {
  const lines: string[] = []
  const log = createLog('trace', undefined, { write: (line) => lines.push(line) })
  await using server = await startServer({ log })
  const keys = ['plainkeyplainkey', 'ntk_unknownunknown', 'nta_unknownunknown', 'nda_unknownunknown']
  const handshakes: readonly Handshake[] = [
    {},
    { headers: { Host: 'evil.example' } },
    { headers: { 'Sec-WebSocket-Key': 'short' } },
    { headers: { Authorization: 'Basic eHl6enk6eHl6enk=' } },
    { method: 'POST' },
  ]
  for (const key of keys) {
    for (const path of ['/ws', '/ws/agent']) {
      for (const one of handshakes) await upgradeAt(server.url, `${path}?api_key=${key}`, one)
    }
  }
  await using broken = await gatewayWith(server.context, () => {
    throw new Error('the gate is broken')
  })
  assertBare(await upgradeAt(broken.url, '/ws?api_key=plainkeyplainkey'), '500 Internal Server Error')
  const text = lines.join('')
  assert.match(text, /"audit":"refused"/)
  assert.match(text, /the gate is broken/)
  assert.doesNotMatch(text, /api_key|plainkey|unknownunknown|eHl6enk/)
})
