// `resume_job`: a value for a waiting job, which sockets get the frames, and refusals.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Client, connect, type Frame, frameName, isEnding } from '../helpers/socket.ts'
import { jobRow, putJob } from '../helpers/store.ts'
import { type Bench, gated, graph, newId, node, startBench } from './kit.ts'

let bench: Bench
before(async () => {
  bench = await startBench()
})
after(() => bench[Symbol.asyncDispose]())

const waitFor = (id: string, schema: object | null = null) =>
  node(id, 'control.WaitFor', { name: `${id}_name`, schema })

/** Waits for a value named `a_name` and publishes it as `out`. */
const one = (schema: object | null = null) =>
  graph([waitFor('a', schema), node('out', 'output.Output', { name: 'out' })], ['a.value->out.value'])

/** Two nodes wait, `a` and `b`. */
const two = graph(
  [waitFor('a'), waitFor('b'), node('x', 'output.Output', { name: 'x' }), node('y', 'output.Output', { name: 'y' })],
  ['a.value->x.value', 'b.value->y.value'],
)

const shape = (frame: Frame) => [frameName(frame), frame.status ?? ''].join(' ').trim()

/** Starts a job and waits until it is suspended. */
async function suspended(client: Client, of: ReturnType<typeof graph>): Promise<string> {
  const job_id = newId()
  client.command('run_job', { job_id, graph: of })
  await client.next({ type: 'job_update', job_id, status: 'suspended' })
  return job_id
}

const outputs = (frames: readonly Frame[]) => (frames.at(-1)!.result as { outputs: unknown }).outputs

describe('resume_job', () => {
  test('is acknowledged; then the job runs, and ends once for each socket that follows it', async () => {
    await using first = await connect(bench.server)
    await using second = await connect(bench.server, { mode: 'text' })
    const job_id = await suspended(first, one())
    second.command('reconnect_job', { job_id })
    await second.next({ type: 'job_update', job_id, status: 'suspended' })
    const from = first.frames.length
    const ack = await first.ask('resume_job', { job_id, value: { yes: 1 } })
    assert.equal(frameName(ack), 'job_ack')
    assert.equal(ack.job_id, job_id)
    for (const client of [first, second]) {
      const frames = await client.collect(job_id)
      assert.deepEqual(outputs(frames), { out: [{ yes: 1 }] })
      assert.equal(frames.filter(isEnding).length, 1)
      await client.settled()
      assert.equal(client.of(job_id).filter(isEnding).length, 1)
    }
    const told = first.frames.slice(from).filter((frame) => frame.job_id === job_id)
    assert.deepEqual(told.slice(0, 2).map(shape), ['job_ack', 'job_update running'])
  })

  test('from a socket that does not follow the job makes it follow', async () => {
    await using first = await connect(bench.server)
    const job_id = await suspended(first, one())
    first.close()
    await using second = await connect(bench.server)
    second.command('resume_job', { job_id, value: 'now' })
    const frames = await second.collect(job_id)
    assert.deepEqual(frames.map(shape).slice(0, 2), ['job_ack', 'job_update running'])
    assert.deepEqual(outputs(frames), { out: ['now'] })
  })

  test('with the id or name of a node resumes it if several wait, one after the other', async () => {
    await using client = await connect(bench.server)
    const job_id = await suspended(client, two)
    const refusals: [object, string][] = [
      [{}, 'ambiguous'],
      [{ node_id: null, name: null }, 'ambiguous'],
      [{ node_id: 'c' }, 'not_waiting'],
      [{ name: 'c' }, 'not_waiting'],
      [{ node_id: 'a', name: 'b_name' }, 'not_waiting'],
    ]
    for (const [named, error] of refusals) {
      const answer = await client.ask('resume_job', { job_id, value: 1, ...named })
      assert.deepEqual([frameName(answer), answer.error], ['command_refused', error], JSON.stringify(named))
    }
    assert.equal(frameName(await client.ask('resume_job', { job_id, value: 1, node_id: 'b' })), 'job_ack')
    await client.next({ type: 'job_update', job_id, status: 'suspended' })
    assert.equal(frameName(await client.ask('resume_job', { job_id, value: 2, name: 'a_name' })), 'job_ack')
    assert.deepEqual(outputs(await client.collect(job_id)), { x: [2], y: [1] })
  })

  test('with an invalid value is refused with every problem, and the job keeps waiting', async () => {
    await using client = await connect(bench.server)
    const schema = { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } }
    const job_id = await suspended(client, one(schema))
    const answer = await client.ask('resume_job', { job_id, value: { n: 'x' } })
    assert.equal(answer.error, 'invalid_value')
    const problems = answer.problems as { path: string }[]
    assert.deepEqual(
      problems.map(({ path }) => path),
      ['/data/value/n'],
    )
    assert.equal((await client.ask('get_status', { job_id })).status, 'suspended')
    await client.ask('resume_job', { job_id, value: { n: 7 } })
    assert.deepEqual(outputs(await client.collect(job_id)), { out: [{ n: 7 }] })
  })

  test('of a job that is not waiting, has ended, is unknown or foreign affects no job', async () => {
    await using client = await connect(bench.server)
    const job_id = newId()
    client.command('run_job', { job_id, graph: gated(job_id) })
    await bench.gates.at(job_id)
    assert.equal((await client.ask('resume_job', { job_id, value: 1 })).error, 'not_suspended')
    await bench.gates.open(job_id)
    assert.equal((await client.collect(job_id)).filter(isEnding).length, 1)
    assert.equal((await client.ask('resume_job', { job_id, value: 1 })).error, 'not_suspended')
    const foreign = jobRow(900_001, { id: 'foreign', user_id: '2', status: 'paused', waiting: '[]' })
    await bench.server.context.store.write((tx) => putJob(tx, foreign))
    const { store } = bench.server.context
    const refusal = async (id: string) => {
      const before = store.statements
      const { job_id: _, request_id: __, ...rest } = await client.ask('resume_job', { job_id: id, value: 1 })
      return { rest, statements: store.statements - before }
    }
    const missing = await refusal('missing')
    assert.equal(missing.rest.error, 'not_running')
    assert.deepEqual(await refusal('foreign'), missing)
    assert.equal(client.frames.filter((frame) => frame.job_id === 'missing' && isEnding(frame)).length, 0)
  })

  test('without a value, or with another shape, is invalid_command', async () => {
    await using client = await connect(bench.server)
    for (const data of [{ job_id: 'x' }, { value: 1 }, { job_id: 'x', value: 1, more: 1 }]) {
      client.command('resume_job', data)
      assert.equal(frameName(await client.next({ error: 'invalid_command' })), 'invalid_command')
    }
  })

  test('during a shutdown is refused as unavailable', async () => {
    const own = await startBench()
    await using client = await connect(own.server)
    const waiting = await suspended(client, one())
    const held = newId()
    client.command('run_job', { job_id: held, graph: gated(held) })
    await own.gates.at(held)
    const closing = own.server.close(5_000)
    const answer = await client.ask('resume_job', { job_id: waiting, value: 1 })
    assert.equal(answer.error, 'unavailable')
    await own.gates.open(held)
    await closing
    await own[Symbol.asyncDispose]()
  })
})
