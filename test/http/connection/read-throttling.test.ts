// Packets of thousands of requests are parsed in small slices per turn, and arrive complete and in order.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { WebSocketServer } from 'ws'
import { coalesceChunks } from '../../../src/http/connection/chunk-coalescing.ts'
import { throttleReads } from '../../../src/http/connection/read-throttling.ts'
import { inMostRounds } from '../../helpers/patience.ts'

interface Begun {
  readonly server: Server
  readonly client: Socket
}

/** A server with throttled reads, while `use` uses one of its connections. */
async function serving(listener: RequestListener, use: (begun: Begun) => Promise<void>): Promise<void> {
  const server = createServer(listener)
  throttleReads(server)
  coalesceChunks(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  try {
    await once(server, 'connection')
    await use({ server, client })
  } finally {
    client.destroy()
    server.close()
  }
}

/** The same during a flood. */
const servingInFlood: typeof serving = async (listener, use) => {
  let came = 0
  const count: RequestListener = (_request, response) => {
    came++
    response.end()
  }
  await serving(count, async ({ client }) => {
    client.resume().write(REQUEST.repeat(IN_PACKET))
    while (came < IN_PACKET) await turn()
  })
  await serving(listener, use)
}

/** Milliseconds of work on each request: for a packet of requests it takes long. */
const WORK_MS = 0.05
const REQUEST = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}'
/** Requests of a single read. */
const PACKET = 65_536
const IN_PACKET = Math.ceil(PACKET / REQUEST.length)
const COUNT = 12_000

/** The share of reading, and a further slice, in requests of that work, with tolerance for a slow machine. */
const MOST_REQUESTS = 400

function counting() {
  const all = { answered: 0 }
  const listener: RequestListener = (_request, response) => {
    for (const until = performance.now() + WORK_MS; performance.now() < until; );
    all.answered++
    response.end()
  }
  return { all, listener }
}

/** The most requests in a turn, until so many were answered. */
async function mostInTurn(all: { readonly answered: number }, count: number): Promise<number> {
  let most = 0
  for (let before = all.answered; all.answered < count; before = all.answered) {
    await turn()
    most = Math.max(most, all.answered - before)
  }
  return most
}

test('of thousands of requests on a connection, a turn takes a few hundred after the first packet, though answers make Node read on', () =>
  inMostRounds(async () => {
    const { all, listener } = counting()
    await serving(listener, async ({ client }) => {
      client.resume().write(REQUEST.repeat(COUNT))
      assert.ok((await mostInTurn(all, 1)) <= IN_PACKET)
      const most = await mostInTurn(all, COUNT)
      assert.ok(most <= MOST_REQUESTS, `${most} requests in one turn`)
    })
  }))

test('in a flood a turn takes no more of the first packet of a connection either', () =>
  inMostRounds(async () => {
    const { all, listener } = counting()
    await servingInFlood(listener, async ({ client }) => {
      client.resume().write(REQUEST.repeat(IN_PACKET))
      const most = await mostInTurn(all, IN_PACKET)
      assert.ok(most <= MOST_REQUESTS, `${most} requests in one turn`)
    })
  }))

/** Chunks of a byte in a single read. */
const CHUNK = '1\r\nx\r\n'
const CHUNKS_IN_PACKET = Math.ceil(PACKET / CHUNK.length)

test('of a body in thousands of small chunks, a turn takes a few hundred after the first packet', () =>
  inMostRounds(async () => {
    const all = { answered: 0 }
    const listener: RequestListener = (request) => void request.on('data', ({ length }) => (all.answered += length))
    await serving(listener, async ({ client }) => {
      client.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n')
      client.write(CHUNK.repeat(6 * CHUNKS_IN_PACKET))
      await mostInTurn(all, CHUNKS_IN_PACKET + 1)
      const most = await mostInTurn(all, 5 * CHUNKS_IN_PACKET)
      assert.ok(most <= 2_500, `${most} chunks in one turn`)
    })
  }))

