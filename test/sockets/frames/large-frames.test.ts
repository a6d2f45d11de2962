// Frames that are validated in a worker and parsed in time slices get the same answers as small frames, in order.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { encode } from '@msgpack/msgpack'
import { startServer } from '../../helpers/server.ts'
import { type Client, connect, type Frame } from '../../helpers/socket.ts'

const FILLER = 'x'.repeat(300_000)

/** Invalid frames, by their fault. */
const WRONG: Readonly<Record<string, (filler: string) => string | Uint8Array>> = {
  'no JSON': (filler) => `{"command":"ping","x":"${filler}"`,
  'no MessagePack': (filler) => encode([filler, 1]).subarray(0, -1),
  'nested too deep': (filler) => `["${filler}",${'['.repeat(70)}${']'.repeat(70)}]`,
  'no object': (filler) => encode([filler]),
  'no command': (filler) => encode({ note: filler }),
  'a command that is no text': (filler) => encode({ command: 5, note: filler }),
  'an unknown command': (filler) => encode({ command: 'dance', note: filler }),
  'an unknown command with a request id': (filler) => encode({ command: 'dance', note: filler, request_id: 'r1' }),
  'wrong data of a job command': (filler) =>
    encode({ command: 'cancel_job', data: { job_id: 'j1', note: filler }, request_id: 'r1' }),
  'wrong data of a remote call': (filler) => JSON.stringify({ command: 'list_assets', data: filler, request_id: 'r1' }),
  'half a character': (filler) =>
    JSON.stringify({
      command: 'run_job',
      data: { workflow_id: 'greeting', job_name: 'X', params: { a: filler } },
    }).replace('X', '\\ud800'),
}

async function answerTo(socket: Client, frame: string | Uint8Array): Promise<Frame> {
  socket.sendRaw(frame)
  return socket.next(({ type }) => type !== 'ping')
}

describe('a large frame', () => {
  test('is refused with the message of a small frame', async () => {
    await using server = await startServer()
    await using socket = await connect(server)
    for (const [name, frame] of Object.entries(WRONG)) {
      const small = await answerTo(socket, frame(''))
      assert.deepEqual(await answerTo(socket, frame(FILLER)), small, name)
    }
  })

  test('with a type and without a command is ignored', async () => {
    await using server = await startServer()
    await using socket = await connect(server)
    socket.sendRaw(encode({ type: 'pong', note: FILLER }))
    await socket.settled()
    assert.deepEqual(socket.frames.length, 1)
  })

  test('of too many values is refused', async () => {
    await using server = await startServer()
    await using socket = await connect(server)
    const frame = Buffer.alloc(17_000_005, 0xc0)
    frame[0] = 0xdd
    frame.writeUInt32BE(17_000_000, 1)
    const { error, message } = await answerTo(socket, frame)
    assert.deepEqual([error, message], ['invalid_frame', 'the frame has more than 16,777,216 values'])
  })

  test('of too many byte strings is refused, however short it is', async () => {
    await using server = await startServer()
    await using socket = await connect(server)
    const bins = (count: number) =>
      Buffer.concat([Buffer.of(0xdd, 0, 0, count >> 8, count & 0xff), Buffer.alloc(2 * count)])
    const empty = (count: number) => bins(count).fill(Buffer.of(0xc4, 0), 5)
    const { error, message } = await answerTo(socket, empty(10_001))
    assert.deepEqual([error, message], ['invalid_frame', 'the frame has more than 10,000 byte strings'])
    const { message: of_few } = await answerTo(socket, empty(10_000))
    assert.doesNotMatch(String(of_few), /byte strings/)
  })

  test('with too many keys in one object is refused', async () => {
    await using server = await startServer()
    await using socket = await connect(server)
    const keys = Object.fromEntries(Array.from({ length: 100_001 }, (_, at) => [`key${at}`, at]))
    const frame = { command: 'run_job', data: { workflow_id: 'greeting', params: { a: [keys] } } }
    for (const data of [encode(frame), JSON.stringify(frame)]) {
      const { error, message } = await answerTo(socket, data)
      assert.deepEqual(
        [error, message],
        ['invalid_frame', 'the object at "/data/params/a/0" has more than 100,000 keys'],
      )
    }
  })

  test('is not overtaken by a later frame of its socket, of any kind', async () => {
    await using server = await startServer()
    await using socket = await connect(server)
    const value = Array.from({ length: 100_000 }, (_, at) => ({
      at,
      bytes: at % 1000 === 0 ? new Uint8Array(3) : null,
    }))
    const graph = {
      nodes: [
        { id: 'in', type: 'input.Any', data: { name: 'in', stream: true } },
        { id: 'out', type: 'output.Output', data: { name: 'out' } },
      ],
      edges: [{ source: 'in', sourceHandle: 'output', target: 'out', targetHandle: 'value' }],
    }
    socket.command('run_job', { job_id: 'j1', graph })
    await socket.next({ type: 'job_update', status: 'running' })
    socket.command('stream_input', { job_id: 'j1', input: 'in', value: 'first' })
    socket.command('stream_input', { job_id: 'j1', input: 'in', value })
    socket.command('stream_input', { job_id: 'j1', input: 'in', value: 'last' })
    socket.command('end_input_stream', { job_id: 'j1', input: 'in' })
    const frames = await socket.collect('j1')
    const values = frames.filter(({ type }) => type === 'output_update').map((frame) => frame.value)
    assert.equal(values[0], 'first')
    assert.equal((values[1] as unknown[]).length, 100_000)
    assert.equal(values[2], 'last')
  })
})
