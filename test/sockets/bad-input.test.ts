// Bad input: each kind has its defined answer, and none closes the socket or affects a job.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { encode } from '@msgpack/msgpack'
import { commandManifest } from '../../generated/messages.ts'
import { belowInSome } from '../helpers/patience.ts'
import { type Client, connect, type Frame, frameName } from '../helpers/socket.ts'
import { type Bench, gated, newId, startBench } from './kit.ts'

let bench: Bench
before(async () => {
  bench = await startBench()
})
after(() => bench[Symbol.asyncDispose]())

/** Runs a job beside `work`, and asserts that it ends well and gets only its own frames. */
async function besideJob(work: (client: Client, job_id: string) => Promise<void>): Promise<void> {
  await using client = await connect(bench.server)
  const job_id = newId()
  client.command('run_job', { job_id, graph: gated(job_id) })
  await bench.gates.at(job_id)
  await work(client, job_id)
  assert.ok(client.open)
  await bench.gates.open(job_id)
  await client.next({ type: 'job_update', job_id, status: 'completed' })
}

/** Asserts that there is no answer. Frames of a job that runs at the same time do not count. */
async function nothing(client: Client, send: () => void): Promise<void> {
  const before = client.frames.length
  send()
  await client.settled()
  const got = client.frames.slice(before).filter((frame) => frame.type !== 'pong' && frame.job_id === undefined)
  assert.deepEqual(got, [])
}

describe('frames that are not a valid message', () => {
  test('invalid_frame: a frame that cannot be decoded, or is nested too deeply', async () => {
    const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
    const undecodable: (string | Uint8Array)[] = [
      '',
      'nonsense',
      '{"command":',
      '{"command":"ping"} x',
      Buffer.of(0xc1),
      Buffer.alloc(0),
      Buffer.of(0x81, 0xa1),
      Buffer.concat([encode({ command: 'ping' }), Buffer.of(0)]),
      Buffer.of(0x81, 0xc0, 0x01),
      Buffer.of(0xdd, 0xff, 0xff, 0xff, 0xff),
      Buffer.of(0xc6, 0xff, 0xff, 0xff, 0xff, 0x00),
      `{"command":"ping","data":${deep(64)}}`,
      encode({ command: 'ping', data: JSON.parse(deep(64)) }),
    ]
    await besideJob(async (client) => {
      for (const frame of undecodable) {
        client.sendRaw(frame)
        await client.next({ error: 'invalid_frame' })
      }
    })
  })

  test('a frame of 64 levels is accepted', async () => {
    await using client = await connect(bench.server)
    const deep = `${'['.repeat(63)}${']'.repeat(63)}`
    client.sendRaw(`{"type":"hello","data":${deep}}`)
    client.sendRaw(encode({ type: 'hello', data: JSON.parse(deep) }))
    await nothing(client, () => {})
  })

  test('a few bytes that claim a huge length allocate no memory', async () => {
    const bomb = Buffer.alloc(500)
    for (let at = 0; at < 500; at += 5) bomb.writeUInt8(0xdd, at)
    for (let at = 1; at < 500; at += 5) bomb.writeUInt32BE(30_000_000, at)
    await besideJob((client) =>
      belowInSome(200 * 1024 * 1024, async () => {
        const before = process.memoryUsage().rss
        client.sendRaw(bomb)
        client.sendRaw('['.repeat(16 * 1024 * 1024))
        await client.next({ error: 'invalid_frame' })
        await client.next({ error: 'invalid_frame' })
        return process.memoryUsage().rss - before
      }),
    )
  })

  test('invalid_message: a frame that is no map, or has neither command nor type', async () => {
    await besideJob(async (client) => {
      for (const message of [
        [],
        ['command'],
        1,
        'ping',
        null,
        true,
        {},
        { data: {} },
        { command: null },
        { command: 5 },
      ]) {
        for (const mode of ['binary', 'text'] as const) {
          client.send(message, mode)
          await client.next({ error: 'invalid_message' })
        }
      }
    })
  })

  test('a frame with a type and no command is ignored silently, both client_pong and unknown types', async () => {
    await besideJob(async (client) => {
      await nothing(client, () => {
        for (const type of ['pong', 'ping', 'anything', 7, {}]) client.send({ type, ts: 1 })
        client.send({ type: 'pong', command: null })
      })
    })
  })
})

