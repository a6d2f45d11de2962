// How many may be connected: all callers together, and each of them.
import assert from 'node:assert/strict'
import { networkInterfaces } from 'node:os'
import { describe, test } from 'node:test'
import { connectionsWithin, openFilesIn } from '../../src/http/connections.ts'
import { createLog } from '../../src/log.ts'
import { call } from '../helpers/http.ts'
import { withMoreTime } from '../helpers/patience.ts'
import { startServer, until } from '../helpers/server.ts'
import { type Peer, peer } from './peer.ts'

const HEAD = 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n'

async function assertServed(one: Peer): Promise<void> {
  one.socket.write(HEAD)
  await until('an answer', () => one.text().startsWith('HTTP/1.1 '))
}

/** Asks, and is cut off without a word. */
async function assertCut(server: { readonly url: string }): Promise<void> {
  using one = await peer(server, HEAD)
  await until('its end', one.closed)
  assert.equal(one.text(), '')
}

const own = Object.values(networkInterfaces())
  .flat()
  .find((address) => address && !address.internal && address.family === 'IPv4')?.address
const skip = own === undefined && 'there is loopback only'

describe('connections', () => {
  test('beyond their number are closed at once, and the others are served', async () => {
    // A proxy that was named may have them all.
    const environment = { SVC_TRUSTED_PROXIES: '127.0.0.1' }
    await using server = await startServer({ environment, listener: { connections: 3 } })
    const first = [await peer(server), await peer(server), await peer(server)]
    await assertCut(server)
    for (const one of first) await assertServed(one)
    for (const one of first) one.socket.destroy()
    await until('a free place', async () => (await call(server, 'GET', '/health').catch(() => null))?.status === 200)
  })

  test('of this machine have half of them, and a place that was left is free again', async () => {
    await using server = await startServer({ listener: { connections: 8 } })
    const first = await Promise.all(Array.from({ length: 4 }, () => peer(server)))
    await assertCut(server)
    for (const one of first) await assertServed(one)
    first.pop()!.socket.destroy()
    await until('a free place', async () => (await call(server, 'GET', '/health').catch(() => null))?.status === 200)
    for (const one of first) one.socket.destroy()
  })

  test('of one address have a quarter, and others get in', { skip }, async () => {
    await using server = await startServer({ config: { host: '0.0.0.0' }, listener: { connections: 8 } })
    const remote = { url: `http://${own}:${new URL(server.url).port}` }
    const first = [await peer(remote), await peer(remote)]
    await assertCut(remote)
    for (const one of first) await assertServed(one)
    assert.equal((await call(server, 'GET', '/health')).status, 200)
    for (const one of first) one.socket.destroy()
  })

  test('that were refused are told of at once, and further ones together', async () => {
    await withMoreTime(300, async (tell_ms) => {
      const lines: string[] = []
      const log = createLog('warn', undefined, { write: (line) => lines.push(line) })
      const told = () =>
        lines.filter((line) => line.includes('connections are refused')).map((line) => JSON.parse(line))
      await using server = await startServer({ log, listener: { connections: 2, tell_ms } })
      using first = await peer(server)
      await assertServed(first)
      await assertCut(server)
      assert.deepEqual(
        told().map(({ connections, refused }) => [connections, refused]),
        [[2, 1]],
      )
      for (let n = 0; n < 4; n++) await assertCut(server)
      await until('the others', () => told().reduce((sum, { refused }) => sum + refused, 0) === 5)
      assert.ok(told().length < 5)
    })
  })

  test('leave descriptors for files', () => {
    const limits =
      'Limit  Soft Limit  Hard Limit  Units\nMax open files            1024                 524288               files\n'
    assert.equal(openFilesIn(limits), 1024)
    assert.equal(openFilesIn(limits.replace('1024', 'unlimited')), null)
    assert.deepEqual([1024, 300, 1_048_576, null].map(connectionsWithin), [768, 150, 1_048_320, null])
  })
})
