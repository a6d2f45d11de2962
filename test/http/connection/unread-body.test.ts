// Bodies that no handler reads: the client gets the answer, and the server soon stops reading.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { call } from '../../helpers/http.ts'
import { startServer, type TestServer, until } from '../../helpers/server.ts'
import { greeting } from '../kit.ts'
import { type Peer, peer } from '../peer.ts'

const MIB = 1024 * 1024
const CHUNKED = 'Transfer-Encoding: chunked'

function head(asked: string, ...more: string[]): string {
  return [`${asked} HTTP/1.1`, 'Host: localhost', 'Content-Type: application/json', ...more, '', ''].join('\r\n')
}

/** Sends pieces as fast as they are read, until it is cut off. Returns the number of sent bytes. */
async function flood({ socket, closed }: Peer, piece: string): Promise<number> {
  const leaves = new AbortController()
  socket.once('close', () => leaves.abort())
  while (!closed()) {
    const taken = socket.write(piece)
    const next = taken ? new Promise<void>((resolve) => setImmediate(resolve)) : once(socket, 'drain', leaves)
    await Promise.resolve(next).catch(() => {})
    assert.ok(socket.bytesWritten < 64 * MIB, 'is listened to all the time')
  }
  return socket.bytesWritten
}

/** Sends the whole body before it reads. */
async function sendFirst(server: TestServer, request: string, body: string): Promise<string> {
  using client = await peer(server)
  client.socket.pause()
  await new Promise((resolve) => client.socket.write(request + body, resolve))
  client.socket.resume()
  await until('its end', client.closed)
  return client.text()
}

/** A remote caller at its rate limit. */
async function startLimited(): Promise<TestServer> {
  const server = await startServer({ environment: { SVC_RATE_LIMIT_TRUST_PROXY: '1', SVC_RATE_LIMIT_MAX: '1' } })
  await call(server, 'GET', '/health', { headers: { 'X-Forwarded-For': '203.0.113.7' } })
  return server
}

const ELSEWHERE = 'X-Forwarded-For: 203.0.113.7'
const EARLY: readonly [status: number, asked: string, ...headers: string[]][] = [
  [401, 'POST /api/workflows', ELSEWHERE],
  [401, 'POST /api/workflows', ELSEWHERE, 'Expect: nothing-known'],
  [404, 'POST /nowhere'],
  [405, 'POST /health'],
  [405, 'DELETE /health'],
  [200, 'GET /health'],
  [204, 'OPTIONS /health'],
]

describe('a body that no handler reads', () => {
  test('is cut off, in pieces of any size', async () => {
    await using server = await startServer()
    const pieces = [`10000\r\n${'x'.repeat(65_536)}\r\n`, '1\r\nx\r\n'.repeat(10_000)]
    for (const [status, asked, ...headers] of EARLY) {
      for (const piece of pieces) {
        using client = await peer(server, head(asked, CHUNKED, ...headers))
        const sent = await flood(client, piece)
        assert.ok(sent < 32 * MIB, `${asked}: ${sent}`)
        assert.match(client.text(), new RegExp(`^HTTP/1.1 ${status} .*\r\nConnection: close\r\n`, 's'), asked)
      }
    }
    assert.equal((await call(server, 'GET', '/health')).status, 200)
  })

  test('is not waited for', async () => {
    await using server = await startServer()
    for (const length of [CHUNKED, `Content-Length: ${MIB}`]) {
      using silent = await peer(server, head('POST /nowhere', length))
      await until('its end', silent.closed)
      assert.match(silent.text(), /^HTTP\/1\.1 404 .*\r\nConnection: close\r\n.*\}$/s)
    }
  })

  test('of 1 MiB does not prevent the answer, even for a client that reads only after sending all', async () => {
    await using server = await startServer({ environment: { SVC_MAX_BODY_BYTES: '2048' } })
    await using limited = await startLimited()
    const cases: [TestServer, number, string, ...string[]][] = [
      [server, 401, 'POST /api/workflows', ELSEWHERE],
      [server, 404, 'PUT /nowhere'],
      [server, 405, 'POST /health'],
      [server, 413, 'POST /api/workflows'],
      [limited, 429, 'POST /api/workflows', ELSEWHERE],
      [server, 200, 'GET /api/workflows'],
    ]
    const body = 'x'.repeat(MIB)
    for (const [at, status, asked, ...more] of cases) {
      const whole = new RegExp(`^HTTP/1.1 ${status} .*\r\nConnection: close\r\n.*[}\\]]$`, 's')
      assert.match(await sendFirst(at, head(asked, `Content-Length: ${MIB}`, ...more), body), whole, asked)
      const chunked = `${MIB.toString(16)}\r\n${body}\r\n0\r\n\r\n`
      assert.match(await sendFirst(at, head(asked, CHUNKED, ...more), chunked), whole, asked)
    }
  })

  test('REQUEST_TOO_LARGE: is refused at the first byte beyond the limit, not at the last', async () => {
    await using server = await startServer({ environment: { SVC_MAX_BODY_BYTES: '2048' } })
    using announced = await peer(server, head('POST /api/workflows', 'Content-Length: 2049'))
    using chunked = await peer(server, `${head('POST /api/workflows', CHUNKED)}801\r\n${'x'.repeat(2049)}\r\n`)
    for (const one of [announced, chunked]) await until('the answer', () => one.text().startsWith('HTTP/1.1 413 '))
    await flood(chunked, `10000\r\n${'x'.repeat(65_536)}\r\n`)
  })
})

describe('a connection stays open', () => {
  /** Sends the same request twice on a connection. */
  async function twice(server: TestServer, request: string, status: number): Promise<void> {
    using client = await peer(server, request)
    for (const answers of [1, 2]) {
      await until('an answer', () => client.text().split(`HTTP/1.1 ${status} `).length === answers + 1)
      assert.doesNotMatch(client.text(), /Connection: close/)
      if (answers === 1) client.socket.write(request)
    }
  }

  test('if a request without a body, or with a short one, is refused', async () => {
    await using server = await startServer()
    const short = 'x'.repeat(1_000)
    for (const [status, asked, ...more] of [
      [401, 'GET /api/workflows', ELSEWHERE],
      [404, 'GET /nowhere'],
      [405, 'DELETE /health'],
    ] as const) {
      await twice(server, head(asked, ...more), status)
      await twice(server, head(asked, `Content-Length: ${short.length}`, ...more) + short, status)
    }
  })

  test('if a long body is read, announced or not', async () => {
    await using server = await startServer()
    const body = `${JSON.stringify(greeting())}${' '.repeat(200_000)}`
    await twice(server, head('POST /api/workflows', `Content-Length: ${body.length}`) + body, 201)
    const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
    await twice(server, head('POST /api/workflows', CHUNKED) + chunks, 201)
  })
})
