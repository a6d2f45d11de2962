// `cancel_job`: an acknowledgement once the cancellation is stored, or a refusal; then a single terminal frame, unless the job lives on.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { connect, type Frame, frameName, isEnding } from '../helpers/socket.ts'
import { type Bench, gated, greeting, newId, startBench } from './kit.ts'

let bench: Bench
before(async () => {
  bench = await startBench()
})
after(() => bench[Symbol.asyncDispose]())

const shapes = (frames: readonly Frame[]) => frames.map((frame) => `${frameName(frame)} ${frame.status ?? ''}`.trim())

describe('cancel_job', () => {
  test('of a running job sends job_ack, then job_update cancelled to every socket that follows', async () => {
    await using client = await connect(bench.server)
    await using watcher = await connect(bench.server)
    const job_id = newId()
    client.command('run_job', { job_id, graph: gated(job_id) })
    await bench.gates.at(job_id)
    watcher.command('reconnect_job', { job_id })
    await watcher.next({ type: 'job_update', job_id })
    client.command('cancel_job', { job_id, workflow_id: null }, 'c')
    await client.next({ request_id: 'c', job_id })
    const frames = await client.collect(job_id)
    assert.deepEqual(shapes(frames.filter((frame) => frame.type === 'job_update' || frame.request_id)), [
      'job_update running',
      'job_ack',
      'job_update cancelled',
    ])
    assert.equal((await watcher.collect(job_id)).at(-1)?.status, 'cancelled')
    assert.equal(bench.gates.isWaiting(job_id), false, 'the firing was aborted')
  })

  test('from a socket that does not follow the job sends only the end, once', async () => {
    await using client = await connect(bench.server)
    await using other = await connect(bench.server)
    const job_id = newId()
    client.command('run_job', { job_id, graph: gated(job_id) })
    await bench.gates.at(job_id)
    other.command('cancel_job', { job_id })
    other.command('cancel_job', { job_id })
    await other.collect(job_id)
    await client.collect(job_id)
    await other.settled()
    const frames = other.of(job_id)
    assert.equal(frames.filter((frame) => frameName(frame) === 'job_ack').length, 2)
    assert.deepEqual([...new Set(shapes(frames))], ['job_ack', 'job_update cancelled'])
    assert.equal(frameName(frames[0]!), 'job_ack')
  })

  test('of a queued job ends it at once, after the acknowledgement', async () => {
    await using queueing = await startBench({ config: { max_runs_per_workflow: 1 } })
    await using client = await connect(queueing.server)
    const [running, waiting] = [newId(), newId()]
    const workflow_id = 'one'
    client.command('run_job', { job_id: running, workflow_id, graph: gated(running) })
    await queueing.gates.at(running)
    client.command('run_job', { job_id: waiting, workflow_id, graph: gated(waiting) })
    await client.next({ job_id: waiting, status: 'queued' })
    client.command('cancel_job', { job_id: waiting })
    const frames = await client.collect(waiting)
    assert.deepEqual(shapes(frames), ['job_ack', 'job_update queued', 'job_ack', 'job_update cancelled'])
    assert.equal(frames.at(-1)?.duration, 0)
    await queueing.gates.open(running)
    assert.equal((await client.collect(running)).at(-1)?.status, 'completed')
  })

  test('of a job that has ended sends the terminal frame again, unchanged', async () => {
    await using client = await connect(bench.server)
    const job_id = newId()
    client.command('run_job', { job_id, graph: greeting })
    const end = (await client.collect(job_id)).at(-1)
    client.command('cancel_job', { job_id }, 'c')
    await client.next({ request_id: 'c' })
    assert.deepEqual(await client.next(isEnding), end)
  })

  test('is stored before it is acknowledged, whether the sender follows the job or not', async () => {
    const stored = new Database(join(bench.server.data_dir, 'svc.db'), { readonly: true })
    const status = stored.prepare('select status from job where id = ?').pluck()
    await using client = await connect(bench.server)
    await using other = await connect(bench.server)
    for (const sender of [client, other]) {
      const job_id = newId()
      client.command('run_job', { job_id, graph: gated(job_id) })
      await bench.gates.at(job_id)
      const seen: unknown[] = []
      sender.ws.on('message', () => {
        const isAck = sender.frames.at(-1)?.request_id === job_id
        if (isAck && seen.length === 0) seen.push(status.get(job_id))
      })
      sender.command('cancel_job', { job_id }, job_id)
      await sender.collect(job_id)
      assert.match(String(seen[0]), /^cancel/)
    }
    stored.close()
  })

  test('of an unknown job sends unknown_job, then job_update failed', async () => {
    await using client = await connect(bench.server)
    const job_id = newId('nobody')
    client.command('cancel_job', { job_id, workflow_id: 'w' }, 'c')
    const frames = await client.collect(job_id)
    assert.deepEqual(shapes(frames), ['command_refused', 'job_update failed'])
    assert.deepEqual([frames[0]?.error, frames[0]?.code], ['unknown_job', 'JOB_NOT_FOUND'])
    assert.equal(frames[1]?.workflow_id, 'w')
  })

  test('of a job that is starting or ending sends one terminal frame, after an acknowledgement', async () => {
    await using client = await connect(bench.server)
    const jobs = Array.from({ length: 50 }, () => newId())
    for (const job_id of jobs) {
      client.command('run_job', { job_id, graph: greeting })
      client.command('cancel_job', { job_id }, job_id)
    }
    for (const job_id of jobs) {
      await client.next({ request_id: job_id })
      const frames = await client.collect(job_id)
      const ack = frames.findIndex((frame) => frame.request_id === job_id)
      await client.settled()
      assert.ok(client.of(job_id).slice(ack).some(isEnding), 'an end follows the acknowledgement')
    }
  })
})
