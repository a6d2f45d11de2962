// Commands for a running job: `stream_input`, `end_input_stream`, `update_node_properties`.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { MAX_QUEUED_VALUES } from '../../src/jobs/run/queued-job-inputs.ts'
import { type Client, connect } from '../helpers/socket.ts'
import { type Bench, gated, graph, greeting, newId, node, startBench, streamed } from './kit.ts'

let bench: Bench
before(async () => {
  bench = await startBench()
})
after(() => bench[Symbol.asyncDispose]())

async function running(client: Client, job_id: string, of = streamed()): Promise<void> {
  client.command('run_job', { job_id, graph: of })
  await client.next({ type: 'job_update', job_id, status: 'running' })
}

describe('stream_input and end_input_stream', () => {
  test('values become items of the stream, in order and from any socket; after the end of the stream the job ends', async () => {
    await using client = await connect(bench.server)
    await using other = await connect(bench.server, { mode: 'text' })
    const job_id = newId()
    await running(client, job_id)
    for (let at = 0; at < 20; at++) client.command('stream_input', { job_id, input: 'x', value: at })
    await client.next({ type: 'output_update', value: 19 })
    const ack = await other.ask('stream_input', {
      job_id,
      input: 'x',
      handle: 'output',
      workflow_id: null,
      value: 'last',
    })
    assert.equal(ack.job_id, job_id)
    await other.ask('end_input_stream', { job_id, input: 'x', value: 'ignored' })
    const frames = await client.collect(job_id)
    const out = [...Array(20).keys(), 'last']
    assert.deepEqual(frames.at(-1)?.result, { outputs: { out } })
    assert.equal(frames.filter((frame) => frame.message !== undefined).length, 21)
  })

  test('an absent value is null', async () => {
    await using client = await connect(bench.server)
    const job_id = newId()
    await running(client, job_id)
    client.command('stream_input', { job_id, input: 'x' })
    client.command('end_input_stream', { job_id, input: 'x' })
    assert.deepEqual((await client.collect(job_id)).at(-1)?.result, { outputs: { out: [null] } })
  })

  test('a stream_input right after run_job is executed after it', async () => {
    await using client = await connect(bench.server)
    const job_id = newId()
    client.command('run_job', { job_id, graph: streamed('input.Integer') })
    client.command('stream_input', { job_id, input: 'x', value: 7 }, 'push')
    client.command('end_input_stream', { job_id, input: 'x' })
    assert.equal((await client.next({ request_id: 'push' })).error, undefined)
    assert.deepEqual((await client.collect(job_id)).at(-1)?.result, { outputs: { out: [7] } })
  })

  test('unknown_input, not_a_stream, invalid_value and not_running replace the acknowledgement', async () => {
    await using client = await connect(bench.server)
    const job_id = newId()
    const of = graph(
      [
        node('in', 'input.Integer', { name: 'x', stream: true, max: 10 }),
        node('single', 'input.Any', { name: 'y', value: 1 }),
        node('out', 'output.Output', { name: 'out' }),
      ],
      ['in.output->out.value'],
    )
    await running(client, job_id, of)
    const word = async (command: string, data: object) => (await client.ask(command, { job_id, ...data })).error
    assert.equal(await word('stream_input', { input: 'z', value: 1 }), 'unknown_input')
    assert.equal(await word('stream_input', { input: 'x', handle: 'z', value: 1 }), 'unknown_input')
    assert.equal(await word('end_input_stream', { input: 'z' }), 'unknown_input')
    assert.equal(await word('stream_input', { input: 'y', value: 1 }), 'not_a_stream')
    assert.equal(await word('end_input_stream', { input: 'y' }), 'not_a_stream')
    for (const value of ['text', 1.5, null, 11]) {
      const refused = await client.ask('stream_input', { job_id, input: 'x', value })
      assert.equal(refused.error, 'invalid_value')
      assert.deepEqual(
        (refused.problems as { path: string }[]).map((problem) => problem.path),
        ['/data/value'],
      )
    }
    assert.equal(await word('stream_input', { input: 'x', value: 10 }), undefined)
    assert.equal(await word('end_input_stream', { input: 'x' }), undefined)
    await client.collect(job_id)
    assert.deepEqual(client.of(job_id).at(-1)?.result, { outputs: { out: [10] } })
    assert.equal(await word('stream_input', { input: 'x', value: 1 }), 'not_running')
    assert.equal(await word('end_input_stream', { input: 'x' }), 'not_running')
    const nobody = await client.ask('stream_input', { job_id: 'nobody', input: 'x', value: 1 })
    assert.deepEqual([nobody.error, nobody.job_id], ['not_running', 'nobody'])
  })

  test('an input that has ended takes no value, and ending it again changes nothing', async () => {
    await using client = await connect(bench.server)
    const job_id = newId()
    const of = graph(
      [
        node('in', 'input.Any', { name: 'x', stream: true }),
        node('gate', 'test.Gate', { key: job_id }),
        node('out', 'output.Output', { name: 'out' }),
      ],
      ['in.output->gate.value', 'gate.output->out.value'],
    )
    await running(client, job_id, of)
    await client.ask('stream_input', { job_id, input: 'x', value: 'a' })
    assert.equal((await client.ask('end_input_stream', { job_id, input: 'x' })).error, undefined)
    assert.equal((await client.ask('end_input_stream', { job_id, input: 'x' })).error, undefined)
    assert.equal((await client.ask('stream_input', { job_id, input: 'x', value: 'b' })).error, 'not_running')
    await bench.gates.open(job_id)
    assert.deepEqual((await client.collect(job_id)).at(-1)?.result, { outputs: { out: ['a'] } })
  })
})

