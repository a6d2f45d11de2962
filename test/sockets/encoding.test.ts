// The encodings of frames: both on one socket, the change between them, times and bytes.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { ExtensionCodec, encode } from '@msgpack/msgpack'
import { mapType, withTypes } from '../engine/kit.ts'
import { connect } from '../helpers/socket.ts'
import { type Bench, edge, graph, greeting, newId, node, startBench } from './kit.ts'

let bench: Bench
before(async () => {
  bench = await startBench()
})
after(() => bench[Symbol.asyncDispose]())

const passOn = graph(
  [node('in', 'input.Any', { name: 'x' }), node('out', 'output.Output', { name: 'out' })],
  [edge('in.output->out.value')],
)

describe('encodings', () => {
  test('run_job in MessagePack: already the first frame is MessagePack, without negotiation', async () => {
    await using client = await connect(bench.server)
    const job_id = newId()
    client.send({ command: 'run_job', data: { job_id, graph: greeting, params: { name: 'Ada' } } })
    const frames = await client.collect(job_id)
    assert.deepEqual(frames.at(-1)?.result, { outputs: { greeting: ['Hello, Ada!'] } })
  })

  test('set_mode: both encodings are accepted at any time, and the acknowledgement uses the old encoding', async () => {
    await using client = await connect(bench.server)
    client.send({ command: 'ping', request_id: 'a' }, 'text')
    await client.next({ type: 'pong', request_id: 'a' })
    client.send({ command: 'set_mode', data: { mode: 'text' }, request_id: 'b' }, 'text')
    assert.equal((await client.next({ request_id: 'b' })).mode, 'text')
    for (const mode of ['binary', 'text', 'binary'] as const) client.send({ command: 'ping', request_id: mode }, mode)
    await client.next({ type: 'pong', request_id: 'text' })
    client.send({ command: 'set_mode', data: { mode: 'binary' } })
    assert.equal((await client.next({ mode: 'binary' })).request_id, undefined)
    await client.settled()
    assert.equal(client.frames.filter((frame) => frame.type === 'pong').length, 5)
  })

  test('set_mode: a whole run in text', async () => {
    await using client = await connect(bench.server, { mode: 'text' })
    const job_id = newId()
    client.command('run_job', { job_id, graph: greeting })
    assert.deepEqual((await client.collect(job_id)).at(-1)?.result, { outputs: { greeting: ['Hello, world!'] } })
  })
})

