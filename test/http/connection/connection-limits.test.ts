// Limits on connections: of all callers together, and of each.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import {
  computeHeadMemory,
  computeMaxConnections,
  parseOpenFileLimit,
} from '../../../src/http/connection/connection-limits.ts'
import { createLog } from '../../../src/log.ts'
import { call } from '../../helpers/http.ts'
import { giveDatabase } from '../../helpers/migrated.ts'
import { withMoreTime } from '../../helpers/patience.ts'
import { serve } from '../../helpers/process.ts'
import { startServer, temporaryFolder, until } from '../../helpers/server.ts'
import { type Peer, peer } from '../peer.ts'

/** Clients that send no head are cut off later than this. */
const SOONER_MS = 12_000
const HEAD = 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n'

async function assertServed(one: Peer): Promise<void> {
  one.socket.write(HEAD)
  await until('an answer', () => one.text().startsWith('HTTP/1.1 '))
}

/** Sends a request, and is cut off without an answer. */
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
  test('beyond the limit are closed at once, and others are served', async () => {
    // A trusted proxy may have all connections.
    const environment = { SVC_TRUSTED_PROXIES: '127.0.0.1' }
    await using server = await startServer({ environment, listener: { connections: 3 } })
    const first = [await peer(server), await peer(server), await peer(server)]
    await assertCut(server)
    for (const one of first) await assertServed(one)
    for (const one of first) one.socket.destroy()
    await until('a free place', async () => (await call(server, 'GET', '/health').catch(() => null))?.status === 200)
  })

  test('of this machine get half of the limit, and closed ones free their place', async () => {
    await using server = await startServer({ listener: { connections: 8 } })
    const first = await Promise.all(Array.from({ length: 4 }, () => peer(server)))
    await assertCut(server)
    for (const one of first) await assertServed(one)
    first.pop()!.socket.destroy()
    await until('a free place', async () => (await call(server, 'GET', '/health').catch(() => null))?.status === 200)
    for (const one of first) one.socket.destroy()
  })

  test('of one address get a quarter of the limit, and other addresses can connect', { skip }, async () => {
    await using server = await startServer({ config: { host: '0.0.0.0' }, listener: { connections: 8 } })
    const remote = { url: `http://${own}:${new URL(server.url).port}` }
    const first = [await peer(remote), await peer(remote)]
    await assertCut(remote)
    for (const one of first) await assertServed(one)
    assert.equal((await call(server, 'GET', '/health')).status, 200)
    for (const one of first) one.socket.destroy()
  })

  test('that were refused are logged at once, and further ones together', async () => {
    await withMoreTime(300, async (tell_ms) => {
      const lines: string[] = []
      const log = createLog('warn', undefined, { write: (line) => lines.push(line) })
      const told = () => lines.filter((line) => line.includes('connections refused')).map((line) => JSON.parse(line))
      await using server = await startServer({ log, listener: { connections: 2, log_interval_ms: tell_ms } })
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
    assert.equal(parseOpenFileLimit(limits), 1024)
    assert.equal(parseOpenFileLimit(limits.replace('1024', 'unlimited')), null)
    const within = (files: number | null) => computeMaxConnections(files, Number.MAX_SAFE_INTEGER)
    assert.deepEqual([1024, 300, 1_048_576].map(within), [768, 150, 1_048_320])
  })

  test('are fewer where the heap is small', async () => {
    const folder = temporaryFolder()
    try {
      await giveDatabase(join(folder, 'svc.db'))
      await using server = await serve(folder, { NODE_OPTIONS: '--max-old-space-size=128' })
      const peers = await Promise.all(Array.from({ length: 1_000 }, () => peer(server)))
      await until('the end of some', () => peers.some((one) => one.closed()), SOONER_MS)
      for (const one of peers) one.socket.destroy()
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  test('whose heads never end do not crash a server with a small heap', async () => {
    const folder = temporaryFolder()
    try {
      await giveDatabase(join(folder, 'svc.db'))
      // A trusted proxy may have all connections.
      const environment = { NODE_OPTIONS: '--max-old-space-size=64', SVC_TRUSTED_PROXIES: '127.0.0.1' }
      await using server = await serve(folder, environment)
      const head = `GET /health HTTP/1.1\r\nHost: localhost\r\n${'a:\r\n'.repeat(3_900)}`
      const peers = await Promise.all(Array.from({ length: 1_000 }, () => peer(server, head)))
      await until('the end of some', () => peers.some((one) => one.closed()))
      for (const one of peers) one.socket.destroy()
      const isServed = () =>
        call(server, 'GET', '/health').then(
          ({ status }) => status === 200,
          () => false,
        )
      await until('room for another', isServed)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  test('are limited by the free heap', () => {
    const mib = 1_048_576
    assert.deepEqual(
      [32, 128, 4_096].map((size) => computeHeadMemory(size * mib) / mib),
      [2, 16, 2_000],
    )
  })

  test('are limited by the heap for incomplete heads', () => {
    const within = (files: number | null) => computeMaxConnections(files, 1_000_000_000)
    assert.deepEqual([1024, 1_048_576, null].map(within), [768, 10_172, 10_172])
  })
})
