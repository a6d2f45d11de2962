// The end of a connection whose peer does not end its own side.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { describe, test } from 'node:test'
import { closeLingering } from '../../src/net/lingering-close.ts'
import { until } from '../helpers/server.ts'

const LAST_WORD = 'the answer'

/** A connection whose server says its last word at once; `heard` is what the client gets. */
async function ended(linger_ms: number) {
  const server = createServer({ allowHalfOpen: true })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true })
  client.on('error', () => {})
  const [socket] = (await once(server, 'connection')) as [Socket]
  socket.on('error', () => {})
  let heard = ''
  client.on('data', (chunk) => {
    heard += chunk.toString()
  })
  socket.write(LAST_WORD)
  closeLingering(socket, linger_ms)
  return {
    client,
    socket,
    heard: () => heard,
    async [Symbol.asyncDispose]() {
      client.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

describe('a connection that is ended', () => {
  test('is gone as soon as the peer ends its side', async () => {
    await using it = await ended(1_000_000)
    await until('the end of what it says', () => it.client.readableEnded)
    assert.equal(it.heard(), LAST_WORD)
    assert.ok(!it.socket.destroyed)
    it.client.end()
    await until('its end', () => it.socket.destroyed)
  })

  test('is gone after a while where the peer does nothing', async () => {
    await using it = await ended(50)
    await until('its end', () => it.socket.destroyed)
    await until('the last word', () => it.heard() === LAST_WORD)
  })

  test('is gone where the peer sends more than 2 MiB, and not before', async () => {
    await using it = await ended(1_000_000)
    it.client.write(Buffer.alloc(2 * 1024 * 1024))
    await until('all of it', () => it.socket.bytesRead === 2 * 1024 * 1024)
    assert.ok(!it.socket.destroyed)
    it.client.write('x')
    await until('its end', () => it.socket.destroyed)
    assert.equal(it.heard(), LAST_WORD)
  })
})
