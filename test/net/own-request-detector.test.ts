// Which requests are known as those of this process: by the two ends of their connection in any spelling, while it is open, or by the mark.
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { describe, test } from 'node:test'
import { GuardedFetch } from '../../src/net/outgoing/guarded-fetch.ts'
import { createOutgoingHttpClient } from '../../src/net/outgoing/http-client.ts'
import { canonicalizeIpAddress, OwnRequestDetector } from '../../src/net/own-request-detector.ts'
import { UpstreamClient } from '../../src/net/upstream/client.ts'
import { httpServer, request } from './servers.ts'

const HOST = '127.0.0.1'

/** A socket of which these ends are known, as the side that connected sees them. */
function socketFrom([localAddress, localPort]: [string, number], [remoteAddress, remotePort]: [string, number]) {
  return Object.assign(new EventEmitter(), { localAddress, localPort, remoteAddress, remotePort }) as unknown as Socket
}

/** A request on a connection with these ends, as the side that was connected to sees them. */
function requestAt([remoteAddress, remotePort]: [string, number], [localAddress, localPort]: [string, number]) {
  return { headers: {}, socket: { remoteAddress, remotePort, localAddress, localPort } }
}

describe('an address in its one spelling', () => {
  const spellings: [string, string][] = [
    ['127.0.0.1', '127.0.0.1'],
    ['::ffff:127.0.0.1', '127.0.0.1'],
    ['::FFFF:127.0.0.1', '127.0.0.1'],
    ['::ffff:7f00:1', '127.0.0.1'],
    ['0:0:0:0:0:ffff:7f00:0001', '127.0.0.1'],
    ['::1', '::1'],
    ['0:0:0:0:0:0:0:1', '::1'],
    ['::127.0.0.1', '::7f00:1'],
    ['2600:1F00:0::5', '2600:1f00::5'],
    ['fe80::1%eth0', 'fe80::1'],
    ['no address', 'no address'],
  ]
  for (const [text, expected] of spellings)
    test(`${text} is ${expected}`, () => assert.equal(canonicalizeIpAddress(text), expected))
})

describe('a request on a connection', () => {
  test('of this process is known, however its two ends are written', () => {
    const ends: [string, string, string, string][] = [
      [HOST, HOST, HOST, HOST],
      [HOST, HOST, `::ffff:${HOST}`, `::ffff:${HOST}`],
      [`::ffff:${HOST}`, `::ffff:${HOST}`, HOST, HOST],
      [HOST, '127.0.0.2', HOST, '::ffff:127.0.0.2'],
      ['::1', '::1', '0:0:0:0:0:0:0:1', '::1'],
      ['fe80::1%eth0', 'fe80::1%eth0', 'fe80::1', 'fe80::1%2'],
    ]
    for (const [from, to, seen_from, seen_to] of ends) {
      const own = new OwnRequestDetector('mark')
      own.trackConnection(socketFrom([from, 40_000], [to, 7777]))
      assert.equal(own.isOwnRequest(requestAt([seen_from, 40_000], [seen_to, 7777])), true, `${from} ${seen_from}`)
    }
  })

  test('of another process is not, also where the system gave it the same address and port to go elsewhere', () => {
    const own = new OwnRequestDetector('mark')
    own.trackConnection(socketFrom([HOST, 40_000], [HOST, 11_434]))
    own.trackConnection(socketFrom([HOST, 40_000], ['127.0.0.9', 7777]))
    own.trackConnection(socketFrom(['192.0.2.1', 40_000], [HOST, 7777]))
    own.trackConnection(socketFrom([HOST, 40_001], [HOST, 7777]))
    assert.equal(own.isOwnRequest(requestAt([HOST, 40_000], [HOST, 7777])), false)
  })

  test('is known until that connection closes, and no other with the same port', () => {
    const own = new OwnRequestDetector('mark')
    const [here, elsewhere] = [socketFrom([HOST, 40_000], [HOST, 7777]), socketFrom([HOST, 40_000], [HOST, 7778])]
    own.trackConnection(here)
    own.trackConnection(elsewhere)
    const request = requestAt([HOST, 40_000], [HOST, 7777])
    elsewhere.emit('close')
    assert.equal(own.isOwnRequest(request), true)
    here.emit('close')
    assert.equal(own.isOwnRequest(request), false)
  })

  test('that has no ends any more is known to nobody', () => {
    const own = new OwnRequestDetector('mark')
    own.trackConnection(Object.assign(new EventEmitter(), {}) as unknown as Socket)
    own.trackConnection(socketFrom([HOST, 40_000], [HOST, 7777]))
    assert.equal(own.isOwnRequest({ headers: {}, socket: {} }), false)
    assert.equal(own.isOwnRequest({ headers: {}, socket: { remotePort: 40_000 } }), false)
  })

  test('is known on both families of a port that listens on both', async () => {
    const own = new OwnRequestDetector('mark')
    const seen: boolean[] = []
    const server = createServer((request, response) => {
      seen.push(own.isOwnRequest(request))
      response.end()
    })
    await new Promise<void>((resolve) => server.listen(0, '::', resolve))
    const { port } = server.address() as AddressInfo
    for (const host of [HOST, '127.0.0.2', '::1'])
      for (const known of [true, false])
        await new Promise((resolve, reject) => {
          const socket = connect(port, host, () => {
            if (known) own.trackConnection(socket)
            socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
          })
          socket.on('error', reject).on('close', resolve).resume()
        })
    await new Promise((resolve) => server.close(resolve))
    assert.deepEqual(seen, [true, false, true, false, true, false])
  })
})

