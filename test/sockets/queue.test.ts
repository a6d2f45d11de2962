// Jobs that wait for their own workflow or for limits, and jobs that time out.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { connect, type Frame } from '../helpers/socket.ts'
import { gated, newId, startBench } from './kit.ts'

const updates = (frames: readonly Frame[]) =>
  frames
    .filter((frame) => frame.type === 'job_update')
    .map(({ status, queue_position }) => (queue_position === undefined ? status : `${status} ${queue_position}`))

describe('the queue', () => {
  test('run_job with concurrent false waits for a running job of its workflow, and starts afterwards', async () => {
    await using bench = await startBench()
    await using client = await connect(bench.server)
    const [first, second, third, other] = [newId(), newId(), newId(), newId()]
    const run = (job_id: string, workflow_id: string) =>
      client.command('run_job', { job_id, workflow_id, graph: gated(job_id), concurrent: false })
    for (const job_id of [first, second, third]) run(job_id, 'w')
    run(other, 'another')
    await bench.gates.at(first)
    await bench.gates.at(other)
    await client.next({ type: 'job_update', job_id: third, status: 'queued', queue_position: 2 })
    const waiting = await client.ask('get_status', { job_id: third })
    assert.deepEqual([waiting.status, waiting.queue_position], ['queued', 2])
    assert.equal(bench.gates.isWaiting(second), false)
    await bench.gates.open(first)
    await bench.gates.open(second)
    await bench.gates.open(third)
    await bench.gates.open(other)
    assert.deepEqual(updates(await client.collect(first)), ['running', 'completed'])
    assert.deepEqual(updates(await client.collect(second)), ['queued 1', 'running', 'completed'])
    assert.deepEqual(updates(await client.collect(third)), ['queued 2', 'queued 1', 'running', 'completed'])
    assert.deepEqual(updates(await client.collect(other)), ['running', 'completed'])
  })

  test('limits per workflow, per user and of the process hold jobs back; a full queue fails the job', async () => {
    for (const limit of ['max_runs_per_workflow', 'max_jobs_per_user', 'max_concurrent_jobs'] as const) {
      await using bench = await startBench({ config: { [limit]: 2, max_queued_jobs: 1 } })
      await using client = await connect(bench.server)
      const jobs = [newId(), newId(), newId(), newId()]
      for (const job_id of jobs) client.command('run_job', { job_id, workflow_id: 'w', graph: gated(job_id) })
      const [a, b, c, refused] = jobs as [string, string, string, string]
      assert.match(String((await client.collect(refused)).at(-1)?.error), /queue/i)
      assert.equal(client.of(refused).length, 1)
      await bench.gates.at(a)
      await bench.gates.open(b)
      await bench.gates.open(c)
      await bench.gates.open(a)
      assert.deepEqual(updates(await client.collect(c)), ['queued 1', 'running', 'completed'], limit)
      await client.collect(a)
    }
  })

  test('timeout_seconds ends a job as failed', async () => {
    await using bench = await startBench()
    await using client = await connect(bench.server)
    const job_id = newId()
    client.command('run_job', { job_id, graph: gated(job_id), timeout_seconds: 0.05 })
    const frames = await client.collect(job_id)
    assert.deepEqual(updates(frames), ['running', 'failed'])
    assert.match(String(frames.at(-1)?.error), /0\.05 seconds/)
    assert.equal(bench.gates.isWaiting(job_id), false)
  })
})

describe('get_status', () => {
  test('reports a job in each of its states, an unknown job, and the list of active jobs', async () => {
    await using bench = await startBench({ config: { max_runs_per_workflow: 1 } })
    await using client = await connect(bench.server)
    await using other = await connect(bench.server, { mode: 'text' })
    const [running, waiting, session] = [newId(), newId(), newId()]
    client.command('run_job', { job_id: running, workflow_id: 'w', graph: gated(running) })
    client.command('run_job', { job_id: waiting, workflow_id: 'w', graph: gated(waiting) })
    const execution_options = { persistence: 'session' }
    client.command('run_job', { job_id: session, workflow_id: 'v', graph: gated(session), execution_options })
    // A job is listed once its start is committed, which is when its frames come; a node may fire before that.
    await client.next({ type: 'job_update', job_id: running, status: 'running' })
    await client.next({ type: 'job_update', job_id: waiting, status: 'queued' })
    await client.next({ type: 'job_update', job_id: session, status: 'running' })
    const { jobs } = (await other.ask('get_status', null)) as { jobs?: Frame[] }
    assert.deepEqual(
      jobs?.map((job) => [job.job_id, job.status, job.queue_position, job.started_at === null]),
      [
        [running, 'running', null, false],
        [waiting, 'queued', 1, true],
        [session, 'running', null, false],
      ],
    )
    assert.equal((await other.ask('get_status', { job_id: 'nobody' })).status, 'unknown')
    for (const job_id of [running, session, waiting]) await bench.gates.open(job_id)
    for (const job_id of [running, session, waiting]) await client.collect(job_id)
    const ended = await other.ask('get_status', { job_id: running })
    assert.deepEqual([ended.status, ended.workflow_id], ['completed', 'w'])
    assert.ok(Number(ended.last_sequence) > 3)
    assert.deepEqual((await other.ask('get_status')).jobs, [])
    assert.equal(other.of(running).filter((frame) => frame.type !== 'status').length, 0, 'asking follows nothing')
  })
})
