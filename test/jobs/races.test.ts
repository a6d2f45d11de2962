// Concurrent requests, and requests at awkward times: a suspended job is resumed once, acknowledged requests take effect, and finished work stays.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { describe, test } from 'node:test'
import { findJobByKey } from '../../src/db/jobs/rows.ts'
import { systemPlatform } from '../../src/platform.ts'
import { graph, mapType, node, sink, source, until as turnsUntil } from '../engine/kit.ts'
import { withMoreTime } from '../helpers/patience.ts'
import { type TestServer, temporaryFolder, until } from '../helpers/server.ts'
import { coded, ended, gated, history, OWNER, plain, startGated, submit, words } from './kit.ts'

const approval = graph(
  [source('in', 'x'), node('ask', 'human.Approval', {}), sink('yes')],
  ['in.output->ask.value', 'ask.approved->yes.value'],
)
const yes = { node_id: null, name: null, value: true, at: '/body' }

async function resting(
  {
    context: {
      runs: { jobs },
    },
  }: TestServer,
  id: string,
): Promise<void> {
  await until('the job to rest', async () => {
    const { row, active } = await jobs.get(OWNER, id)
    return row.status === 'paused' && active === null
  })
}

describe('with concurrent requests', () => {
  test('a suspended job takes one of many answers, before and after the suspension is stored', async () => {
    await using server = await startGated()
    const { jobs } = server.context.runs
    for (const late of [false, true]) {
      const job = submit(server, { graph: approval })
      if (late) await resting(server, job.row.id)
      else await turnsUntil(() => job.isDetached || job.row.finished_at !== null, 'the suspension')
      const all = await Promise.allSettled(Array.from({ length: 8 }, () => jobs.resume(OWNER, job.row.id, yes)))
      assert.equal(all.filter(({ status }) => status === 'fulfilled').length, 1)
      for (const one of all) if (one.status === 'rejected') coded('JOB_NOT_SUSPENDED')(one.reason)
      assert.equal((await ended(server, job.row.id)).status, 'completed')
      const told = (await history(server, job.row)).map(words)
      assert.equal(told.filter((word) => word === 'status running').length, 2)
    }
  })

  test('a job that is cancelled several times and answered ends once, and all requests get the same end', async () => {
    await using server = await startGated()
    const { jobs } = server.context.runs
    for (let round = 0; round < 20; round++) {
      const job = submit(server, { graph: approval })
      if (round % 2 === 0) await resting(server, job.row.id)
      const { id } = job.row
      const all = await Promise.allSettled([
        jobs.cancel(OWNER, id),
        jobs.resume(OWNER, id, yes),
        jobs.cancel(OWNER, id),
        jobs.cancel(OWNER, id),
      ])
      for (const at of [0, 2, 3]) assert.equal(all[at]?.status, 'fulfilled')
      const row = await ended(server, id)
      const told = (await history(server, row)).map(words)
      assert.equal(told.at(-1), `end ${row.status}`)
      assert.equal(told.filter((word) => word.startsWith('end')).length, 1)
      assert.ok(told.filter((word) => word === 'status cancel_requested').length <= 1)
    }
  })
})

