// Limits of a socket: the rate of messages, unread data, and silence.
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { LARGE_PAYLOAD_BYTES } from '../../src/payloads/payload-validator.ts'
import { PATIENCE_MS, withMoreTime } from '../helpers/patience.ts'
import { until } from '../helpers/server.ts'
import { type Client, connect } from '../helpers/socket.ts'
import { flood, gated, newId, startBench } from './kit.ts'

const MIB = 1024 * 1024
/** Bytes that the server may hold for a client that does not read: its high-water mark, and the data on the way. */
const MOST_KEPT = 24 * MIB

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

describe('the rate of messages', () => {
  test('SVC_WS_RATE_LIMIT_MAX: one message too many in a second closes the socket with 1008, and its jobs run on', async () => {
    let now = 1_700_000_000_000
    await using bench = await startBench({
      config: { ws_rate_limit_disabled: false, ws_rate_limit_max: 5 },
      platform: clockAt(() => now),
    })
    await using client = await connect(bench.server)
    await using other = await connect(bench.server)
    const job_id = newId()
    client.command('run_job', { job_id, graph: gated(job_id) })
    await bench.gates.at(job_id)
    for (let sent = 1; sent < 5; sent++) await client.settled()
    now += 1_000
    for (let sent = 0; sent < 5; sent++) await client.settled()
    client.sendRaw('not even a message')
    client.command('cancel_job', { job_id })
    assert.equal((await client.closed()).code, 1008)
    assert.equal((await other.ask('get_status', { job_id })).status, 'running')
    await bench.gates.open(job_id)
  })

  test('SVC_WS_RATE_LIMIT_DISABLED: is not limited', async () => {
    const environment = { SVC_WS_RATE_LIMIT_MAX: '5', SVC_WS_RATE_LIMIT_DISABLED: '1' }
    await using bench = await startBench({ environment })
    await using client = await connect(bench.server)
    for (let sent = 0; sent < 300; sent++) client.command('ping')
    await client.settled()
  })
})

describe('a client that does not read', () => {
  test('loses no output, and the server holds little for it; provisional frames may be missing', async () => {
    await using bench = await startBench()
    await using slow = await connect(bench.server)
    await using quick = await connect(bench.server)
    const [job_id, count] = [newId(), 480]
    const before = keptBytes()
    slow.ws.pause()
    // Enough to fill the buffers on the way and the high-water mark several times.
    slow.command('run_job', { job_id, graph: flood(count, 64 * 1024, 16, 2) })
    await until('the job', async () => (await quick.ask('get_status', { job_id })).status === 'completed')
    await until('the server to keep little', () => keptBytes() - before < MOST_KEPT)
    slow.ws.resume()
    const frames = await slow.collect(job_id)
    const outputs = frames.filter((frame) => frame.type === 'output_update')
    assert.equal(outputs.length, count)
    assert.deepEqual(
      outputs.map((frame) => Number(String(frame.value).split(':')[0])),
      [...Array(count).keys()],
    )
    const chunks = frames.filter((frame) => frame.type === 'chunk').length
    assert.ok(chunks < 2 * count, `${chunks} chunks came through`)
    assert.equal(frames.at(-1)?.status, 'completed')
  })

  test('is closed with 1001 when it has not read for too long; its job runs on', async () => {
    await using bench = await startBench({ socket_times: { drain_ms: 100 } })
    await using slow = await connect(bench.server)
    await using quick = await connect(bench.server)
    const job_id = newId()
    slow.ws.pause()
    slow.command('run_job', { job_id, graph: flood(480, 64 * 1024) })
    await until('the job', async () => (await quick.ask('get_status', { job_id })).status === 'completed')
    await quick.settled()
    slow.ws.resume()
    assert.equal((await slow.closed(10_000)).code, 1001)
  })

  test('is not read from either, so that answers do not pile up', async () => {
    await using bench = await startBench()
    await using client = await connect(bench.server)
    const size = await sizeOfAnswer(client, 'list_nodes')
    client.ws.pause()
    // Several times the high-water mark and the system's buffers, so that a pile-up would show.
    const asked = Math.ceil((4 * MOST_KEPT) / size)
    const before = keptBytes()
    for (let at = 0; at < asked; at++) client.command('list_nodes', {}, `r${at}`)
    await using other = await connect(bench.server)
    for (let at = 0; at < 50; at++) await other.settled()
    await until('the server to keep little', () => keptBytes() - before < MOST_KEPT)
    client.ws.resume()
    await client.next({ request_id: `r${asked - 1}` }, 300_000)
    // In a long test there are pings among them.
    assert.equal(client.frames.filter(({ request_id }) => /^r\d+$/.test(String(request_id))).length, asked)
  })
})

