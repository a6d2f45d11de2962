// Edge cases of the message limit, and pings, which do not count but must not pile up either.
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { describe, test } from 'node:test'
import type WebSocket from 'ws'
import { systemPlatform } from '../../src/platform.ts'
import { until } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { startBench } from './kit.ts'
import { dial, handshake } from './raw.ts'

const config = { ws_rate_limit_disabled: false, ws_rate_limit_max: 5 }

describe('messages', () => {
  test('are counted from zero after the clock was set back', async () => {
    let now = 1_700_000_000_000
    await using bench = await startBench({ config, platform: { ...systemPlatform(), now: () => now } })
    await using client = await connect(bench.server)
    for (let sent = 0; sent < 5; sent++) await client.settled()
    now -= 3_600_000
    for (let sent = 0; sent < 5; sent++) await client.settled()
    client.command('ping')
    assert.deepEqual(await client.closed(), { code: 1008, reason: 'too many messages' })
  })

  test('beyond the limit cut the connection of a client that does not answer the close', async () => {
    await using bench = await startBench({ config, socket_times: { close_timeout_ms: 50 } })
    const at = new URL(bench.server.url)
    const socket = dial(at)
    let closed = false
    socket.once('close', () => {
      closed = true
    })
    socket.on('error', () => {})
    socket.resume()
    socket.write(handshake(at, '/ws'))
    await until('the acceptance', () => socket.bytesRead > 0)
    socket.write(Buffer.concat(Array.from({ length: 6 }, () => masked(0x1, Buffer.from('{}')))))
    socket.once('end', () => socket.end())
    await until('the end', () => closed)
  })
})

describe('pings', () => {
  test('are answered with their data, and of many at once only the last is answered', async () => {
    await using bench = await startBench({ config })
    await using client = await connect(bench.server)
    const answers: string[] = []
    client.ws.on('pong', (data) => answers.push(data.toString()))
    for (let sent = 0; sent < 20; sent++) {
      client.ws.ping(`alone ${sent}`)
      await until('the pong', () => answers.at(-1) === `alone ${sent}`)
    }
    const many = Array.from({ length: 5_000 }, (_, at) => masked(0x9, Buffer.from(String(at))))
    rawly(client.ws, Buffer.concat(many))
    await until('the last pong', () => answers.at(-1) === '4999')
    assert.ok(answers.length < 100, `${answers.length} pongs`)
    await client.settled()
  })

  test('of a client that does not read are not answered without end', async () => {
    await using bench = await startBench({ config })
    const at = new URL(bench.server.url)
    const socket = dial(at)
    socket.on('error', () => {})
    socket.write(handshake(at, '/ws'))
    // More than the high-water mark and the buffers of the system.
    const batch = Buffer.concat(Array.from({ length: 4_096 }, () => masked(0x9, Buffer.alloc(125))))
    const sent = 100 * batch.length
    for (let round = 0; round < 100; round++) {
      await new Promise<void>((resolve) => socket.write(batch, () => resolve()))
    }
    socket.resume()
    let before = -1
    await until('the last pong', async () => {
      const same = socket.bytesRead === before
      before = socket.bytesRead
      await using other = await connect(bench.server)
      await other.settled()
      return same
    })
    assert.ok(socket.bytesRead < (sent * 2) / 3, `${socket.bytesRead} bytes of pongs for ${sent} bytes of pings`)
    socket.destroy()
  })
})

/** Sends bytes as they are. */
function rawly(ws: WebSocket, bytes: Buffer): void {
  ;(ws as unknown as { _socket: Socket })._socket.write(bytes)
}

/** A client frame with a mask of zeros (RFC 6455, section 5.2). */
function masked(opcode: number, payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | payload.length, 0, 0, 0, 0]), payload])
}
