// Commands for a living job that cannot be stored: each is refused once with `unavailable`, and no frame looks like the end of the job.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { LOCAL_PRINCIPAL } from '../../src/access/principal.ts'
import { cannotMount, fill, smallDisk } from '../db/kit.ts'
import { withoutTriggers } from '../helpers/checksums.ts'
import { call } from '../helpers/http.ts'
import { until } from '../helpers/server.ts'
import { type Client, connect, type Frame, frameName, isEnding } from '../helpers/socket.ts'
import { Saboteur } from '../jobs/kit.ts'
import { type Bench, gated, graph, greeting, newId, node, startBench } from './kit.ts'

const PREVIEW = { environment: { SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' } }

/** Makes the database writable again. */
type Obstacle = (bench: Bench) => Disposable

/** Values and changes have no events, so the events of a job are refused as well. */
const refusingTrigger: Obstacle = ({ server }) => {
  const saboteur = new Saboteur(server)
  const db = new Database(join(server.data_dir, 'svc.db'))
  saboteur.break()
  db.exec("create trigger broken_job before update on job begin select raise(abort, 'the disk is gone'); end")
  return {
    [Symbol.dispose]() {
      db.exec('drop trigger broken_job')
      db.close()
      saboteur[Symbol.dispose]()
    },
  }
}

/** A reader prevents a restart of the write-ahead log, so that every commit needs disk space. */
const fullDisk: Obstacle = ({ server }) => {
  const reader = new Database(join(server.data_dir, 'svc.db'), { readonly: true })
  reader.exec('begin')
  reader.prepare('select count(*) from job').get()
  const filled = fill(server.data_dir)
  return {
    [Symbol.dispose]() {
      reader.close()
      filled[Symbol.dispose]()
    },
  }
}

/** Damages the row of a job, until it is disposed of. */
function damagedRow({ server }: Bench, job_id: string): Disposable {
  const db = new Database(join(server.data_dir, 'svc.db'))
  const change = (by: number) =>
    withoutTriggers(db, () => db.prepare('update job set seed = seed + ? where id = ?').run(by, job_id))
  change(1)
  return {
    [Symbol.dispose]() {
      change(-1)
      db.close()
    },
  }
}

/** Its value waits at the gate of the key, which must not fire twice, and `x` takes values meanwhile. */
const fed = (key: string) =>
  graph(
    [
      node('in', 'input.Any', { name: 'x', stream: true }),
      node('held', 'input.Any', { name: 'y', value: '1' }),
      node('gate', 'test.Once', { key }),
      node('say', 'text.Concat', { a: 'said ' }),
      node('out', 'output.Output', { name: 'out' }),
      node('echo', 'output.Output', { name: 'echo' }),
    ],
    ['in.output->echo.value', 'held.output->gate.value', 'gate.output->say.b', 'say.output->out.value'],
  )

const asking = graph(
  [node('wait', 'control.WaitFor', { name: 'word' }), node('out', 'output.Output', { name: 'out' })],
  ['wait.value->out.value'],
)

/** A job at its gate, which the client has started and the watcher follows. */
async function running(bench: Bench, client: Client, watcher: Client): Promise<string> {
  const job_id = newId()
  client.command('run_job', { job_id, graph: fed(job_id) })
  await bench.gates.at(job_id)
  watcher.command('reconnect_job', { job_id })
  await watcher.next({ type: 'job_update', job_id })
  return job_id
}

/** All ends of a job that a client got, once no more frames come. */
async function endsOf(client: Client, job_id: string): Promise<unknown[][]> {
  await client.collect(job_id)
  await client.settled()
  return client
    .of(job_id)
    .filter(isEnding)
    .map(({ status, result }) => [status, result])
}

function told(client: Client, job_id: string, from: number): Frame[] {
  return client.frames.slice(from).filter((frame) => frame.job_id === job_id)
}

async function refusedOnce(
  client: Client,
  command: string,
  data: { job_id: string } & Record<string, unknown>,
): Promise<void> {
  const from = client.frames.length
  const request_id = newId('refused')
  client.command(command, data, request_id)
  const answer = await client.next({ request_id })
  await client.settled()
  const { error, code, message, job_id } = answer
  assert.deepEqual(
    [frameName(answer), error, code, job_id],
    ['command_refused', 'unavailable', 'SERVICE_UNAVAILABLE', data.job_id],
  )
  assert.doesNotMatch(String(message), /disk|sqlite|full/i)
  const frames = told(client, data.job_id, from)
  assert.equal(frames.filter((frame) => frame.request_id !== undefined).length, 1)
  assert.ok(!frames.some(isEnding), JSON.stringify(frames))
}

function behaves(
  name: string,
  skip: string | false,
  start: () => Promise<Bench & { clean?: Disposable }>,
  obstacle: Obstacle,
) {
  describe(name, { skip }, () => {
    test('a cancellation, values and a change of a running job are refused, and the job continues as if they had not been sent', async () => {
      await using bench = await start()
      await using client = await connect(bench.server)
      await using watcher = await connect(bench.server)
      const job_id = await running(bench, client, watcher)
      {
        using _ = obstacle(bench)
        await refusedOnce(client, 'stream_input', { job_id, input: 'x', value: 'lost' })
        await refusedOnce(client, 'end_input_stream', { job_id, input: 'x' })
        for (const sender of [client, watcher]) await refusedOnce(sender, 'cancel_job', { job_id })
        await refusedOnce(client, 'update_node_properties', { job_id, node_id: 'say', properties: { a: 'other ' } })
        for (const value of ['one', 'two']) client.command('stream_input', { job_id, input: 'x', value }, value)
        for (const request_id of ['one', 'two']) assert.equal((await client.next({ request_id })).error, 'unavailable')
        assert.ok(![...client.of(job_id), ...watcher.of(job_id)].some(isEnding))
      }
      for (const value of ['first', 'second'])
        assert.equal((await client.ask('stream_input', { job_id, input: 'x', value })).error, undefined)
      assert.equal((await client.ask('end_input_stream', { job_id, input: 'x' })).error, undefined)
      await bench.gates.open(job_id)
      const outputs = { out: ['said 1'], echo: ['first', 'second'] }
      for (const one of [client, watcher]) assert.deepEqual(await endsOf(one, job_id), [['completed', { outputs }]])
      assert.deepEqual(
        bench.gates.begun.filter((key) => key === job_id),
        [job_id],
      )
      const { row } = await bench.server.context.runs.jobs.get(LOCAL_PRINCIPAL, job_id)
      assert.equal(row.attempt, 1)
    })

    test('a cancellation that was refused is stored when it is sent again', async () => {
      await using bench = await start()
      await using client = await connect(bench.server)
      await using watcher = await connect(bench.server)
      const job_id = await running(bench, client, watcher)
      {
        using _ = obstacle(bench)
        await refusedOnce(client, 'cancel_job', { job_id })
        const over_http = await call(bench.server, 'POST', `/api/jobs/${job_id}/cancel`)
        assert.equal(over_http.status, 503)
      }
      assert.ok(bench.gates.isWaiting(job_id))
      client.command('cancel_job', { job_id })
      for (const one of [client, watcher]) assert.deepEqual(await endsOf(one, job_id), [['cancelled', undefined]])
    })

    test('a cancellation of the lifecycle profile is refused over HTTP and the socket, and stored when it is sent again', async () => {
      await using bench = await start()
      await using client = await connect(bench.server)
      await using watcher = await connect(bench.server)
      const job_id = await running(bench, client, watcher)
      {
        using _ = obstacle(bench)
        for (let time = 0; time < 2; time++) {
          const { error, result } = await client.ask('request_job_cancellation', { job_id })
          assert.deepEqual([(error as { code: string }).code, result], ['SERVICE_UNAVAILABLE', undefined])
          assert.equal((await call(bench.server, 'POST', `/api/sdk/v1/jobs/${job_id}/cancel`)).status, 503)
        }
        assert.ok(![...client.of(job_id), ...watcher.of(job_id)].some(isEnding))
      }
      assert.ok(bench.gates.isWaiting(job_id))
      assert.equal((await client.ask('request_job_cancellation', { job_id })).error, undefined)
      assert.deepEqual(await endsOf(watcher, job_id), [['cancelled', undefined]])
    })

    test('a queued job keeps its place, and a suspended job keeps waiting', async () => {
      await using bench = await start()
      await using client = await connect(bench.server)
      const [first, second, third, asked] = [newId(), newId(), newId(), newId()]
      client.command('run_job', { job_id: asked, graph: asking })
      await client.next({ type: 'job_update', job_id: asked, status: 'suspended' })
      const workflow_id = 'in-turn'
      client.command('run_job', { job_id: first, workflow_id, graph: gated(first) })
      await bench.gates.at(first)
      for (const job_id of [second, third]) {
        client.command('run_job', { job_id, workflow_id, concurrent: false, graph: gated(job_id) })
        await client.next({ type: 'job_update', job_id, status: 'queued' })
      }
      {
        using _ = obstacle(bench)
        for (const job_id of [second, asked]) await refusedOnce(client, 'cancel_job', { job_id })
        await refusedOnce(client, 'resume_job', { job_id: asked, value: 'lost' })
        for (const job_id of [second, asked]) await refusedOnce(client, 'cancel_job', { job_id })
        await refusedOnce(client, 'resume_job', { job_id: asked, value: 'lost as well' })
      }
      assert.equal((await client.ask('get_status', { job_id: second })).queue_position, 1)
      assert.equal((await client.ask('resume_job', { job_id: asked, value: 'said' })).error, undefined)
      assert.deepEqual(await endsOf(client, asked), [['completed', { outputs: { out: ['said'] } }]])
      await bench.gates.open(first)
      await bench.gates.at(second)
      assert.ok(!bench.gates.isWaiting(third))
      await client.ask('cancel_job', { job_id: third })
      await bench.gates.open(second)
      assert.deepEqual(await endsOf(client, third), [['cancelled', undefined]])
      assert.deepEqual(
        (await endsOf(client, second)).map(([status]) => status),
        ['completed'],
      )
    })

    test('a run that was never stored gets only its job_update failed', async () => {
      await using bench = await start()
      await using client = await connect(bench.server)
      const job_id = newId()
      using _ = obstacle(bench)
      client.command('run_job', { job_id, graph: greeting, params: { name: 'x'.repeat(100_000) } }, 'r')
      const frames = await client.collect(job_id)
      await client.settled()
      assert.deepEqual(
        client.of(job_id).map((frame) => [frameName(frame), frame.status]),
        [['job_update', 'failed']],
      )
      assert.equal(frames.length, 1)
      client.command('cancel_job', { job_id }, 'c')
      assert.equal((await client.next({ request_id: 'c' })).error, 'unknown_job')
    })

    test('the same run_job again, for a living job, gets no end, and the job continues', async () => {
      await using bench = await start()
      await using client = await connect(bench.server)
      const job_id = newId()
      const run = { job_id, graph: gated(job_id) }
      client.command('run_job', run, 'r')
      await client.next({ request_id: 'r' })
      const gate = await bench.gates.at(job_id)
      {
        using _ = obstacle(bench)
        gate.open('y'.repeat(100_000))
        await until('the job to stop', () => bench.server.context.runs.jobs.load.running === 0)
        // Reads may be answered, since they need no disk space.
        for (const command of ['run_job', 'reconnect_job', 'get_status']) {
          const from = client.frames.length
          client.command(command, command === 'run_job' ? run : { job_id })
          await client.next((frame) => frame.job_id === job_id && client.frames.indexOf(frame) >= from)
          await client.settled()
          assert.ok(!told(client, job_id, from).some(isEnding), command)
        }
      }
      await until('the job to run again', async () => (await client.ask('get_status', { job_id })).error === undefined)
      await bench.gates.open(job_id)
      assert.equal((await client.collect(job_id)).at(-1)?.status, 'completed')
    })
  })
}

describe('a suspended job whose row is damaged', () => {
  test('gets no end from any command, and continues when the row is restored', async () => {
    await using bench = await startBench()
    await using client = await connect(bench.server)
    const job_id = newId()
    const run = { job_id, graph: asking }
    client.command('run_job', run)
    await client.next({ type: 'job_update', job_id, status: 'suspended' })
    {
      using _ = damagedRow(bench, job_id)
      for (const command of ['run_job', 'reconnect_job', 'get_status', 'cancel_job', 'resume_job']) {
        const from = client.frames.length
        const data = { run_job: run, resume_job: { job_id, value: 1 } }[command] ?? { job_id }
        client.command(command, data, command)
        const { error, code } = await client.next({ request_id: command })
        await client.settled()
        assert.deepEqual([command, error, code], [command, 'unavailable', 'DATA_DAMAGED'])
        assert.equal(told(client, job_id, from).length, 1)
      }
      // A job that surely does not exist still gets its end.
      const other = newId()
      client.command('run_job', { job_id: other, workflow_id: 'nowhere' })
      assert.deepEqual((await client.collect(other)).map(frameName), ['job_update'])
    }
    client.command('run_job', run)
    await client.next({ type: 'job_resumed', job_id, status: 'suspended' })
    assert.equal((await client.ask('resume_job', { job_id, value: 'said' })).error, undefined)
    assert.deepEqual((await client.collect(job_id)).at(-1)?.result, { outputs: { out: ['said'] } })
  })
})

behaves('a database that refuses what is written of jobs', false, () => startBench(PREVIEW), refusingTrigger)

behaves(
  'a full disk',
  cannotMount,
  async () => {
    const disk = smallDisk(6 << 20)
    try {
      const bench = await startBench({ ...PREVIEW, data_dir: disk.path })
      return {
        ...bench,
        async [Symbol.asyncDispose]() {
          await bench[Symbol.asyncDispose]()
          disk[Symbol.dispose]()
        },
      }
    } catch (error) {
      disk[Symbol.dispose]()
      throw error
    }
  },
  fullDisk,
)