describe('while the server stops', () => {
  test('a suspended job can be cancelled, and stays cancelled', async () => {
    const data_dir = temporaryFolder()
    try {
      const ids: string[] = []
      {
        await using server = await startGated({ data_dir, config: { max_concurrent_jobs: 1 } })
        const { jobs } = server.context.runs
        const waits = submit(server, { graph: approval })
        await resting(server, waits.row.id)
        const runs = submit(server, { graph: gated })
        const queued = submit(server, { graph: plain })
        await queued.accepted()
        const drained = jobs.drain(2_000)
        for (const job of [waits, queued]) {
          assert.equal((await jobs.cancel(OWNER, job.row.id)).row.status, 'cancelled')
          ids.push(job.row.id)
        }
        const entry = await until('the firing', () => server.gate.waiting[0])
        entry.open()
        await drained
        assert.equal((await jobs.get(OWNER, runs.row.id)).row.status, 'completed')
        await assert.rejects(jobs.resume(OWNER, waits.row.id, yes), coded('SERVICE_UNAVAILABLE'))
      }
      await using server = await startGated({ data_dir })
      for (const id of ids) assert.equal((await server.context.runs.jobs.get(OWNER, id)).row.status, 'cancelled')
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })

  test('and restarts many times, no job counts as the cause', async () => {
    const data_dir = temporaryFolder()
    const fed = graph(
      [node('in', 'input.String', { name: 'in', stream: true }), node('all', 'control.Collect'), sink('out')],
      ['in.output->all.item', 'all.list->out.value'],
    )
    try {
      let id = ''
      for (let start = 0; start < 23; start++) {
        await using server = await startGated({ data_dir })
        if (start === 0) id = submit(server, { graph: fed, acceptsStreamInput: true }).row.id
        const { row } = await until('the job to run', async () => {
          const found = await server.context.runs.jobs.get(OWNER, id)
          return found.row.status === 'running' && found
        })
        assert.equal(row.error, null)
      }
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })
})

describe('a job that continues', () => {
  test('keeps its properties of the first run while it is queued again', async () => {
    await using server = await startGated({ config: { max_concurrent_jobs: 1 } })
    const { jobs } = server.context.runs
    const of = graph(
      [
        source('in', 'x'),
        node('say', 'text.Concat', { a: 'A ' }),
        node('ask', 'human.Approval', {}),
        sink('early'),
        sink('yes'),
      ],
      ['in.output->say.b', 'say.output->early.value', 'say.output->ask.value', 'ask.approved->yes.value'],
    )
    const job = submit(server, { graph: of })
    await resting(server, job.row.id)
    submit(server, { graph: gated })
    await jobs.resume(OWNER, job.row.id, yes)
    const living = jobs.living(OWNER, job.row.id)
    assert.equal(living?.row.status, 'queued')
    assert.deepEqual(living.inputs?.updateProperties('say', { a: 'B ' }), [])
    const entry = await until('the firing', () => server.gate.waiting[0])
    entry.open()
    const row = await ended(server, job.row.id)
    assert.deepEqual(JSON.parse(row.result!).outputs, { early: 'A x', yes: 'A x' })
  })

  test('has no more time than before, however long it is queued', async () => {
    // The job must be resumed before its time is over.
    await withMoreTime(1_000, async (ms) => {
      await using server = await startGated({ config: { max_concurrent_jobs: 1 } })
      const { jobs } = server.context.runs
      const job = submit(server, { graph: approval, timeout_seconds: ms / 1_000 })
      await resting(server, job.row.id)
      submit(server, { graph: gated })
      const entry = await until('the firing', () => server.gate.waiting[0])
      await jobs.resume(OWNER, job.row.id, yes)
      await until('its time to pass', () => Date.now() > Date.parse(job.row.started_at!) + ms)
      entry.open()
      assert.equal((await ended(server, job.row.id)).status, 'timed_out')
    })
  })

  test('that this version cannot run stays suspended', async () => {
    const data_dir = temporaryFolder()
    let now = Date.now()
    const platform = { ...systemPlatform(), now: () => now, timestamp: () => new Date(now).toISOString() }
    const odd = mapType('test.Odd', (value) => value)
    const withOdd = (waits: ReturnType<typeof node>, out: string) =>
      graph(
        [source('in', 'x'), node('odd', 'test.Odd'), waits, sink('out')],
        ['in.output->odd.value', 'odd.output->w.value', `w.${out}->out.value`],
      )
    try {
      const ids: string[] = []
      {
        await using server = await startGated({ data_dir, types: [odd], platform })
        for (const waits of [node('w', 'human.Approval', {}), node('w', 'control.Delay', { seconds: 60 })]) {
          const job = submit(server, { graph: withOdd(waits, waits.type === 'control.Delay' ? 'output' : 'approved') })
          await resting(server, job.row.id)
          ids.push(job.row.id)
        }
      }
      now += 120_000
      {
        await using server = await startGated({ data_dir, platform })
        const { store } = server.context
        const { jobs } = server.context.runs
        await assert.rejects(jobs.resume(OWNER, ids[0]!, yes), coded('INVALID_WORKFLOW_GRAPH'))
        const { row } = await jobs.get(OWNER, ids[1]!)
        await until('the delay to be put off', () => store.read((tx) => findJobByKey(tx, row.key))!.wake_at! > now)
        for (const id of ids) assert.equal((await jobs.get(OWNER, id)).row.status, 'paused')
      }
      now += 1_200_000
      await using server = await startGated({ data_dir, types: [odd], platform })
      await server.context.runs.jobs.resume(OWNER, ids[0]!, yes)
      for (const id of ids) assert.deepEqual(JSON.parse((await ended(server, id)).result!).outputs, { out: 'x' })
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })
})
