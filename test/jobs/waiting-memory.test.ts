// Journals of queued jobs: a large journal is in the database alone, and is read again when the job is admitted.
// own-process: it collects garbage again and again, which takes long beside the modules of other tests.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import Database from 'better-sqlite3'
import { journalFolderPath } from '../../src/db/files/data-folder.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import type { ActiveJob } from '../../src/jobs/active-job.ts'
import { graph, node, sink, source } from '../engine/kit.ts'
import { closed } from '../helpers/closed-folder.ts'
import { inFolder } from '../helpers/folder.ts'
import { until } from '../helpers/server.ts'
import { ended, type GatedServer, gated, OWNER, outputs, plain, startGated, submit } from './kit.ts'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

const ONE = { max_concurrent_jobs: 1 }
const TEXT = 'much'.repeat(300_000)
const LIST = Array.from({ length: 50_000 }, (_, at) => ({ at }))

/** `in -> out`, and a stream of texts that get a prefix. */
const fed = graph(
  [
    source('in', 'x'),
    sink('out'),
    node('more', 'input.String', { name: 'more', stream: true }),
    node('t', 'text.Concat', { a: 'a' }),
    node('all', 'control.Collect'),
    sink('texts'),
  ],
  ['in.output->out.value', 'more.output->t.b', 't.output->all.item', 'all.list->texts.value'],
)

/** Takes the only slot, and returns the function that releases it. */
async function occupy(server: GatedServer): Promise<() => void> {
  submit(server, { graph: gated, params: { in: 'first' } })
  const first = await until('the gate', () => server.gate.waiting[0])
  return () => first.open()
}

interface Waiting {
  readonly job: ActiveJob
  /** The parameters of the job, while they are in memory. */
  readonly held: WeakRef<object>
}

/** A queued job with large parameters. */
async function waits(server: GatedServer, graph: Graph): Promise<Waiting> {
  const list = structuredClone(LIST)
  const job = submit(server, { graph, acceptsStreamInput: true, params: { in: list } })
  await job.accepted()
  assert.equal(job.row.status, 'queued')
  return { job, held: new WeakRef(list) }
}

async function collected(held: WeakRef<object>): Promise<void> {
  await until('it to be collected', async () => {
    gc()
    return held.deref() === undefined
  })
}

describe('a queued job with large parameters', () => {
  test('has them in the database alone, and runs once with them when it is admitted', async () => {
    await using server = await startGated({ config: ONE })
    const free = await occupy(server)
    const { job, held } = await waits(server, gated)
    await collected(held)
    free()
    const second = await until('its turn', () => server.gate.waiting[0])
    assert.deepEqual([second.value, server.context.runs.jobs.load], [LIST, { running: 1, waiting: 0 }])
    second.open()
    assert.deepEqual(outputs(await ended(server, job.row.id)), { out: LIST })
    assert.equal(server.gate.started, 2)
    assert.deepEqual(server.context.runs.jobs.load, { running: 0, waiting: 0 })
  })

  test('accepts inputs without reading them', async () => {
    await using server = await startGated({ config: ONE })
    const free = await occupy(server)
    const { job, held } = await waits(server, fed)
    const long = 'b'.repeat(300_000)
    for (const value of ['1', long]) assert.equal(job.inputs?.pushInput('more', value), 'ok')
    await job.flushed()
    assert.deepEqual(job.inputs?.updateProperties('t', { a: 'c' }), ['a'])
    assert.equal(job.inputs?.pushInput('in', 'x'), 'not_a_stream')
    await job.flushed()
    await collected(held)
    assert.equal(job.inputs?.pushInput('more', '2'), 'ok')
    assert.equal(job.inputs?.endInput('more'), 'ok')
    assert.equal(job.inputs?.pushInput('more', '3'), 'not_running')
    free()
    const texts = ['c1', `c${long}`, 'c2']
    assert.deepEqual(outputs(await ended(server, job.row.id)), { out: LIST, texts })
  })

  test('accepts inputs while they are read for its start', async () => {
    await using server = await startGated({ config: ONE })
    const free = await occupy(server)
    const { job, held } = await waits(server, fed)
    await collected(held)
    free()
    await until('its turn', () => server.context.runs.jobs.load.waiting === 0)
    for (const value of ['1', '2']) {
      assert.equal(job.inputs?.pushInput('more', value), 'ok')
      await job.flushed()
    }
    assert.equal(job.inputs?.endInput('more'), 'ok')
    assert.deepEqual(outputs(await ended(server, job.row.id)), { out: LIST, texts: ['a1', 'a2'] })
    assert.deepEqual(server.context.runs.jobs.load, { running: 0, waiting: 0 })
  })

  test('can be cancelled while it waits, and while they are read for its start, and the next job runs', async () => {
    await using server = await startGated({ config: ONE })
    const { jobs } = server.context.runs
    const free = await occupy(server)
    const [first, second, third] = [await waits(server, plain), await waits(server, plain), await waits(server, plain)]
    for (const { held } of [first, second, third]) await collected(held)
    assert.equal((await jobs.cancel(OWNER, first.job.row.id)).row.status, 'cancelled')
    free()
    await until('the turn of the second', () => jobs.queuePosition(second.job) === 0)
    assert.equal(second.job.row.status, 'queued')
    assert.equal((await jobs.cancel(OWNER, second.job.row.id)).row.status, 'cancelled')
    assert.deepEqual(outputs(await ended(server, third.job.row.id)), { out: LIST })
    assert.deepEqual(jobs.load, { running: 0, waiting: 0 })
  })

  test('ends where they are missing at its start, and the next job runs', async () => {
    await using server = await startGated({ config: ONE })
    const free = await occupy(server)
    const { job, held } = await waits(server, plain)
    const next = submit(server, { graph: plain, params: { in: 'next' } })
    await collected(held)
    const db = new Database(join(server.data_dir, 'svc.db'))
    db.prepare('delete from job_journal where job_key = ?').run(job.row.key)
    db.close()
    free()
    assert.equal((await ended(server, job.row.id)).status, 'failed')
    assert.deepEqual(outputs(await ended(server, next.row.id)), { out: 'next' })
    assert.deepEqual(server.context.runs.jobs.load, { running: 0, waiting: 0 })
  })

  test('waits where their file cannot be read at its start, and continues later', async () => {
    await using server = await startGated({ config: ONE })
    const free = await occupy(server)
    const job = submit(server, { graph: plain, params: { in: TEXT } })
    await job.accepted()
    const next = submit(server, { graph: plain, params: { in: 'next' } })
    {
      using folder = closed(journalFolderPath(server.data_dir))
      free()
      assert.deepEqual(outputs(await ended(server, next.row.id)), { out: 'next' })
      assert.ok(folder.tried > 0)
      assert.equal(server.context.runs.jobs.hasUnreadableJobs, true)
    }
    assert.deepEqual(outputs(await ended(server, job.row.id)), { out: TEXT })
    assert.deepEqual(server.context.runs.jobs.load, { running: 0, waiting: 0 })
  })

  test(
    'runs in the next process, with its inputs',
    inFolder(async (data_dir) => {
      let id: string
      {
        await using server = await startGated({ data_dir, config: ONE })
        await occupy(server)
        const { job, held } = await waits(server, fed)
        await collected(held)
        assert.equal(job.inputs?.pushInput('more', '1'), 'ok')
        assert.equal(job.inputs?.endInput('more'), 'ok')
        await job.flushed()
        id = job.row.id
      }
      await using server = await startGated({ data_dir })
      assert.deepEqual(outputs(await ended(server, id)), { out: LIST, texts: ['a1'] })
    }),
  )
})