describe('keep-alive', () => {
  const quickly = (silence_ms: number) => ({ protocol_ping_ms: 10, frame_ping_ms: 10, idle_timeout_ms: silence_ms })

  test('protocol pings and ping frames come, and a client that answers stays', async () => {
    await withMoreTime(150, async (silence_ms) => {
      await using bench = await startBench({ socket_times: quickly(silence_ms) })
      await using client = await connect(bench.server)
      const begin = performance.now()
      const ping = await client.next({ type: 'ping' })
      assert.ok(Math.abs(Number(ping.ts) - Date.now()) < PATIENCE_MS)
      const passed = () => performance.now() - begin > 2 * silence_ms
      await until('more than the time of silence', () => !client.open || (passed() && client.pings > 3))
      assert.ok(client.open)
      await client.settled()
    })
  })

  test('a client that is silent is terminated; one that only sends messages is not', async () => {
    await withMoreTime(150, async (silence_ms) => {
      await using bench = await startBench({ socket_times: quickly(silence_ms) })
      await using silent = await connect(bench.server, { pong: false })
      await using talking = await connect(bench.server, { pong: false })
      await until('the end of the silent one', () => talk(talking) && !silent.open)
      assert.equal((await silent.closed()).code, 1006)
      assert.ok(talking.open)
    })
  })

  test('a client whose frame takes long to come is not silent meanwhile', async () => {
    await withMoreTime(150, async (silence_ms) => {
      await using bench = await startBench({ socket_times: quickly(silence_ms) })
      await using client = await connect(bench.server, { pong: false })
      const begin = performance.now()
      for (const piece of piecesOf(client, { command: 'ping', request_id: 'slow' }, 20)) {
        piece()
        await pause(silence_ms / 8)
      }
      assert.ok(performance.now() - begin > 2 * silence_ms)
      await client.next({ request_id: 'slow' })
    })
  })

  test('a client whose large frame waits to be processed is not silent meanwhile', async () => {
    await withMoreTime(150, async (silence_ms) => {
      await using bench = await startBench({ socket_times: quickly(silence_ms) })
      const { payloads } = bench.server.context.transport
      const judged = payloads.validateFrame.bind(payloads)
      payloads.validateFrame = async (...of) => {
        await pause(3 * silence_ms)
        return judged(...of)
      }
      await using client = await connect(bench.server, { pong: false })
      await client.ask('ping', { text: 'x'.repeat(LARGE_PAYLOAD_BYTES) })
    })
  })
})

/** The bytes of a text frame in pieces: each call sends the next piece. */
function piecesOf({ ws }: Client, message: object, count: number): (() => void)[] {
  const { _socket: wire } = ws as unknown as { _socket: Socket }
  const text = Buffer.from(JSON.stringify(message).padEnd(1_000))
  // Fin and text; masked, with a length of 16 bits and a mask of zeros (RFC 6455, section 5.2).
  const frame = Buffer.concat([Buffer.from([0x81, 0xfe, text.length >> 8, text.length & 0xff, 0, 0, 0, 0]), text])
  const size = Math.ceil(frame.length / count)
  return Array.from({ length: count }, (_, at) => () => void wire.write(frame.subarray(at * size, (at + 1) * size)))
}

/** Bytes of an answer to a command. Other frames, such as pings, are small. */
async function sizeOfAnswer(client: Client, command: string): Promise<number> {
  let size = 0
  const measure = (data: Buffer) => {
    size = Math.max(size, data.length)
  }
  client.ws.on('message', measure)
  await client.ask(command, {})
  client.ws.off('message', measure)
  return size
}

/** Bytes of buffers that are still referenced. */
function keptBytes(): number {
  collectGarbage()
  return process.memoryUsage().arrayBuffers
}

function talk(client: Client): boolean {
  client.send({ type: 'pong', ts: 1 })
  return true
}

function clockAt(now: () => number) {
  let ids = 0
  return {
    now,
    timestamp: () => new Date(now()).toISOString(),
    id: (prefix: string) => `${prefix}_${++ids}`,
    secret: (bytes: number) => Buffer.alloc(bytes, 's').toString('base64url'),
  }
}
