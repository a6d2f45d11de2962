// Large files for many clients at once: read buffers are reused, and no client gets bytes of another.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { contentOf } from '../crash/files/content.ts'
import { call } from '../helpers/http.ts'
import { scaled } from '../helpers/scale.ts'
import { startServer } from '../helpers/server.ts'

const FILES = 6
const SIZE = 3_000_000
const ROUNDS = scaled(2)

describe('files that many clients read at once', () => {
  test('arrive unchanged, also for slow clients, and when others disconnect', async () => {
    await using server = await startServer()
    const contents = Array.from({ length: FILES }, (_, at) => contentOf(`file ${at}`, SIZE + at))
    for (const [at, { bytes }] of contents.entries()) {
      const { status } = await call(server, 'PUT', `/api/storage/1/f${at}`, { raw: bytes })
      assert.equal(status, 201)
    }
    const read = async (at: number, way: 'fast' | 'slow' | 'leaving') => {
      const outgoing = request(`${server.url}/api/storage/1/f${at}`, { agent: false }).end()
      const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
      const { bytes } = contents[at]!
      let received = 0
      for await (const piece of answer as AsyncIterable<Buffer>) {
        assert.ok(piece.equals(bytes.subarray(received, received + piece.length)), `${way} at ${received} of ${at}`)
        received += piece.length
        if (way === 'leaving' && received > 500_000) return
        if (way === 'slow') for (let turns = 0; turns < 20; turns += 1) await turn()
      }
      assert.equal(received, bytes.length)
    }
    for (let round = 0; round < ROUNDS; round += 1) {
      const ways = ['fast', 'slow', 'leaving'] as const
      await Promise.all(contents.flatMap((_, at) => ways.map((way) => read(at, way))))
    }
  })
})
