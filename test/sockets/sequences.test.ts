// Sequences of frames: a frame has the sequence of its stored event, live, later and after a restart of the follower; other frames have none.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { JobEvent, JobFailedUpdate } from '../../generated/types.ts'
import { call } from '../helpers/http.ts'
import { connect, type Frame } from '../helpers/socket.ts'
import { type Bench, graph, greeting, newId, node, startBench } from './kit.ts'

let bench: Bench
before(async () => {
  bench = await startBench()
})
after(() => bench[Symbol.asyncDispose]())

async function eventsOf(job_id: string): Promise<JobEvent[]> {
  const headers = { Accept: 'application/json' }
  return (await call<JobEvent[]>(bench.server, 'GET', `/api/jobs/${job_id}/events`, { headers })).body
}

/** The fields of an event that both forms have. */
function eventOf(frame: Frame): object {
  const { type, sequence, status, output_name, node_id } = frame
  if (type === 'output_update') return { sequence, type, output_name }
  if (type === 'node_update') return { sequence, type: 'node_status', node_id, status }
  return { sequence, type: status === 'completed' ? 'job_terminal' : 'job_status', status }
}

function toldOf(event: JobEvent): object {
  const { sequence, type } = event
  if (type === 'output_update') return { sequence, type, output_name: event.output_name }
  if (type === 'node_status') return { sequence, type, node_id: event.node_id, status: event.status }
  return { sequence, type, status: event.status }
}

const PERSISTED = ['job_update', 'node_update', 'output_update']

describe('the sequence of a frame', () => {
  test('is that of its event; provisional frames have none', async () => {
    await using client = await connect(bench.server)
    const job_id = newId()
    client.command('run_job', { job_id, graph: greeting, params: { name: 'Ada' } })
    const frames = await client.collect(job_id)
    const [told, others] = [frames.filter(isPersisted), frames.filter((frame) => !isPersisted(frame))]
    const events = (await eventsOf(job_id)).filter(
      ({ type, ...event }) =>
        !('status' in event && (event.status === 'accepted' || event.status === 'pending')) || type === 'job_terminal',
    )
    assert.deepEqual(told.map(eventOf), events.map(toldOf))
    assert.ok(others.some(({ type }) => type === 'edge_update'))
    for (const frame of others) assert.equal(frame.sequence, undefined, JSON.stringify(frame))
  })

  test('is that of the last event for a whole output, and for the end of a job', async () => {
    await using client = await connect(bench.server)
    const job_id = newId()
    client.command('run_job', { job_id, graph: greeting, params: { name: 'Ada' } })
    const live = await client.collect(job_id)
    await using other = await connect(bench.server)
    other.command('reconnect_job', { job_id })
    const again = await other.collect(job_id)
    const of = (frames: readonly Frame[], type: string) =>
      frames.filter((frame) => frame.type === type).at(-1)?.sequence
    for (const type of ['output_update', 'job_update']) assert.equal(of(again, type), of(live, type), type)
    assert.equal(of(again, 'job_update'), (await eventsOf(job_id)).at(-1)!.sequence)
    assert.equal(again.find(({ type }) => type === 'job_resumed')?.last_sequence, of(again, 'job_update'))
  })
})

describe('the end of a refused run', () => {
  test('has a code, a message, and each problem, like every refusal', async () => {
    await using client = await connect(bench.server)
    const cases: [object, string, string[]][] = [
      [
        { workflow_id: 'greeting', params: { nam: 'Ada' } },
        'INVALID_PARAMETERS',
        ['/data/params/nam', '/data/params/name'],
      ],
      [{ workflow_id: 'nowhere' }, 'WORKFLOW_NOT_FOUND', []],
      [
        { graph: graph([node('a', 'no.Type'), node('b', 'no.Other')], ['a.x->b.y']) },
        'INVALID_WORKFLOW_GRAPH',
        ['/graph/nodes/a', '/graph/nodes/b'],
      ],
    ]
    for (const [data, code, paths] of cases) {
      const job_id = newId()
      client.command('run_job', { job_id, ...data })
      const update = (await client.next({ type: 'job_update', job_id })) as unknown as JobFailedUpdate
      assert.deepEqual([update.status, update.code, update.message], ['failed', code, update.error])
      for (const path of paths)
        assert.ok(
          update.problems?.some((one) => one.path.startsWith(path)),
          path,
        )
      assert.equal(update.problems === undefined, paths.length === 0)
      assert.equal(update.sequence, undefined)
    }
  })

  test('has the same fields for an unknown job', async () => {
    await using client = await connect(bench.server)
    for (const command of ['cancel_job', 'reconnect_job']) {
      client.command(command, { job_id: 'unknown' })
      const { code, message, error } = await client.next({ type: 'job_update', job_id: 'unknown' })
      assert.deepEqual([code, message], ['JOB_NOT_FOUND', error], command)
    }
  })
})

function isPersisted({ type }: Frame): boolean {
  return PERSISTED.includes(String(type))
}