describe('update_node_properties', () => {
  test('firings that have not begun see the new values, and `applied` names the changed properties', async () => {
    await using client = await connect(bench.server)
    const job_id = newId()
    const of = graph(
      [
        node('in', 'input.String', { name: 'name', value: 'Ada' }),
        node('gate', 'test.Gate', { key: job_id }),
        node('say', 'text.Template', { template: 'Hello, {{name}}!' }),
        node('out', 'output.Output', { name: 'out' }),
      ],
      ['in.output->gate.value', 'gate.output->say.name', 'say.output->out.value'],
    )
    client.command('run_job', { job_id, graph: of })
    await bench.gates.at(job_id)
    const change = (node_id: string, properties: object) =>
      client.ask('update_node_properties', { job_id, node_id, properties, workflow_id: null })
    const ack = await change('say', { template: 'Goodbye, {{name}}!', name: 'nobody', no_such: 1 })
    assert.deepEqual(ack.applied, ['template'])
    assert.deepEqual((await change('say', {})).applied, [])
    assert.deepEqual((await change('say', { template: 5 })).applied, [])
    assert.equal((await change('nobody', { template: 'x' })).error, 'unknown_node')
    await bench.gates.open(job_id)
    assert.deepEqual((await client.collect(job_id)).at(-1)?.result, { outputs: { out: ['Goodbye, Ada!'] } })
    assert.equal((await change('say', { template: 'x' })).error, 'not_running')
  })

  test('is refused with not_running and a reason if the changes of a job are too large together', async () => {
    await using client = await connect(bench.server)
    const job_id = newId()
    const nodes = [node('in', 'input.Any', { name: 'x', stream: true }), node('say', 'text.Concat', { a: 'a' })]
    await running(
      client,
      job_id,
      graph([...nodes, node('out', 'output.Output', { name: 'out' })], ['in.output->say.b', 'say.output->out.value']),
    )
    const change = (node_id: string, length: number) =>
      client.ask('update_node_properties', { job_id, node_id, properties: { a: 'x'.repeat(length) } })
    for (let time = 0; time < 2; time++) assert.deepEqual((await change('say', 15_000_000)).applied, ['a'])
    const refused = await change('say', 15_000_000)
    assert.deepEqual([refused.error, refused.code], ['not_running', 'CONFLICT'])
    assert.match(String(refused.message), /too large together/)
    assert.equal((await change('nobody', 15_000_000)).error, 'unknown_node')
    assert.deepEqual((await change('say', 1)).applied, ['a'])
    client.command('end_input_stream', { job_id, input: 'x' })
    await client.collect(job_id)
  })

  test('is refused with not_running for an unknown job', async () => {
    await using client = await connect(bench.server)
    const refused = await client.ask('update_node_properties', { job_id: 'nobody', node_id: 'say', properties: {} })
    assert.deepEqual([refused.error, refused.job_id], ['not_running', 'nobody'])
  })
})