describe('invalid commands', () => {
  test('invalid_command: a string with a lone surrogate, in both encodings; ids that differ only in it stay apart', async () => {
    await besideJob(async (client, running) => {
      for (const mode of ['binary', 'text'] as const) {
        for (const half of ['\ud800', 'x\udfff', `${'long '.repeat(5)}\ud83d`]) {
          client.send({ command: 'run_job', data: { job_id: half, graph: gated('never') }, request_id: 'half' }, mode)
          const refused = await client.next({ error: 'invalid_command' })
          const [problem] = refused.details as { path: string; message: string }[]
          assert.deepEqual([problem?.path, refused.job_id, refused.request_id], ['/data/job_id', undefined, 'half'])
        }
        client.send({ command: 'stream_input', data: { job_id: running, input: 'x', value: ['\udc00'] } }, mode)
        assert.equal((await client.next({ error: 'invalid_command' })).job_id, running)
        client.send({ command: 'get_node', data: { node_type: '\ud800' }, request_id: 'rpc' }, mode)
        const reply = await client.next({ request_id: 'rpc' })
        assert.equal((reply.error as { code: string }).code, 'INVALID_REQUEST')
        client.send({ command: 'get_status', data: { job_id: 'ퟻ😀' }, request_id: 'whole' }, mode)
        assert.equal((await client.next({ request_id: 'whole' })).status, 'unknown')
      }
    })
  })

  test('invalid_command: a MessagePack string or key that is not UTF-8, of any length', async () => {
    const LETTERS = 'abc'
    /** Bytes that lenient decoders accept: Latin-1, a truncated character, an overlong form, a surrogate in such a form. */
    const wrong = [[0xe9], [0xff, 0xfe], [0xe2, 0x82], [0xc0, 0x80], [0xf0, 0x8d, 0xa0, 0x80], [0xed, 0xa0, 0x80]]
    await besideJob(async (client, running) => {
      for (const bytes of wrong)
        for (const filler of ['', 'x'.repeat(300), 'x'.repeat(300_000)])
          for (const value of [[filler, LETTERS], { [LETTERS]: filler }]) {
            const frame = Buffer.from(encode({ command: 'stream_input', data: { job_id: running, input: 'x', value } }))
            const at = frame.indexOf(Buffer.of(0xa0 + LETTERS.length, ...Buffer.from(LETTERS)))
            const text = Buffer.of(0xa0 + bytes.length, ...bytes)
            client.sendRaw(Buffer.concat([frame.subarray(0, at), text, frame.subarray(at + 1 + LETTERS.length)]))
            assert.equal((await client.next({ error: 'invalid_command' })).job_id, running)
          }
      const long = Buffer.from(
        encode({ command: 'get_node', data: { node_type: 'x'.repeat(300) }, request_id: 'long' }),
      )
      long[long.indexOf('xxx') + 100] = 0xe9
      client.sendRaw(long)
      const { error } = (await client.next({ request_id: 'long' })) as { error: Frame }
      assert.match(String(error.message), /not UTF-8/)
    })
  })

  test('invalid_command: invalid data of a job command gives every problem and the job id of the command', async () => {
    await besideJob(async (client, job_id) => {
      const wrong: [object, string[]][] = [
        [{ command: 'cancel_job' }, ['/data']],
        [{ command: 'cancel_job', data: {} }, ['/data/job_id']],
        [{ command: 'cancel_job', data: { job_id: '' } }, ['/data/job_id']],
        [{ command: 'cancel_job', data: { job_id: 5 } }, ['/data/job_id']],
        [{ command: 'reconnect_job', data: { job_id, after_sequence: -1, x: 1 } }, ['/data/after_sequence', '/data/x']],
        [{ command: 'stream_input', data: { job_id } }, ['/data/input']],
        [{ command: 'end_input_stream', data: { job_id, input: 1 } }, ['/data/input']],
        [{ command: 'update_node_properties', data: { job_id, node_id: 'a' } }, ['/data/properties']],
        [{ command: 'get_status', data: { job: job_id } }, ['/data/job']],
        [{ command: 'cancel_job', data: { job_id }, extra: true }, ['/extra']],
        [
          { command: 'run_job', data: { job_id, params: [], timeout_seconds: 0, concurrent: 'no' } },
          ['/data/concurrent', '/data/params', '/data/timeout_seconds'],
        ],
      ]
      for (const [message, paths] of wrong) {
        client.send({ ...message, request_id: 'r' })
        const answer = await client.next({ error: 'invalid_command', request_id: 'r' })
        const found = (answer.details as { path: string }[]).map((problem) => problem.path)
        assert.deepEqual([...new Set(found)].sort(), paths)
        const named = (message as { data?: { job_id?: unknown } }).data?.job_id
        assert.equal(answer.job_id, named === job_id ? job_id : undefined)
      }
      client.command('cancel_job', { job_id, x: 1 }, null)
      assert.equal((await client.next({ error: 'invalid_command' })).request_id, undefined)
    })
  })

  test('invalid_command: of many problems a hundred are listed, with a note that there are more', async () => {
    await besideJob(async (client, job_id) => {
      for (const count of [100, 101, 50_000]) {
        const keys = Object.fromEntries(Array.from({ length: count }, (_, at) => [`key${at}`, 1]))
        client.command('cancel_job', { job_id, ...keys }, 'r')
        const { problems, details, more_problems } = await client.next({ error: 'invalid_command', request_id: 'r' })
        const lengths = [problems, details].map((list) => (list as unknown[]).length)
        assert.deepEqual([...lengths, more_problems], [100, 100, count > 100 ? true : undefined])
        const answer = await client.ask('list_nodes', keys)
        const error = answer.error as { problems: unknown[]; more_problems?: boolean }
        assert.deepEqual([error.problems.length, error.more_problems], [100, count > 100 ? true : undefined])
      }
    })
  })

  test('an unknown or planned command gets an rpc_response if it has a request_id, else an error frame', async () => {
    const planned = Object.values(commandManifest.ws).filter((one) => one.implementation !== 'implemented')
    assert.deepEqual(planned.map(({ command }) => command).sort(), [
      'get_job_snapshot',
      'request_job_cancellation',
      'submit_job',
      'subscribe_job',
    ])
    const commands = [...planned.map((one) => one.command), 'no_such', '', 'constructor', '__proto__', 'toString']
    await besideJob(async (client, job_id) => {
      for (const command of commands) {
        const answer = await client.ask(command, { job_id })
        const { code } = answer.error as { code: string }
        assert.deepEqual([answer.type, answer.command, code], ['rpc_response', command, 'NOT_FOUND'])
        for (const request_id of [undefined, null, 5, '', 'x'.repeat(129)]) {
          client.send({ command, data: { job_id }, request_id })
          assert.equal((await client.next({ type: 'error' })).command, command)
        }
      }
    })
  })

  test('invalid data of a read or a connection command gets an rpc_response with INVALID_REQUEST and every problem', async () => {
    await besideJob(async (client) => {
      const wrong: [string, unknown, string[]][] = [
        ['get_workflow', undefined, ['/data']],
        ['get_workflow', { id: 5, x: 1 }, ['/data/id', '/data/x']],
        ['list_workflows', { limit: 'many' }, ['/data/limit']],
        ['list_nodes', { fields: 'some' }, ['/data/fields']],
        ['get_node', {}, ['/data/node_type']],
        ['list_assets', { page_size: 1.5, q: '', x: 1 }, ['/data/page_size', '/data/q', '/data/x']],
        ['get_asset', { id: '', expires_in: 604_801 }, ['/data/expires_in', '/data/id']],
        ['get_asset', undefined, ['/data']],
        ['get_workflow_interface', { id: null }, ['/data/id']],
        ['set_mode', { mode: 'xml' }, ['/data/mode']],
        ['set_mode', undefined, ['/data']],
        ['ping', { x: 1 }, ['/data/x']],
      ]
      for (const [command, data, paths] of wrong) {
        const { error } = (await client.ask(command, data)) as { error: Frame }
        assert.equal(error.code, 'INVALID_REQUEST')
        const found = (error.problems as { path: string }[]).map((problem) => problem.path)
        assert.deepEqual([...new Set(found)].sort(), paths, command)
        client.command(command, data)
        assert.equal(frameName(await client.next({ type: 'error', command })), 'error')
      }
    })
  })

  test('a read without a request_id gets an error frame', async () => {
    await besideJob(async (client) => {
      for (const request_id of [undefined, null, 7, '']) {
        client.send({ command: 'list_workflows', data: {}, request_id })
        assert.match(String((await client.next({ type: 'error' })).message), /request_id/)
      }
    })
  })
})

describe('violations of the WebSocket protocol', () => {
  test('a frame above the limit closes with 1009, and the job runs on', async () => {
    await using small = await startBench({ config: { ws_max_message_bytes: 4096 } })
    await using client = await connect(small.server)
    const job_id = newId()
    client.command('run_job', { job_id, graph: gated(job_id) })
    await small.gates.at(job_id)
    client.send({ type: 'x', filler: 'y'.repeat(3_900) })
    await client.settled()
    client.sendRaw('y'.repeat(4_097))
    assert.equal((await client.closed()).code, 1009)
    await small.gates.open(job_id)
    await using other = await connect(small.server)
    other.command('reconnect_job', { job_id })
    await other.next({ type: 'job_update', job_id, status: 'completed' })
  })

  test('text that is not UTF-8 closes with 1007, and the server keeps running', async () => {
    await using client = await connect(bench.server)
    client.ws.send(Buffer.of(0x7b, 0xff, 0xfe, 0x7d), { binary: false })
    assert.equal((await client.closed()).code, 1007)
    await using other = await connect(bench.server)
    await other.settled()
  })
})
