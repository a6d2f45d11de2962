// `reconnect_job`: following a job again, any number of times, without lost or doubled events.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { listChangedOutputs } from '../../src/sockets/jobs/changed-outputs.ts'
import { StoredJobFrames } from '../../src/sockets/jobs/frames.ts'
import { withoutTriggers } from '../helpers/checksums.ts'
import { until } from '../helpers/server.ts'
import { type Client, connect, type Frame, frameName } from '../helpers/socket.ts'
import { type Bench, flood, gated, gatedItems, graph, greeting, newId, node, startBench } from './kit.ts'

// Outputs and reconnects both grow by the square root, because each reconnect gets all outputs so far.
const scale = Math.ceil(Math.sqrt(Number(process.env.SVC_TEST_SCALE ?? 1)))

let bench: Bench
before(async () => {
  bench = await startBench()
})
after(() => bench[Symbol.asyncDispose]())

const shape = (frame: Frame) => [frameName(frame), frame.status ?? frame.disposition ?? ''].join(' ').trim()

/** Every item of a list of strings waits at the gate; the items are parts of one text. */
const texts = (key: string) =>
  graph(
    [
      node('in', 'input.String', { name: 'piece', stream: true }),
      node('gate', 'test.Gate', { key }),
      node('out', 'output.Output', { name: 'out' }),
    ],
    ['in.output->gate.value', 'gate.output->out.value'],
  )

async function reconnect(client: Client, data: { job_id: string; after_sequence?: number | null }): Promise<Frame[]> {
  const from = client.frames.length
  client.command('reconnect_job', data)
  await client.settledFor(data.job_id)
  return client.frames.slice(from).filter((frame) => frame.job_id === data.job_id && frame.type !== 'status')
}

