// Reconnects to jobs whose graphs this version cannot run.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listJobEventsOfType } from '../../src/db/jobs/events.ts'
import { graph, node } from '../engine/kit.ts'
import { inFolder } from '../helpers/folder.ts'
import { startServer, until } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { startGated, submit } from '../jobs/kit.ts'

/** The frames of a socket that reconnects to the job at a server that does not know the types of its nodes. */
async function toldLater(data_dir: string, job_id: string): Promise<unknown[]> {
  await using server = await startServer({ data_dir })
  await using client = await connect(server)
  client.command('reconnect_job', { job_id })
  await client.settledFor(job_id)
  return client.frames.map(({ type, error, status }) => [type ?? error, status])
}

test(
  'the end of a job that has no outputs is told where a type of its nodes is gone',
  inFolder(async (data_dir) => {
    const first = await startGated({ data_dir })
    const job = submit(first, { graph: graph([node('gate', 'test.Gate', { value: 'x' })], []) })
    await job.accepted()
    await first.context.runs.jobs.cancel(job.row, job.row.id)
    await job.settled()
    await first.close(0)
    const frames = await toldLater(data_dir, job.row.id)
    assert.deepEqual(frames, [
      ['job_resumed', 'cancelled'],
      ['job_update', 'cancelled'],
      ['status', 'cancelled'],
    ])
  }),
)

test(
  'the end of a job is told also where its outputs cannot be, since a type of its nodes is gone',
  inFolder(async (data_dir) => {
    const first = await startGated({ data_dir })
    const nodes = [
      node('in', 'input.Any', { name: 'in', value: 'x' }),
      node('out', 'output.Output', { name: 'out' }),
      node('gate', 'test.Gate', { value: 'x' }),
    ]
    const job = submit(first, { graph: graph(nodes, ['in.output->out.value']) })
    await job.accepted()
    const { store } = first.context
    const { jobs } = first.context.runs
    const outputs = () => store.read((tx) => listJobEventsOfType(tx, job.row.key, 'output_update', 0))
    await until('the output', () => outputs().length > 0)
    await jobs.cancel(job.row, job.row.id)
    await job.settled()
    await first.close(0)
    const frames = await toldLater(data_dir, job.row.id)
    assert.deepEqual(frames.slice(0, 2), [
      ['job_resumed', 'cancelled'],
      ['job_update', 'cancelled'],
    ])
  }),
)
