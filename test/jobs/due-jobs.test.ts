// Suspended jobs whose time has come: those that cannot go on keep no others waiting.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import type { Scope } from '../../src/db/scope.ts'
import { type Platform, systemPlatform } from '../../src/platform.ts'
import { graph, node, sink, source } from '../engine/kit.ts'
import { keptLog } from '../helpers/kept-log.ts'
import { temporaryFolder, until } from '../helpers/server.ts'
import { type GatedServer, gated, OWNER, startGated, submit } from './kit.ts'

const HOUR_MS = 3_600_000
const delayed = graph(
  [source('in', 'x'), node('wait', 'control.Delay', { seconds: HOUR_MS / 1_000 }), sink('out')],
  ['in.output->wait.value', 'wait.output->out.value'],
)
const OTHER: Scope = { user_id: '2', workspace_id: null }

/** Runs `before` in a server, and `after` in the next one, an hour later, or `passed_ms`. */
async function anHourLater(
  before: (server: GatedServer) => Promise<unknown>,
  after: (data_dir: string, platform: Platform) => Promise<void>,
  passed_ms = HOUR_MS,
): Promise<void> {
  const data_dir = temporaryFolder()
  let now = Date.now()
  const platform = { ...systemPlatform(), now: () => now, timestamp: () => new Date(now).toISOString() }
  try {
    {
      await using server = await startGated({ data_dir, platform })
      await before(server)
    }
    now += passed_ms
    await after(data_dir, platform)
  } finally {
    rmSync(data_dir, { recursive: true, force: true })
  }
}

describe('due jobs', () => {
  /** More than are seen to at once. */
  const MANY = 150

  test('of a user for which there is no room keep no job of another user from waking up', async () => {
    let other: string
    await anHourLater(
      async (server) => {
        // One that runs, and one that waits for its turn: no more fit.
        for (let at = 0; at < 2; at++) submit(server, { graph: gated })
        const paused = (owner: Scope) =>
          server.context.jobs.listActive(owner).filter(({ status }) => status === 'paused').length
        for (let at = 0; at < MANY; at++) submit(server, { graph: delayed })
        await until('all to wait', () => paused(OWNER) === MANY)
        other = submit(server, { graph: delayed }, OTHER).row.id
        await until('the other one to wait', () => paused(OTHER) === 1)
      },
      async (data_dir, platform) => {
        const config = { max_jobs_per_user: 1, max_queued_jobs: 1 }
        await using server = await startGated({ data_dir, platform, config })
        const { jobs } = server.context
        await until('the other one to end', async () => (await jobs.get(OTHER, other)).row.finished_at)
        assert.deepEqual(jobs.load, { running: 1, waiting: 1 })
        for (let at = 0; at < 2; at++) (await until('a firing', () => server.gate.waiting[0])).open()
        await until('the first ones to go on when there is room', () => jobs.listActive(OWNER).length < MANY)
      },
    )
  })

  test('of which the row is damaged are not looked for again and again', () =>
    anHourLater(
      (server) => submit(server, { graph: delayed }).settled(),
      async (data_dir, platform) => {
        const db = new Database(join(data_dir, 'svc.db'))
        db.exec("update job set name = 'changed'")
        db.close()
        const { log, lines } = keptLog()
        await using server = await startGated({ data_dir, platform, log })
        await until('the damage to be met', () => lines.some((line) => line.includes('"table":"job"')))
        const { store } = server.context
        const [before, end] = [store.statements, performance.now() + 1_500]
        await until('some time to pass', () => performance.now() > end)
        assert.ok(store.statements - before < 6, `${store.statements - before} statements`)
      },
    ))

  test('that cannot be read when they are due end no process: they go on when they can be, and the log hears of it once', () => {
    let id: string
    return anHourLater(
      async (server) => {
        const job = submit(server, { graph: delayed })
        await job.settled()
        id = job.row.id
      },
      async (data_dir, platform) => {
        // The alarm rings a moment after the start. Its job is read by nobody else.
        const real = performance.now()
        const elapsed = { ...platform, elapsed: () => performance.now() - real }
        const { log, lines } = keptLog()
        await using server = await startGated({ data_dir, platform: elapsed, log })
        const db = new Database(join(data_dir, 'svc.db'))
        db.exec('alter table job rename to elsewhere')
        const failures = () => lines.filter((line) => line.includes('suspended jobs that are due cannot be read'))
        await until('the failure', () => failures().length > 0)
        const end = performance.now() + 2_500
        await until('some more rounds', () => performance.now() > end)
        db.exec('alter table elsewhere rename to job')
        db.close()
        await until('the job to end', async () => (await server.context.jobs.get(OWNER, id)).row.finished_at)
        assert.equal(failures().length, 1)
      },
      HOUR_MS - 1_000,
    )
  })
})