describe('reconnect_job', () => {
  test('of a running job sends job_resumed, the state, the outputs so far with replace, then live frames', async () => {
    await using first = await connect(bench.server)
    const job_id = newId()
    first.command('run_job', { job_id, graph: texts(job_id), params: { piece: ['to', 'get', 'her'] } })
    await bench.gates.open(job_id)
    await bench.gates.open(job_id)
    await first.next({ type: 'output_update', value: 'get' })
    await using second = await connect(bench.server)
    const frames = await reconnect(second, { job_id })
    assert.deepEqual(frames.map(shape), ['job_resumed running', 'job_update running', 'output_update replace'])
    assert.equal(frames[2]?.value, 'toget')
    first.close()
    await bench.gates.open(job_id)
    const all = await second.collect(job_id)
    assert.deepEqual(
      all.filter((frame) => frame.type === 'output_update').map((frame) => [frame.disposition, frame.value]),
      [
        ['replace', 'toget'],
        ['append', 'her'],
      ],
    )
    assert.deepEqual(all.at(-1)?.result, { outputs: { out: ['to', 'get', 'her'] } })
  })

  test('of a job that has ended sends the outputs and then the terminal frame each time, also on a socket that has seen the end', async () => {
    await using client = await connect(bench.server)
    await using other = await connect(bench.server, { mode: 'text' })
    const job_id = newId()
    client.command('run_job', { job_id, graph: greeting, params: { name: 'Ada' } })
    const end = (await client.collect(job_id)).at(-1)
    for (const one of [client, other]) {
      const frames = await reconnect(one, { job_id })
      assert.deepEqual(frames.map(shape), ['job_resumed completed', 'output_update replace', 'job_update completed'])
      assert.deepEqual(frames[2], end)
      assert.deepEqual([frames[1]?.value, frames[1]?.node_name], ['Hello, Ada!', frames[1]?.node_id])
      const again = await reconnect(one, { job_id })
      assert.deepEqual(again.map(shape), ['job_resumed completed', 'job_update completed'])
    }
  })

  test('with after_sequence does not repeat outputs that have not changed since', async () => {
    await using client = await connect(bench.server)
    const job_id = newId()
    client.command('run_job', { job_id, graph: greeting })
    await client.collect(job_id)
    const [resumed] = await reconnect(client, { job_id, after_sequence: 0 })
    const last = Number(resumed?.last_sequence)
    assert.equal((await reconnect(client, { job_id, after_sequence: null })).length, 2)
    assert.equal((await reconnect(client, { job_id, after_sequence: 0 })).length, 3)
    assert.equal((await reconnect(client, { job_id, after_sequence: last })).length, 2)
    assert.equal((await reconnect(client, { job_id, after_sequence: last + 1000 })).length, 2)
  })

  test('of a queued job sends its place in the queue', async () => {
    await using queueing = await startBench({ config: { max_concurrent_jobs: 1 } })
    await using client = await connect(queueing.server)
    await using other = await connect(queueing.server)
    const [running, waiting] = [newId(), newId()]
    client.command('run_job', { job_id: running, graph: gated(running) })
    client.command('run_job', { job_id: waiting, graph: greeting })
    await client.next({ job_id: waiting, status: 'queued' })
    other.command('reconnect_job', { job_id: waiting })
    assert.equal((await other.next({ type: 'job_update', job_id: waiting })).queue_position, 1)
    await queueing.gates.open(running)
    assert.equal((await other.collect(waiting)).at(-1)?.status, 'completed')
    await client.collect(waiting)
  })

  test('of an unknown job sends one job_update failed', async () => {
    await using client = await connect(bench.server)
    const frames = await reconnect(client, { job_id: newId('nobody') })
    assert.deepEqual(frames.map(shape), ['job_update failed'])
  })

  test('of a failed or cancelled job sends its end again', async () => {
    await using client = await connect(bench.server)
    const [failed, cancelled] = [newId(), newId()]
    client.command('run_job', { job_id: failed, graph: graph([node('bad', 'test.Fail', { value: 'no' })], []) })
    client.command('run_job', { job_id: cancelled, graph: gated(cancelled) })
    await bench.gates.at(cancelled)
    client.command('cancel_job', { job_id: cancelled })
    for (const job_id of [failed, cancelled]) {
      const end = (await client.collect(job_id)).at(-1)
      assert.deepEqual((await reconnect(client, { job_id })).at(-1), end)
    }
  })

  test('sends a null output as null, and nothing for an output without a value', async () => {
    await using client = await connect(bench.server)
    const job_id = newId()
    const of = graph(
      [
        node('in', 'input.Any', { name: 'x', value: 1 }),
        node('flag', 'input.Boolean', { name: 'flag', value: true }),
        node('if', 'control.If'),
        node('yes', 'output.Output', { name: 'yes' }),
        node('no', 'output.Output', { name: 'no' }),
      ],
      ['in.output->if.value', 'flag.output->if.condition', 'if.if_true->yes.value', 'if.if_false->no.value'],
    )
    client.command('run_job', { job_id, graph: of, params: { x: null } })
    const end = (await client.collect(job_id)).at(-1)
    assert.deepEqual(end?.result, { outputs: { yes: [null], no: [] } })
    assert.deepEqual((await reconnect(client, { job_id })).at(-1), end)
  })

  test('a hundred times while the job streams doubles, loses and restarts nothing', async () => {
    await using client = await connect(bench.server)
    await using watcher = await connect(bench.server)
    const job_id = newId()
    const count = 1_500 * scale
    watcher.command('run_job', { job_id, graph: flood(count, 4, 1) })
    for (let at = 0; at < 100 * scale; at++) {
      client.command('reconnect_job', { job_id })
      await client.next({ type: 'job_resumed', job_id })
    }
    const frames = await client.collect(job_id)
    await watcher.collect(job_id)
    const items = watcher
      .of(job_id)
      .filter((frame) => frame.type === 'output_update')
      .map((frame) => frame.value)
    const live = frames.filter((frame) => frame.type === 'job_resumed' && frame.status === 'running')
    assert.ok(live.length >= 10, `only ${live.length} came while it ran`)
    assert.equal(items.length, count)
    assert.equal(fold(frames), items.join(''))
    assert.equal(
      watcher.of(job_id).filter((frame) => frame.status === 'running' && frame.type === 'job_update').length,
      1,
    )
  })

  test('after the end, while a slow reader still gets frames, sends no append and no end twice', async () => {
    await using slow = await connect(bench.server)
    await using quick = await connect(bench.server)
    const [job_id, count, size] = [newId(), 480, 64 * 1024]
    slow.ws.pause()
    slow.command('run_job', { job_id, graph: flood(count, size) })
    await until('the job', async () => (await quick.ask('get_status', { job_id })).status === 'completed')
    slow.command('reconnect_job', { job_id })
    slow.command('cancel_job', { job_id })
    slow.ws.resume()
    await slow.next({ type: 'job_resumed', job_id })
    await slow.next({ type: 'output_update', disposition: 'replace' })
    await slow.settledFor(job_id)
    const frames = slow.of(job_id)
    const resumed = frames.findIndex((frame) => frame.type === 'job_resumed')
    const outputs = frames.filter((frame) => frame.type === 'output_update')
    assert.ok(outputs.length < count, 'the first loop was stopped on its way')
    assert.deepEqual(
      frames.slice(resumed).filter((frame) => frame.disposition === 'append'),
      [],
    )
    assert.equal(String(outputs.at(-1)?.value).length, count * size)
    // One end for reconnect_job, one for cancel_job.
    assert.equal(frames.filter((frame) => frame.status === 'completed' && frame.type === 'job_update').length, 2)
  })

  test('sends every event to a reader that is served from the database', async () => {
    await using first = await connect(bench.server)
    const job_id = newId()
    const list = Array.from({ length: 3_000 }, (_, at) => at)
    const of = graph(
      [
        node('in', 'input.List', { name: 'list' }),
        node('each', 'control.ForEach'),
        node('out', 'output.Output', { name: 'out' }),
        node('gate', 'test.Gate', { key: job_id, value: 1 }),
      ],
      ['in.output->each.list', 'each.item->out.value'],
    )
    first.command('run_job', { job_id, graph: of, params: { list } })
    await first.next((frame) => frame.type === 'output_update' && frame.value === 2_999)
    const { jobs, events } = bench.server.context.runs
    const { row } = await jobs.get({ user_id: '1', workspace_id: null }, job_id)
    const stop = new AbortController()
    const seen: number[] = []
    for await (const item of events.follow(row.key, 0, stop.signal)) {
      if (item.sequence !== null) seen.push(item.sequence)
      if (item.sequence === row.last_sequence) stop.abort()
    }
    assert.deepEqual(
      seen,
      Array.from({ length: row.last_sequence }, (_, at) => at + 1),
    )
    await bench.gates.open(job_id)
    await first.collect(job_id)
  })

  test('again and again does not read events that the client has got already', async (t) => {
    await using client = await connect(bench.server)
    const job_id = newId()
    client.command('run_job', { job_id, graph: flood(100, 4) })
    await client.collect(job_id)
    const { context } = bench.server
    const { row } = await context.runs.jobs.get({ user_id: '1', workspace_id: null }, job_id)
    const parse = t.mock.method(JSON, 'parse')
    const cost = async (told: number) => {
      const before = parse.mock.callCount()
      const changed = (await listChangedOutputs(context.runs, row, told)).length
      return [changed, parse.mock.callCount() - before]
    }
    const [last, all] = [row.last_sequence, 100]
    assert.deepEqual(await cost(0), [1, all])
    // The last event is the end, which is not an output.
    assert.deepEqual(
      [await cost(last), await cost(last + 7), await cost(last - 1)],
      [
        [0, 0],
        [0, 0],
        [0, 0],
      ],
    )
  })

  test('sends the error of a node from the database as it was sent live', async () => {
    await using client = await connect(bench.server)
    const job_id = newId()
    client.command('run_job', { job_id, graph: graph([node('bad', 'test.Fail', { value: 'no such luck' })], []) })
    const live = (await client.collect(job_id)).filter((frame) => frame.type === 'node_update')
    const { context } = bench.server
    const { row } = await context.runs.jobs.get({ user_id: '1', workspace_id: null }, job_id)
    const told: unknown[] = []
    for await (const { event, sequence } of context.runs.events.follow(row.key, 0, AbortSignal.timeout(60_000))) {
      if (event?.type === 'node_status') told.push(new StoredJobFrames(row, context.runs).ofEvent(event, sequence!))
    }
    assert.deepEqual(told, live)
    assert.equal(live.at(-1)?.error, 'no such luck')
  })

  test('that is refused follows no job', async () => {
    await using own = await startBench()
    await using first = await connect(own.server)
    const job_id = newId()
    first.command('run_job', { job_id, graph: texts(job_id), params: { piece: ['to', 'get'] } })
    await own.gates.open(job_id)
    await first.next({ type: 'output_update', value: 'to' })
    const db = new Database(join(own.server.data_dir, 'svc.db'))
    withoutTriggers(db, () => db.exec("update job_event set created_at = 'torn' where type = 'output_update'"))
    db.close()

    await using second = await connect(own.server)
    second.command('reconnect_job', { job_id }, 'r')
    assert.equal((await second.next({ request_id: 'r' })).code, 'DATA_DAMAGED')
    const from = second.frames.length
    await own.gates.open(job_id)
    await first.collect(job_id)
    await second.settled()
    assert.deepEqual(
      second.frames.slice(from).filter((frame) => frame.job_id === job_id),
      [],
    )
  })

  test('on another socket sees the end of a job whose socket has closed', async () => {
    const job_id = newId()
    {
      await using gone = await connect(bench.server)
      gone.command('run_job', { job_id, graph: gatedItems(job_id), params: { list: [1, 2] } })
      await bench.gates.open(job_id)
      await bench.gates.at(job_id)
    }
    await using client = await connect(bench.server)
    await reconnect(client, { job_id })
    await bench.gates.open(job_id)
    assert.deepEqual((await client.collect(job_id)).at(-1)?.result, { outputs: { out: [1, 2] } })
  })
})

/** The outputs of a client that applies every output frame. */
function fold(frames: readonly Frame[]): string {
  let text = ''
  for (const { type, disposition, value } of frames) {
    if (type === 'output_update') text = disposition === 'replace' ? String(value) : text + String(value)
  }
  return text
}
