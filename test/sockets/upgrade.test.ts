// Who may open a socket, seen on the wire: refusals are one bare status, and leave nothing behind.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { createConnection } from 'node:net'
import { networkInterfaces } from 'node:os'
import { after, before, describe, test } from 'node:test'
import { until } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { type Bench, startBench } from './kit.ts'

const scale = Number(process.env.SVC_TEST_SCALE ?? 1)

let bench: Bench
before(async () => {
  bench = await startBench({ config: { allowed_hosts: ['svc.example'], local_client_token: 'per-launch-secret' } })
})
after(() => bench[Symbol.asyncDispose]())

/** Sends an upgrade as bytes; gives everything that comes until the server closes, or the head of an acceptance. */
function upgrade(path: string, headers: Record<string, string> = {}, at = new URL(bench.server.url)): Promise<string> {
  const lines = Object.entries({
    Host: at.host,
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = createConnection(Number(at.port), at.hostname)
    socket.on('data', (data) => {
      text += data.toString()
      if (text.startsWith('HTTP/1.1 101')) {
        socket.destroy()
        resolve(text)
      }
    })
    socket.once('end', () => resolve(text))
    socket.once('error', reject)
    socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
  })
}

function assertBare(answer: string, status: string): void {
  const [head, ...body] = answer.split('\r\n\r\n')
  assert.equal(head?.split('\r\n')[0], `HTTP/1.1 ${status}`)
  assert.deepEqual(body, [''], 'there is no body')
}

const accepted = (answer: string) => assert.match(answer, /^HTTP\/1\.1 101 Switching Protocols\r\n/)

describe('refused upgrades', () => {
  test('a Host that names something else: 401', async () => {
    for (const Host of ['evil.example', 'localhost.evil.example', '', 'a b', '127.0.0.1.evil.example:7777']) {
      assertBare(await upgrade('/ws', { Host }), '401 Unauthorized')
    }
    for (const Host of ['localhost', 'app.localhost:7777', '127.0.0.1', '[::1]:7777', 'svc.example', '192.0.2.7']) {
      accepted(await upgrade('/ws', { Host }))
    }
  })

  test('an Origin that is not trusted: 401', async () => {
    for (const Origin of ['null', 'https://evil.example', 'http://localhost.evil.example', 'http://localhost:1/path']) {
      assertBare(await upgrade('/ws', { Origin }), '401 Unauthorized')
    }
    const own = bench.server.url
    for (const Origin of [own, 'http://localhost:5173', 'file://', 'chrome-extension://abc', 'http://[::1]:3000']) {
      accepted(await upgrade('/ws', { Origin }))
    }
  })

  test('Origin: null with the per-launch secret of the desktop window is let in; with another it is 401', async () => {
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
    assertBare(await upgrade('/ws', {}, url), '401 Unauthorized')
  })

  test('an unknown path and the planned sockets: 404, after authentication', async () => {
    for (const path of ['/ws/agent', '/ws/extension', '/ws/download', '/ws/', '/wsx', '/', '/api/workflows', '/WS']) {
      assertBare(await upgrade(path), '404 Not Found')
      assertBare(await upgrade(path, { Host: 'evil.example' }), '401 Unauthorized')
    }
    accepted(await upgrade('/ws?api_key=ignored'))
  })

  test('a request that offers another protocol is a plain request', async () => {
    const answer = await upgrade('/ready', { Upgrade: 'h2c', Connection: 'Upgrade, close' })
    assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/)
    const walled = await upgrade('/api/workflows', {
      Upgrade: 'h2c',
      Connection: 'Upgrade, close',
      Host: 'evil.example',
    })
    assert.match(walled, /^HTTP\/1\.1 401 /)
  })

  test('a handshake that is none is an HTTP error, and the server goes on', async () => {
    for (const [name, value] of [
      ['Sec-WebSocket-Version', '7'],
      ['Sec-WebSocket-Key', 'short'],
    ] as const) {
      assert.match(await upgrade('/ws', { [name]: value }), /^HTTP\/1\.1 4\d\d /)
    }
    await using client = await connect(bench.server)
    await client.settled()
  })

  test('thousands of them leave no descriptor behind', { skip: !descriptors() && 'no /proc' }, async () => {
    for (let at = 0; at < 20; at++) await upgrade('/ws', { Host: 'evil.example' })
    const before = descriptors()
    for (let at = 0; at < 2_000 * scale; at += 50) {
      const path = at % 100 === 0 ? '/ws' : '/ws/agent'
      const headers: Record<string, string> = at % 100 === 0 ? { Host: 'evil.example' } : {}
      await Promise.all(Array.from({ length: 50 }, () => upgrade(path, headers)))
    }
    await until('the descriptors', () => descriptors() <= before)
  })
})

/** How many files and sockets this process, client and server, holds open. */
function descriptors(): number {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return 0
  }
}