/** Bodies of many lengths around those of the slices, some of them chunked. */
function bodies(): string[] {
  const lengths = [0, 1, 100, 2_047, 2_048, 2_049, 16_383, 16_384, 16_385, 65_536, 300_000]
  return Array.from({ length: 60 }, (_, at) => `${at} `.padEnd(lengths[(at * 7) % lengths.length]!, `ä${at}`))
}

function request(body: string, at: number): string {
  const bytes = Buffer.byteLength(body)
  const head = `POST /${at} HTTP/1.1\r\nHost: a\r\n`
  if (at % 3 > 0) return `${head}Content-Length: ${bytes}\r\n\r\n${body}`
  const chunk = bytes === 0 ? '' : `${bytes.toString(16)}\r\n${body}\r\n`
  return `${head}Transfer-Encoding: chunked\r\n\r\n${chunk}0\r\n\r\n`
}

const digest = (body: string) => createHash('sha256').update(body).digest('hex')

describe('requests of all lengths in few packets', () => {
  for (const { how, reader, served } of [
    { how: 'read at once', reader: 'at once', served: serving },
    { how: 'read late', reader: 'late', served: serving },
    { how: 'read at once in a flood', reader: 'at once', served: servingInFlood },
    { how: 'read late in a flood', reader: 'late', served: servingInFlood },
  ])
    test(`are complete and in order, ${how}`, async () => {
      const sent = bodies()
      const found: string[] = []
      const all = Promise.withResolvers<void>()
      const listen = async (request: IncomingMessage) => {
        if (reader === 'late') for (let turns = 0; turns < 20; turns++) await turn()
        found[Number(request.url!.slice(1))] = digest(await text(request))
        if (Object.keys(found).length === sent.length) all.resolve()
      }
      await served(
        (request, response) => void listen(request).then(() => response.end(), all.reject),
        async ({ client }) => {
          client.resume().write(sent.map(request).join(''))
          await all.promise
        },
      )
      assert.deepEqual(found, sent.map(digest))
    })
})

/** The messages that WebSockets receive, until so many have come. Authentication before takes some turns. */
function receiving(server: Server, count: number): Promise<number[]> {
  const sockets = new WebSocketServer({ noServer: true })
  const { promise, resolve } = Promise.withResolvers<number[]>()
  server.on('upgrade', async (request, socket, head) => {
    for (let turns = 0; turns < 5; turns++) await turn()
    sockets.handleUpgrade(request, socket, head, (ws) => {
      const lengths: number[] = []
      ws.on('message', (data: Buffer) => {
        lengths.push(data.length)
        if (lengths.length === count) resolve(lengths)
      })
    })
  })
  return promise
}

const UPGRADE =
  'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'

test('bytes after an upgrade in the same packet belong to the new protocol', () =>
  servingInFlood(
    () => {},
    async ({ server, client }) => {
      const received = receiving(server, MESSAGES.length)
      client.resume().write(Buffer.concat([Buffer.from(UPGRADE), ...MESSAGES.map(frame)]))
      assert.deepEqual(await received, MESSAGES)
    },
  ))

test('a connection that was paused at the packet of its upgrade is read on', () => {
  const work: RequestListener = (_request, response) => {
    // Longer than the share of reading in a turn.
    for (const until = performance.now() + 12; performance.now() < until; );
    response.end()
  }
  return serving(work, async ({ server, client }) => {
    const received = receiving(server, 2 * MESSAGES.length)
    const upgraded = once(server, 'upgrade')
    client.resume().write(Buffer.concat([Buffer.from(REQUEST.repeat(2) + UPGRADE), ...MESSAGES.map(frame)]))
    await upgraded
    client.write(Buffer.concat(MESSAGES.map(frame)))
    assert.deepEqual(await received, [...MESSAGES, ...MESSAGES])
  })
})

const MESSAGES = [1, 3_000, 40, 30_000, 7]

/** A text frame of so many letters, with a mask of zeros. */
function frame(length: number): Buffer {
  const small = length < 126
  const head = Buffer.alloc(small ? 6 : 8)
  head[0] = 0x81
  head[1] = 0x80 | (small ? length : 126)
  if (!small) head.writeUInt16BE(length, 2)
  return Buffer.concat([head, Buffer.alloc(length, 'x')])
}