describe('a client that users steer', () => {
  const SENT = 8
  const own = new OwnRequestDetector('mark')
  const { signal } = new AbortController()
  const clients: Record<string, (origin: string) => Promise<void>> = {
    async nodes(origin) {
      await using http = createOutgoingHttpClient({ allow: [HOST], own })
      for (let i = 0; i < SENT; i++) await http.send(request(`${origin}/`, { headers: { 'X-Svc-Sender': 'mine' } }))
    },
    async downloads(origin) {
      await using client = new GuardedFetch({ allow: [], origin, own })
      for (let i = 0; i < SENT; i++) {
        const { body } = await client.get({ url: `${origin}/`, headers: {}, secrets: [], signal })
        for await (const _ of body);
      }
    },
    async models(origin) {
      await using client = new UpstreamClient({}, own)
      for (let i = 0; i < SENT; i++) {
        const { body } = await client.send({ method: 'GET', origin, path: '/', headers: {}, signal })
        for await (const _ of body);
      }
    },
  }
  for (const [name, send] of Object.entries(clients))
    test(`has its connections known, on which it sends several requests: ${name}`, async () => {
      const seen: boolean[] = []
      await using server = await httpServer(({ socket }, response) => {
        seen.push(own.isOwnRequest({ headers: {}, socket }))
        response.end('x')
      })
      await send(server.url)
      assert.deepEqual(seen, new Array(SENT).fill(true))
      assert.ok(server.connections < SENT, `${server.connections} connections`)
    })

  test('marks what it sends, also where the user gives a header of that name', async () => {
    const seen: unknown[] = []
    await using server = await httpServer(({ headers }, response) => {
      seen.push(headers['x-svc-sender'])
      response.end('x')
    })
    await clients.nodes!(server.url)
    await clients.downloads!(server.url)
    assert.deepEqual(seen, new Array(2 * SENT).fill('mark'))
  })
})

describe('the mark', () => {
  test('makes a request known from wherever it comes, and that of another process does not', () => {
    const own = new OwnRequestDetector('mark')
    const { socket } = requestAt(['172.17.0.1', 40_000], ['172.17.0.2', 7777])
    assert.equal(own.isOwnRequest({ headers: { ...own.markHeaders }, socket }), true)
    assert.equal(own.isOwnRequest({ headers: { ...new OwnRequestDetector('another').markHeaders }, socket }), false)
  })
})