describe('values in MessagePack', () => {
  test('the timestamp extension is read as its string, in all three widths', async () => {
    await using client = await connect(bench.server)
    const at = (date: string) => {
      const [seconds, ms] = [Math.floor(Date.parse(date) / 1000), ((Date.parse(date) % 1000) + 1000) % 1000]
      return { at: seconds, nanoseconds: ms * 1e6 }
    }
    const wide = (date: string) => {
      const bytes = Buffer.alloc(12)
      bytes.writeUInt32BE(at(date).nanoseconds, 0)
      bytes.writeBigInt64BE(BigInt(at(date).at), 4)
      return extension(-1, bytes)
    }
    const narrow = (date: string) => {
      const bytes = Buffer.alloc(4)
      bytes.writeUInt32BE(at(date).at, 0)
      return extension(-1, bytes)
    }
    const dates = ['2026-11-21T09:00:00.000Z', '2026-11-21T09:00:00.125Z', '1960-01-01T00:00:00.500Z']
    const params = { x: [narrow(dates[0]!), new Date(dates[1]!), wide(dates[2]!)] }
    const job_id = newId()
    client.sendRaw(encode({ command: 'run_job', data: { job_id, graph: passOn, params } }, { extensionCodec: raw }))
    assert.deepEqual((await client.collect(job_id)).at(-1)?.result, { outputs: { out: [dates] } })
  })

  test('any other extension, and a timestamp of an impossible form, is an invalid_frame', async () => {
    await using client = await connect(bench.server)
    const impossible = [
      extension(5, Buffer.of(1, 2)),
      extension(-2, Buffer.of(1)),
      extension(-1, Buffer.of(1, 2, 3)),
      extension(-1, Buffer.alloc(12, 0x7f)),
    ]
    for (const value of impossible) {
      client.sendRaw(encode({ command: 'ping', data: { at: value } }, { extensionCodec: raw }))
      assert.match(String((await client.next({ error: 'invalid_frame' })).message), /extension|timestamp/)
    }
    await client.settled()
  })

  test('bytes of an output become assets, in both encodings, live and after a reconnect', async () => {
    await using binary = await connect(bench.server)
    await using text = await connect(bench.server, { mode: 'text' })
    const bytes = Buffer.from(Uint8Array.from({ length: 300 }, (_, at) => at % 256))
    const job_id = newId()
    binary.command('run_job', { job_id, graph: passOn, params: { x: { kind: 'any', data: bytes } } })
    const frames = await binary.collect(job_id)
    const update = frames.find((frame) => frame.type === 'output_update')
    assert.ok(update)
    const { kind, data } = update.value as { kind: string; data: Record<string, unknown> }
    assert.equal(kind, 'any')
    assert.deepEqual(
      [data.type, data.content_type, data.size, data.sha256],
      ['file', 'application/octet-stream', 300, createHash('sha256').update(bytes).digest('hex')],
    )
    const stored = await fetch(`${bench.server.url}${String(data.uri)}`)
    assert.deepEqual(Buffer.from(await stored.arrayBuffer()), bytes)
    assert.deepEqual(frames.at(-1)?.result, { outputs: { out: [{ kind, data }] } })

    text.command('reconnect_job', { job_id })
    const told = await text.next({ type: 'output_update', job_id })
    assert.deepEqual(told.value, { kind, data })
    const ended = text.of(job_id).find((frame) => frame.type === 'job_update')
    assert.deepEqual(ended?.result, { outputs: { out: [{ kind, data }] } })
  })

  test('bytes of a node are bytes in MessagePack and base64 in text', async () => {
    const bytes = Buffer.from('ä€')
    for (const [mode, shown] of [
      ['binary', bytes],
      ['text', bytes.toString('base64')],
    ] as const) {
      await using client = await connect(bench.server, { mode })
      const job_id = newId()
      client.send({ command: 'run_job', data: { job_id, graph: passOn, params: { x: bytes } } }, 'binary')
      const frames = await client.collect(job_id)
      const given = frames.find((frame) => frame.type === 'node_update' && frame.status === 'completed')
      assert.deepEqual(Object.values(given?.result as object), [shown])
    }
  })

  test('run_job with 10 MiB of bytes and the id of the same job is compared quickly and attaches', async () => {
    await using client = await connect(bench.server)
    const job_id = newId()
    const data = { job_id, graph: passOn, params: { x: new Uint8Array(10 * 1024 * 1024).fill(7) } }
    client.send({ command: 'run_job', data })
    await client.collect(job_id)
    client.send({ command: 'run_job', data })
    await client.next({ type: 'job_resumed', job_id })
  })
})

class Extension {
  readonly type: number
  readonly data: Uint8Array
  constructor(type: number, data: Uint8Array) {
    this.type = type
    this.data = data
  }
}

function extension(type: number, data: Uint8Array): Extension {
  return new Extension(type, data)
}

class RawExtensions extends ExtensionCodec {
  override tryToEncode(value: unknown): ReturnType<ExtensionCodec['tryToEncode']> {
    if (value instanceof Date) return timestamps.tryToEncode(value, undefined)
    if (!(value instanceof Extension)) return null
    return { type: value.type, data: value.data } as ReturnType<ExtensionCodec['tryToEncode']>
  }
}

const timestamps = new ExtensionCodec()
const raw = new RawExtensions()

describe('values that cannot be encoded', () => {
  test('are left out of job_update, node_update and output_update, and the job ends as usual', async () => {
    // JSON calls `toJSON` of the value; MessagePack finds a function in it.
    const value = { toJSON: () => 'written' }
    const registry = withTypes(mapType('test.Odd', () => value))
    await using bench = await startBench({ registry })
    await using binary = await connect(bench.server)
    await using text = await connect(bench.server, { mode: 'text' })
    const of = graph(
      [
        node('in', 'input.Any', { name: 'x', value: 1 }),
        node('odd', 'test.Odd'),
        node('out', 'output.Output', { name: 'out' }),
      ],
      [edge('in.output->odd.value'), edge('odd.output->out.value')],
    )
    const job_id = newId()
    binary.command('run_job', { job_id, graph: of })
    const frames = await binary.collect(job_id)
    assert.deepEqual([frames.at(-1)?.status, frames.at(-1)?.result], ['completed', { outputs: {} }])
    const odd = frames.filter((frame) => frame.type === 'node_update' && frame.node_id === 'odd')
    assert.deepEqual(
      odd.map(({ status, result }) => [status, result]),
      [
        ['running', null],
        ['completed', null],
      ],
    )
    const told = frames.filter(({ type }) => type === 'output_update' || type === 'log_update')
    assert.deepEqual(
      told.map(({ type, node_id, severity }) => [type, node_id, severity]),
      [['log_update', 'out', 'error']],
    )
    await binary.settled()
    text.command('reconnect_job', { job_id })
    const end = await text.next({ type: 'job_update', job_id })
    assert.deepEqual(end.result, { outputs: { out: ['written'] } })
  })
})
