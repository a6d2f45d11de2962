// Commands for a living job that cannot be stored: each is refused once with `unavailable`, and nothing is told that a client could take for the end.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { cannotMount, fill, smallDisk } from '../db/kit.ts'
import { withoutTriggers } from '../helpers/checksums.ts'
import { until } from '../helpers/server.ts'
import { type Client, connect, type Frame, frameName, isEnding } from '../helpers/socket.ts'
import { Saboteur } from '../jobs/kit.ts'
import { type Bench, gated, graph, greeting, newId, node, startBench } from './kit.ts'

/** Lets the database be written again. */
type Obstacle = (bench: Bench) => Disposable

const refusingTrigger: Obstacle = ({ server }) => {
  const saboteur = new Saboteur(server)
  saboteur.break()
  return saboteur
}

/** A reader keeps the write-ahead log from being begun again, so that every commit needs room. */
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

/** The row of a job is not what was written, until this is let go. */
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

/** `x` waits at the gate of the key, and takes values meanwhile. */
const fed = (key: string) =>
  graph(
    [
      node('in', 'input.Any', { name: 'x', stream: true }),
      node('held', 'input.Any', { name: 'y', value: 1 }),
      node('gate', 'test.Gate', { key }),
      node('out', 'output.Output', { name: 'out' }),
      node('echo', 'output.Output', { name: 'echo' }),
    ],
    ['in.output->echo.value', 'held.output->gate.value', 'gate.output->out.value'],
  )

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
    test('a cancellation, a value and a change of a running job are refused; it goes on, and its follower sees one end', async () => {
      await using bench = await start()
      await using client = await connect(bench.server)
      await using watcher = await connect(bench.server)
      const job_id = newId()
      client.command('run_job', { job_id, graph: fed(job_id) })
      await bench.gates.at(job_id)
      watcher.command('reconnect_job', { job_id })
      await watcher.next({ type: 'job_update', job_id })
      {
        using _ = obstacle(bench)
        await refusedOnce(client, 'cancel_job', { job_id })
        for (const sender of [client, watcher]) await refusedOnce(sender, 'cancel_job', { job_id })
        await refusedOnce(client, 'stream_input', { job_id, input: 'x', value: 1 })
        await refusedOnce(client, 'end_input_stream', { job_id, input: 'x' })
        const properties = { job_id, node_id: 'gate', properties: { key: 'other' } }
        await refusedOnce(client, 'update_node_properties', properties)
        assert.ok(![...client.of(job_id), ...watcher.of(job_id)].some(isEnding))
      }
      // Whoever followed the job follows it on, without asking.
      await until('the job to run again', async () => (await client.ask('get_status', { job_id })).error === undefined)
      await bench.gates.at(job_id)
      client.command('cancel_job', { job_id })
      for (const one of [client, watcher]) {
        await one.collect(job_id)
        await one.settled()
        assert.deepEqual(
          one
            .of(job_id)
            .filter(isEnding)
            .map(({ status }) => status),
          ['cancelled'],
        )
      }
    })

    test('a run that was never stored gets its job_update failed, alone', async () => {
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

    test('the same run_job again, for a job that lives, is not told its end, and the job goes on', async () => {
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
        await until('the job to stop', () => bench.server.context.jobs.load.running === 0)
        // What only reads may be answered: it needs no room.
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
  test('is told no end by any command that names it, and goes on when the row is back', async () => {
    await using bench = await startBench()
    await using client = await connect(bench.server)
    const job_id = newId()
    const run = {
      job_id,
      graph: graph(
        [node('wait', 'control.WaitFor', { name: 'word' }), node('out', 'output.Output', { name: 'out' })],
        ['wait.value->out.value'],
      ),
    }
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
      // What is certain not to be there ends all the same.
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

behaves('a database that refuses every event', false, () => startBench(), refusingTrigger)

behaves(
  'a full disk',
  cannotMount,
  async () => {
    const disk = smallDisk(6 << 20)
    try {
      const bench = await startBench({ data_dir: disk.path })
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
