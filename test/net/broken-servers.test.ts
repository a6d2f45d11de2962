// Servers that mean harm or are broken: each ends the request in a word, in its time and within its memory.
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { describe, test } from 'node:test'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { OutgoingRequest } from '../../src/engine/node-api/services/outgoing-http.ts'
import { until } from '../engine/kit.ts'
import { belowInSome } from '../helpers/patience.ts'
import { errorOf, httpServer, localHttp, rawServer, request } from './servers.ts'

const OK = 'HTTP/1.1 200 OK\r\n'

/** Writes as long as somebody reads. */
function endlessly(socket: Socket, piece: string | Buffer): void {
  const more = () => {
    while (!socket.destroyed && socket.write(piece));
  }
  socket.on('drain', more)
  more()
}

/** What the server says, the type of the error, and what else the request says. */
const BROKEN: Record<string, [(socket: Socket) => void, string, Partial<OutgoingRequest>?]> = {
  'no HTTP at all': [(socket) => socket.end('220 mail.example ESMTP\r\n'), 'bad_response'],
  'an unknown version': [(socket) => socket.end('HTTP/9.9 200 OK\r\n\r\n'), 'bad_response'],
  'a status that is no number': [(socket) => socket.end('HTTP/1.1 abc OK\r\n\r\n'), 'bad_response'],
  'a header without a name': [(socket) => socket.end(`${OK}: x\r\n\r\n`), 'bad_response'],
  'two lengths': [(socket) => socket.end(`${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`), 'bad_response'],
  'a length and chunks': [
    (socket) => socket.end(`${OK}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`),
    'bad_response',
  ],
  'a chunk without a size': [(socket) => socket.end(`${OK}Transfer-Encoding: chunked\r\n\r\nxyz\r\n`), 'bad_response'],
  'a chunk of a huge size': [
    (socket) => socket.end(`${OK}Transfer-Encoding: chunked\r\n\r\n${'f'.repeat(20)}\r\nx`),
    'bad_response',
  ],
  'a body cut off': [(socket) => socket.end(`${OK}Content-Length: 100\r\n\r\nshort`), 'connection_failed'],
  'chunks cut off': [(socket) => socket.end(`${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhel`), 'connection_failed'],
  'nothing, and closes': [(socket) => socket.end(), 'connection_failed'],
  'nothing, and breaks off': [(socket) => socket.resetAndDestroy(), 'connection_failed'],
  'headers without an end': [(socket) => endlessly(socket, `${OK}${'X: yyyyyyyyyy\r\n'.repeat(1000)}`), 'bad_response'],
  'more headers than anyone reads': [
    (socket) => {
      socket.write(OK)
      endlessly(socket, `X-Y: ${'y'.repeat(1000)}\r\n`)
    },
    'too_large',
  ],
  'a header without an end': [
    (socket) => {
      socket.write(`${OK}X: `)
      endlessly(socket, 'y'.repeat(1000))
    },
    'too_large',
  ],
  'a body without an end': [
    (socket) => {
      socket.write(`${OK}\r\n`)
      endlessly(socket, 'x'.repeat(10_000))
    },
    'too_large',
  ],
  'a length above the limit': [(socket) => socket.write(`${OK}Content-Length: 2000000\r\n\r\n`), 'too_large'],
  'one header and then nothing': [(socket) => socket.write(`${OK}X: `), 'http_timeout', { timeout_ms: 30 }],
  'a body and then nothing': [
    (socket) => socket.write(`${OK}Content-Length: 100\r\n\r\nx`),
    'http_timeout',
    { timeout_ms: 30 },
  ],
  'a redirect and then nothing': [
    (socket) => socket.write('HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 100\r\n\r\nx'),
    'http_timeout',
    { timeout_ms: 30 },
  ],
  'a byte at a time': [
    (socket) => {
      socket.write(`${OK}\r\n`)
      const timer = setInterval(() => socket.write('x'), 5)
      socket.on('close', () => clearInterval(timer))
    },
    'http_timeout',
    { timeout_ms: 60 },
  ],
  'that it goes on, for ever': [
    (socket) => endlessly(socket, 'HTTP/1.1 100 Continue\r\n\r\n'),
    'http_timeout',
    { timeout_ms: 100 },
  ],
  'another protocol': [
    (socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'),
    'connection_failed',
  ],
  'gzip that is none': [(socket) => socket.end(`${OK}Content-Encoding: gzip\r\n\r\nhello`), 'bad_response'],
  'gzip cut off': [
    (socket) => {
      socket.write(`${OK}Content-Encoding: gzip\r\n\r\n`)
      socket.end(gzipSync('hello'.repeat(1000)).subarray(0, 30))
    },
    'bad_response',
  ],
  'brotli that is none': [(socket) => socket.end(`${OK}Content-Encoding: br\r\n\r\nhello`), 'bad_response'],
  'an unknown encoding': [(socket) => socket.end(`${OK}Content-Encoding: constructor\r\n\r\nx`), 'bad_response'],
  'an encoding of encodings': [
    (socket) => socket.end(`${OK}Content-Encoding: gzip, gzip, gzip\r\n\r\nx`),
    'bad_response',
  ],
}

describe('a server that says', () => {
  for (const [what, [answer, type, more]] of Object.entries(BROKEN)) {
    test(`${what}: ${type}`, async () => {
      await using server = await rawServer(answer)
      await using http = localHttp()
      const error = await errorOf(http.send(request(server.url, more)))
      assert.equal(error.type, type, `${error.message} (${String(error.cause)})`)
      await until(() => server.open === 0, 'the connection to close')
    })
  }

  test('many headers, but not too many, is understood', async () => {
    await using server = await httpServer((_asked, response) => {
      response.setHeader('x-large', 'x'.repeat(50_000))
      response.end()
    })
    await using http = localHttp()
    assert.equal((await http.send(request(server.url))).headers['x-large']?.length, 50_000)
  })
})

describe('a bomb', () => {
  const nothing = Buffer.alloc(100_000_000)
  const packed = gzipSync(nothing, { level: 1 })
  const BOMBS = {
    gzip: packed,
    br: brotliCompressSync(nothing, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
    'gzip, gzip': gzipSync(packed),
  }
  for (const [encoding, bomb] of Object.entries(BOMBS)) {
    test(`in ${encoding} is cut at the limit`, async () => {
      await using server = await httpServer((_asked, response) => {
        response.writeHead(200, { 'content-encoding': encoding }).end(bomb)
      })
      await using http = localHttp()
      // It is not unpacked: that would show in each round.
      await belowInSome(60_000_000, async () => {
        const before = process.memoryUsage().rss
        assert.equal((await errorOf(http.send(request(server.url, { max_bytes: 1_000_000 })))).type, 'too_large')
        return process.memoryUsage().rss - before
      })
    })
  }
})

test('a server that reads nothing gets no more than it takes', async () => {
  await using server = await rawServer((socket) => socket.pause())
  await using http = localHttp()
  const body = new Uint8Array(20_000_000)
  const error = await errorOf(http.send(request(server.url, { method: 'POST', body, timeout_ms: 50 })))
  assert.equal(error.type, 'http_timeout')
})