describe('a job that waits for its turn', () => {
  const limited = () => startBench({ config: { max_concurrent_jobs: 1 } })

  async function queued(client: Client, of: Graph, params: object = {}): Promise<[first: string, waiting: string]> {
    const [first, waiting] = [newId(), newId()]
    client.command('run_job', { job_id: first, graph: gated(first) })
    client.command('run_job', { job_id: waiting, graph: of, params })
    await client.next({ job_id: waiting, status: 'queued' })
    return [first, waiting]
  }

  test('stream_input and end_input_stream: its values are kept in order until it starts', async () => {
    await using bench = await limited()
    await using client = await connect(bench.server)
    const [first, job_id] = await queued(client, streamed('input.Integer'))
    for (const value of [1, 2, 3]) {
      const ack = await client.ask('stream_input', { job_id, input: 'x', value })
      assert.deepEqual([ack.error, ack.message], [undefined, 'The value is accepted.'])
    }
    const refused = async (command: string, data: object) => (await client.ask(command, { job_id, ...data })).error
    assert.equal(await refused('stream_input', { input: 'x', value: 'no' }), 'invalid_value')
    assert.equal(await refused('stream_input', { input: 'y', value: 1 }), 'unknown_input')
    assert.equal(await refused('stream_input', { input: 'x', handle: 'y', value: 1 }), 'unknown_input')
    assert.equal(await refused('end_input_stream', { input: 'x' }), undefined)
    assert.equal(await refused('end_input_stream', { input: 'x' }), undefined)
    assert.equal(await refused('stream_input', { input: 'x', value: 4 }), 'not_running')
    await bench.gates.open(first)
    assert.deepEqual((await client.collect(job_id)).at(-1)?.result, { outputs: { out: [1, 2, 3] } })
    assert.equal(await refused('stream_input', { input: 'x', value: 4 }), 'not_running')
  })

  test('update_node_properties: the change applies before the first firing', async () => {
    await using bench = await limited()
    await using client = await connect(bench.server)
    const [first, job_id] = await queued(client, greeting)
    const ask = (node_id: string, properties: object) =>
      client.ask('update_node_properties', { job_id, node_id, properties })
    assert.deepEqual((await ask('say', { template: 'Bye, {{name}}!', other: 1 })).applied, ['template'])
    assert.equal((await ask('nobody', {})).error, 'unknown_node')
    assert.equal((await client.ask('stream_input', { job_id, input: 'name', value: 'x' })).error, 'not_a_stream')
    await bench.gates.open(first)
    assert.deepEqual((await client.collect(job_id)).at(-1)?.result, { outputs: { greeting: ['Bye, world!'] } })
  })

  test('not_running: a complete stream takes no values, and the number of kept values is limited', async () => {
    await using bench = await limited()
    await using client = await connect(bench.server)
    const [first, whole] = await queued(client, streamed(), { x: [1] })
    assert.equal((await client.ask('stream_input', { job_id: whole, input: 'x', value: 2 })).error, 'not_running')
    const open = newId()
    client.command('run_job', { job_id: open, graph: streamed() })
    for (let at = 0; at < MAX_QUEUED_VALUES; at++)
      client.command('stream_input', { job_id: open, input: 'x', value: at })
    const full = await client.ask('stream_input', { job_id: open, input: 'x', value: 'more' })
    assert.deepEqual([full.error, /queue of this input is full/.test(full.message!)], ['not_running', true])
    await client.ask('end_input_stream', { job_id: open, input: 'x' })
    await bench.gates.open(first)
    const out = [...Array(MAX_QUEUED_VALUES).keys()]
    assert.deepEqual((await client.collect(open)).at(-1)?.result, { outputs: { out } })
    assert.deepEqual((await client.collect(whole)).at(-1)?.result, { outputs: { out: [1] } })
  })
})
