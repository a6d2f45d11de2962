// Unfinished jobs with damaged stored data: they end as failed, their followers are told, and no other job is held up. The damaged data stays as it is.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import type { JobError } from '../../generated/types.ts'
import { checkDatabase } from '../../src/db/integrity/database-check.ts'
import { systemPlatform } from '../../src/platform.ts'
import { control, graph, node, sink, source } from '../engine/kit.ts'
import { withoutTriggers } from '../helpers/checksums.ts'
import { type KeptLog, keptLog } from '../helpers/kept-log.ts'
import { type TestServer, temporaryFolder, until } from '../helpers/server.ts'
import { coded, ended, gated, OWNER, plain, startGated, submit, words } from './kit.ts'

/** Changes a row of the first job without its checksum, like a flipped bit. */
const DAMAGES = {
  event: `update job_event set payload = replace(payload, 'running', 'runninh')
    where sequence = (select min(sequence) from job_event where job_key = 1 and type = 'node_status') and job_key = 1`,
  graph: `update graph set body = replace(body, 'output', 'outpuu')
    where sha256 = (select graph_sha256 from job where key = 1)`,
}
type Damage = keyof typeof DAMAGES

function damage(data_dir: string, what: Damage): void {
  const db = new Database(join(data_dir, 'svc.db'))
  withoutTriggers(db, () => assert.equal(db.prepare(DAMAGES[what]).run().changes, 1))
  db.close()
}

const delayed = graph(
  [source('in', 'x'), node('wait', 'control.Delay', { seconds: 3_600 }), sink('out')],
  ['in.output->wait.value', 'wait.output->out.value'],
)
const awaited = graph(
  [source('in', 'x'), sink('first'), node('wait', 'control.WaitFor', { name: 'answer', schema: null }), sink('out')],
  ['in.output->first.value', 'wait.value->out.value'],
)
const answer = { node_id: null, name: null, value: 1, at: '/body' }

/** One job runs at a time, so that a job that kept its slot would block all others. */
const ONE = { max_concurrent_jobs: 1 }

/** Checks that a job has failed because of damage, that a database check still finds the damage, and that the log has the end once. */
async function hasEnded(server: TestServer, id: string, log: KeptLog): Promise<void> {
  const row = await ended(server, id)
  assert.deepEqual([row.status, (JSON.parse(row.error!) as JobError).type], ['failed', 'data_damaged'])
  const lines = log.lines.filter((line) => line.includes('the job ends') && line.includes(id))
  assert.equal(lines.length, 1, log.lines.join(''))
  assert.notEqual((await checkDatabase(join(server.data_dir, 'svc.db'))).length, 0, 'the damage is still found')
  const other = submit(server, { graph: plain })
  await other.settled()
  assert.equal(other.row.status, 'completed')
}

/** Starts a job, damages its data while no server runs, and passes it to the next server. */
async function goneOn(
  what: Damage,
  begin: (server: Awaited<ReturnType<typeof startGated>>) => Promise<string>,
  then: (server: TestServer, id: string, log: KeptLog) => Promise<void>,
): Promise<void> {
  const data_dir = temporaryFolder()
  let now = Date.now()
  const platform = { ...systemPlatform(), now: () => now, timestamp: () => new Date(now).toISOString() }
  try {
    let id: string
    {
      await using server = await startGated({ data_dir, platform })
      id = await begin(server)
    }
    damage(data_dir, what)
    now += 3_600_000
    const log = keptLog()
    await using server = await startGated({ data_dir, platform, log: log.log, config: ONE })
    await then(server, id, log)
  } finally {
    rmSync(data_dir, { recursive: true, force: true })
  }
}

describe('a job with damaged data', () => {
  for (const what of ['event', 'graph'] as const) {
    test(`ends where it was running when the server stopped: its ${what}`, () =>
      goneOn(
        what,
        async (server) => {
          const job = submit(server, { graph: gated })
          await until('the firing', () => server.gate.waiting[0])
          await job.flushed()
          return job.row.id
        },
        hasEnded,
      ))

    test(`ends where its time has come: its ${what}`, () =>
      goneOn(
        what,
        async (server) => {
          const job = submit(server, { graph: delayed })
          await job.settled()
          return job.row.id
        },
        hasEnded,
      ))

    test(`ends where it gets the value that it waits for: its ${what}`, () =>
      goneOn(
        what,
        async (server) => {
          const job = submit(server, { graph: awaited })
          await job.settled()
          return job.row.id
        },
        async (server, id, log) => {
          const resumed = server.context.runs.jobs.resume(OWNER, id, answer)
          if (what === 'graph') await assert.rejects(resumed, coded('DATA_DAMAGED'))
          else await resumed
          await hasEnded(server, id, log)
        },
      ))
  }

  test('can be cancelled while it waits: its graph', () =>
    goneOn(
      'graph',
      async (server) => {
        const job = submit(server, { graph: awaited })
        await job.settled()
        return job.row.id
      },
      async (server, id) => {
        assert.equal((await server.context.runs.jobs.cancel(OWNER, id)).row.status, 'cancelled')
      },
    ))

  test('ends where its history must be trimmed; its followers are told, and a retry reuses finished firings', async () => {
    const items = Array.from({ length: 90 }, (_, at) => at)
    const many = graph(
      [source('in', 1), node('gate', 'test.Gate'), source('xs', items), node('each', 'control.ForEach'), sink('items')],
      ['in.output->gate.value', 'xs.output->each.list', 'each.item->items.value', control('gate', 'each')],
    )
    const log = keptLog()
    await using server = await startGated({ max_job_events: 20, log: log.log, config: ONE })
    const { jobs, events } = server.context.runs
    const job = submit(server, { graph: many })
    const firing = await until('the firing', () => server.gate.waiting[0])
    await job.flushed()
    const followed = (async () => {
      const told: string[] = []
      for await (const { event } of events.follow(job.row.key, job.feed.committed, AbortSignal.timeout(60_000)))
        if (event) told.push(words(event))
      return told
    })()
    damage(server.data_dir, 'event')
    firing.open()
    assert.equal((await followed).at(-1), 'end failed')
    await hasEnded(server, job.row.id, log)
    const { row } = await jobs.retry(OWNER, job.row.id)
    // The gate had finished if the last undamaged commit says so: it is reused then, or fires again.
    const again = await until('the firing, once more, or the end', async () => {
      const { status } = (await jobs.get(OWNER, row.id)).row
      return server.gate.waiting[0] ?? (status === 'completed' && 'taken over')
    })
    if (again !== 'taken over') again.open()
    assert.equal((await ended(server, row.id)).status, 'completed')
  })
})
