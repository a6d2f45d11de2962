// Bodies in small pieces arrive unchanged, for any reader at any time.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { coalesceChunks } from '../../../src/http/connection/chunk-coalescing.ts'

const LETTERS = 'a word, and ümläuts '.repeat(5_000)

interface Read {
  readonly text: string
  readonly pieces: number
}

type Send = (socket: Socket, pieces: readonly string[]) => Promise<void>

/** As chunks in one packet. */
const inOnePacket: Send = async (socket, pieces) => {
  socket.write(`${CHUNKED}${pieces.map(chunk).join('')}${chunk('')}`)
}

/** Each in a packet of its own. */
const inManyPackets =
  (head: string, each: (piece: string) => string, end: string): Send =>
  async (socket, pieces) => {
    socket.setNoDelay(true).write(head)
    for (const piece of pieces) {
      socket.write(each(piece))
      await turn()
    }
    socket.write(end)
  }

const chunk = (piece: string) => `${Buffer.byteLength(piece).toString(16)}\r\n${piece}\r\n`
const CHUNKED = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'

/** Sends pieces. Returns the chunks that the reader of the request gets. */
async function received(
  pieces: readonly string[],
  begin: (request: IncomingMessage) => Promise<unknown>,
  send: Send = inOnePacket,
): Promise<Read> {
  const { promise, resolve, reject } = Promise.withResolvers<Read>()
  const server = createServer(async (request, response) => {
    try {
      await begin(request)
      const read: Buffer[] = []
      for await (const piece of request) read.push(piece as Buffer)
      resolve({ text: Buffer.concat(read).toString(), pieces: read.length })
    } catch (error) {
      reject(error)
    }
    response.end()
  })
  coalesceChunks(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1')
  try {
    await send(socket.resume(), pieces)
    return await promise
  } finally {
    socket.destroy()
    server.close()
  }
}

const later = async () => {
  for (let turns = 0; turns < 200; turns++) await turn()
}

describe('a body in chunks', () => {
  for (const [when, begin] of [
    ['at once', async () => {}],
    ['late', later],
  ] as const) {
    test(`of a byte each, read ${when}, is complete and comes in few pieces`, async () => {
      const { text, pieces } = await received([...LETTERS], begin)
      assert.equal(text, LETTERS)
      assert.ok(pieces < 1_000, `${pieces} pieces`)
    })

    test(`of all sizes, read ${when}, keeps its order`, async () => {
      const pieces = Array.from({ length: 300 }, (_, at) => `${at} `.repeat(1 + ((at * 37) % 900)))
      assert.equal((await received(pieces, begin)).text, pieces.join(''))
    })
  }
})

describe('a body of a byte in each packet', () => {
  const letters = [...'letter by letter '.repeat(200)]
  const head = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${letters.length}\r\n\r\n`
  for (const [how, send] of [
    ['of a length that is announced', inManyPackets(head, (letter) => letter, '')],
    ['in chunks', inManyPackets(CHUNKED, chunk, chunk(''))],
  ] as const) {
    test(`${how} is complete and comes in few pieces, since each kept piece takes more than its bytes`, async () => {
      const { text, pieces } = await received(letters, async () => {}, send)
      assert.equal(text, letters.join(''))
      assert.ok(pieces < 200, `${pieces} pieces`)
    })
  }

  test('does not wait for missing pieces', async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const first = async (request: IncomingMessage) => {
      request.once('data', (piece: Buffer) => resolve(piece.toString())).resume()
    }
    const send: Send = async (socket, [letter]) => {
      socket.write(`${head}${letter}`)
      assert.equal(await promise, 'l')
      socket.write('e'.repeat(letters.length - 1))
    }
    await received(letters, first, send)
  })
})
