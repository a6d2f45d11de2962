// Bodies in small chunks arrive as they were sent, whoever reads them and however late.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { gatherChunks } from '../../src/http/gathered-chunks.ts'

const LETTERS = 'a word, and ümläuts '.repeat(5_000)

interface Read {
  readonly text: string
  readonly pieces: number
}

/** Sends pieces as chunks of their own in one packet, and gives what the reader of the request saw. */
async function received(
  pieces: readonly string[],
  begin: (request: IncomingMessage) => Promise<unknown>,
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
  gatherChunks(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1')
  const chunks = pieces.map((piece) => `${Buffer.byteLength(piece).toString(16)}\r\n${piece}\r\n`)
  socket.resume().write(`POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${chunks.join('')}0\r\n\r\n`)
  try {
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
    test(`of a letter each, read ${when}, is whole and comes in few pieces`, async () => {
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
