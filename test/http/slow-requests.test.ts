// Clients that are slow, send too much too early, or never disconnect.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { call } from '../helpers/http.ts'
import { withMoreTime } from '../helpers/patience.ts'
import { recordErrorCode } from '../helpers/reached.ts'
import { startServer, type TestServer, until } from '../helpers/server.ts'
import { created, edge, gate, node } from './kit.ts'
import { type Peer, peer } from './peer.ts'

const HASTY = { head_ms: 300, request_ms: 600, idle_ms: 400, check_ms: 50 }

/** Sends byte after byte until it is cut off. */
function dribble({ socket }: Peer, byte: string): void {
  const timer = setInterval(() => socket.write(byte), 25)
  socket.once('close', () => clearInterval(timer))
}

const HEAD = 'GET /health HTTP/1.1\r\nHost: localhost\r\n'

function post(server: TestServer, path: string, length: number): Promise<Peer> {
  return peer(
    server,
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`,
  )
}

/** Waits until a client was too slow: longer than a whole request may take. */
async function outlast(server: TestServer): Promise<void> {
  using slow = await post(server, '/api/workflows', 1_000)
  dribble(slow, ' ')
  await until('a slow request that is cut off', slow.closed)
}

describe('a request that takes too long to arrive', () => {
  test('REQUEST_TIMEOUT: it delays no other client, and 200 clients that send a byte now and then are cut off in time', async () => {
    await using server = await startServer({ listener: HASTY })
    const slow = await Promise.all(Array.from({ length: 200 }, () => peer(server, HEAD)))
    try {
      for (const one of slow) dribble(one, 'x')
      let served = 0
      await until('the end of all of them', async () => {
        const { status } = await call(server, 'GET', '/health')
        assert.equal(status, 200)
        served++
        return slow.every(({ closed }) => closed())
      })
      assert.ok(served > 1)
      for (const { text } of slow) {
        assert.match(
          text(),
          /^HTTP\/1\.1 408 Request Timeout\r\nConnection: close\r\n.*"type":"request_timeout","code":408\}\}$/s,
        )
        recordErrorCode(JSON.parse(text().split('\r\n\r\n')[1]!))
      }
    } finally {
      for (const { socket } of slow) socket.destroy()
    }
  })

  test('because of its body is answered with 408, and has no effect', async () => {
    await using server = await startServer({ listener: HASTY })
    using slow = await post(server, '/api/workflows', 1_000)
    slow.socket.write('{"name": "Half"')
    dribble(slow, ' ')
    await until('its end', slow.closed)
    assert.match(slow.text(), /^HTTP\/1\.1 408 /)
    assert.deepEqual((await call(server, 'GET', '/api/workflows')).body, [])
  })

  test('is answered in time if it belongs to the lifecycle profile, and other requests have their own time', async () => {
    await using server = await startServer({ sdk_body_ms: 200 })
    const body = '{"name":"Later","graph":{"nodes":[],"edges":[]}}'
    using other = await post(server, '/api/workflows', body.length)
    const type = 'Host: localhost\r\nContent-Type: application/json\r\n'
    const lengths = ['Content-Length: 1000', 'Content-Length: 100000', 'Transfer-Encoding: chunked']
    for (const length of lengths) {
      using slow = await peer(server, `POST /api/sdk/v1/preflight HTTP/1.1\r\n${type}${length}\r\n\r\n`)
      slow.socket.write('1\r\n{\r\n')
      if (!length.startsWith('T')) dribble(slow, ' ')
      await until('its end', slow.closed)
      assert.match(slow.text(), /^HTTP\/1\.1 400 .*\r\nConnection: close\r\n/s)
      assert.match(slow.text(), /"problems":\[{"path":"\/body","message":"The body was not received in time\."}\]/)
      assert.match(slow.text(), /"code":"INVALID_REQUEST"/)
      assert.equal(slow.text().split('HTTP/1.1').length, 2)
    }
    other.socket.write(body)
    await until('the answer to the other', () => other.text() !== '')
    assert.match(other.text(), /^HTTP\/1\.1 201 /)
    assert.equal((await call(server, 'POST', '/api/sdk/v1/preflight', { body: {} })).status, 400)
  })

  test('after its refusal does not keep the connection open', async () => {
    await using server = await startServer({ listener: HASTY })
    using slow = await post(server, '/nowhere', 1_000)
    dribble(slow, ' ')
    await until('its end', slow.closed)
    assert.match(slow.text(), /^HTTP\/1\.1 404 /)
  })

  test('is treated like a silent connection, which is closed', async () => {
    await using server = await startServer({ listener: HASTY })
    using silent = await peer(server)
    await until('its end', silent.closed)
  })

  test('is treated like an idle connection, which is closed after a while', () =>
    withMoreTime(HASTY.idle_ms, async (idle_ms) => {
      await using server = await startServer({ listener: { ...HASTY, idle_ms } })
      using done = await peer(server, `${HEAD}\r\n`)
      await until('the answer', () => done.text().includes('"status"'))
      done.socket.write(`${HEAD}\r\n`)
      await until('the second answer', () => done.text().split('HTTP/1.1 200').length === 3 || done.closed())
      assert.equal(done.text().split('HTTP/1.1 200').length, 3)
      assert.match(done.text(), /Keep-Alive: timeout=/)
      await until('its end', done.closed)
    }))
})

describe('a response that takes long', () => {
  const waiting = {
    name: 'Waiting',
    graph: {
      nodes: [node('gate', 'test.Gate', { value: 'done' }), node('out', 'output.Output', { name: 'result' })],
      edges: [edge('gate.output', 'out.value')],
    },
  }

  test('is waited for', async () => {
    const { registry, open } = gate()
    await using server = await startServer({ listener: HASTY, registry })
    const { id } = await created(server, waiting)
    const run = call<{ status: string }>(server, 'POST', `/api/workflows/${id}/run`, { body: {} })
    await outlast(server)
    open()
    assert.equal((await run).body.status, 'completed')
  })

  test('is not cut while it streams, even if it is silent', async () => {
    const { registry, open } = gate()
    await using server = await startServer({ listener: HASTY, registry })
    const { id } = await created(server, waiting)
    const { body } = await call<{ job_id: string }>(server, 'POST', `/api/workflows/${id}/run`, {
      body: { background: true },
    })
    using follower = await peer(server, `GET /api/jobs/${body.job_id}/events HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    await until('the stream', () => follower.text().includes('retry:'))
    await outlast(server)
    assert.ok(!follower.closed())
    open()
    await until('the last event', () => follower.text().includes('event: job_terminal'))
  })
})

describe('the head of a request', () => {
  test('of more than 16 KiB is answered with 431', async () => {
    await using server = await startServer()
    using large = await peer(server, `${HEAD}X-Large: ${'x'.repeat(16_384)}\r\n\r\n`)
    await until('its end', large.closed)
    assert.match(large.text(), /^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/)
  })

  test('is read to its end for any number of lines, including those that a proxy appends', async () => {
    await using server = await startServer()
    const many = Array.from({ length: 2_500 }, () => 'a:\r\n').join('')
    const ask = (more: string) =>
      peer(server, `GET /api/workflows HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${many}${more}\r\n`)
    using local = await ask('')
    using forwarded = await ask('X-Forwarded-For: 203.0.113.7\r\n')
    await until('both answers', () => local.closed() && forwarded.closed())
    assert.match(local.text(), /^HTTP\/1\.1 200 /)
    assert.match(forwarded.text(), /^HTTP\/1\.1 401 /)
  })
})
