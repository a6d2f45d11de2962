// Due suspended jobs: jobs that cannot be resumed do not block others.

import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { journalFolderPath } from '../../../src/db/files/data-folder.ts'
import type { OwnerScope } from '../../../src/db/owner-scope.ts'
import { SPILL_THRESHOLD } from '../../../src/jobs/values/spilled-value-store.ts'
import { DueJobQueue } from '../../../src/jobs/waits/due-job-queue.ts'
import { WakeTimer } from '../../../src/jobs/waits/wake-timer.ts'
import { type Platform, systemPlatform } from '../../../src/platform.ts'
import { runToCompletion } from '../../../src/shared/time-slices.ts'
import { graph, node, sink, source } from '../../engine/kit.ts'
import { closed } from '../../helpers/closed-folder.ts'
import { keptLog } from '../../helpers/kept-log.ts'
import { temporaryFolder, until } from '../../helpers/server.ts'
import { jobRow, openStore, putJob } from '../../helpers/store.ts'
import { type GatedServer, gated, OWNER, startGated, submit } from '../kit.ts'

const HOUR_MS = 3_600_000
const delayed = graph(
  [source('in', 'x'), node('wait', 'control.Delay', { seconds: HOUR_MS / 1_000 }), sink('out')],
  ['in.output->wait.value', 'wait.output->out.value'],
)
const OTHER: OwnerScope = { user_id: '2', workspace_id: null }

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

async function passed(ms: number): Promise<void> {
  const end = performance.now() + ms
  await until('some time to pass', () => performance.now() > end)
}

describe('due jobs', () => {
  /** More jobs than one turn handles. */
  const MANY = 150

  test('of a user for which there is no room do not keep a job of another user from being resumed', async () => {
    let other: string
    await anHourLater(
      async (server) => {
        // One job runs and one is queued, and no more fit.
        for (let at = 0; at < 2; at++) submit(server, { graph: gated })
        const paused = (owner: OwnerScope) =>
          runToCompletion(server.context.runs.jobs.listActive(owner)).filter(({ status }) => status === 'paused').length
        for (let at = 0; at < MANY; at++) submit(server, { graph: delayed })
        await until('all to wait', () => paused(OWNER) === MANY)
        other = submit(server, { graph: delayed }, OTHER).row.id
        await until('the other one to wait', () => paused(OTHER) === 1)
      },
      async (data_dir, platform) => {
        const config = { max_jobs_per_user: 1, max_queued_jobs: 1 }
        await using server = await startGated({ data_dir, platform, config })
        const { jobs } = server.context.runs
        await until('the other one to end', async () => (await jobs.get(OTHER, other)).row.finished_at)
        assert.deepEqual(jobs.load, { running: 1, waiting: 1 })
        for (let at = 0; at < 2; at++) (await until('a firing', () => server.gate.waiting[0])).open()
        await until(
          'the first ones to go on when there is room',
          () => runToCompletion(jobs.listActive(OWNER)).length < MANY,
        )
      },
    )
  })

  /** Ways to make all jobs of the first user impossible to wake. */
  const OBSTACLES: Readonly<Record<string, (data_dir: string) => Disposable | null>> = {
    'of which a file cannot be read': (data_dir) => closed(journalFolderPath(data_dir)),
    'of which the row is damaged': (data_dir) => {
      const db = new Database(join(data_dir, 'svc.db'))
      db.exec("update job set name = 'changed' where user_id = '1'")
      db.close()
      return null
    },
  }
  for (const [what, hinder] of Object.entries(OBSTACLES))
    test(`${what} do not keep a job of another user from being resumed, and are retried seldom`, () => {
      let other: string
      return anHourLater(
        async (server) => {
          const params = { in: 'x'.repeat(SPILL_THRESHOLD) }
          for (let at = 0; at < MANY; at++) await submit(server, { graph: delayed, params }).settled()
          const job = submit(server, { graph: delayed }, OTHER)
          await job.settled()
          other = job.row.id
        },
        async (data_dir, platform) => {
          using _ = hinder(data_dir)
          await using server = await startGated({ data_dir, platform })
          const { store } = server.context
          const { jobs } = server.context.runs
          await until('the other one to end', async () => (await jobs.get(OTHER, other)).row.finished_at)
          await passed(6_000)
          const before = store.statements
          await passed(1_500)
          assert.ok(store.statements - before < 30, `${store.statements - before} statements`)
        },
      )
    })

  test('are resumed however often other jobs are suspended meanwhile', async () => {
    await using opened = await openStore()
    const { store } = opened
    await store.write((tx) => putJob(tx, jobRow(1, { status: 'paused', wake_at: 1 })))
    let rings = 0
    const alarm = new WakeTimer(
      { store, log: keptLog().log },
      () => 2,
      () => void rings++,
    )
    await until('it to ring', () => {
      for (let times = 0; times < 3; times++) alarm.scheduleIn(20)
      alarm.schedule({ after: 1, most_ms: 20 })
      return rings > 0
    })
    alarm.stop()
  })

  test('of several users are resumed in turns, and paused jobs are not read again at once', async () => {
    await using opened = await openStore()
    const { store } = opened
    const due = (key: number, user_id: string) =>
      jobRow(key, { user_id, status: 'paused', wake_at: key < 1_000 ? key : 1_000 })
    await store.write((tx) => {
      for (let key = 1; key <= 1_200; key++) putJob(tx, due(key, '1'))
      putJob(tx, due(1_201, '2'), due(1_202, '3'), jobRow(1_203, { user_id: '4', status: 'paused', wake_at: 1_001 }))
    })
    const jobs = new DueJobQueue()
    const read = (until: number, hasTime = true) => store.read((tx) => jobs.read(tx, until, () => hasTime))
    const take = () => jobs.take()?.key ?? null
    jobs.rewind()
    read(1_000, false)
    assert.deepEqual([take(), take(), jobs.hasMore], [1, 2, true])
    read(1_000)
    assert.deepEqual([take(), take(), take(), take()], [3, 1_201, 1_202, 4])
    jobs.pauseUser('1')
    assert.deepEqual([take(), jobs.hasMore], [null, false])
    jobs.addStored({ key: 1_300, user_id: '2', wake_at: 900 })
    jobs.addStored({ key: 1_301, user_id: '2', wake_at: 1_001 })
    assert.deepEqual([take(), take()], [1_300, null])
    jobs.putBack({ user_id: '1', key: 4 })
    jobs.resumeUser('1')
    assert.equal(take(), 4)
    read(1_001)
    const left = new Set<number | null>()
    for (let key = take(); key !== null; key = take()) left.add(key)
    assert.deepEqual([left.size, left.has(1_203), jobs.hasMore], [1_196 + 1, true, false])
    jobs.rewind()
    read(1_001)
    assert.equal(take(), 1)
  })

  test('with a damaged row are not read again and again', () =>
    anHourLater(
      (server) => submit(server, { graph: delayed }).settled(),
      async (data_dir, platform) => {
        const db = new Database(join(data_dir, 'svc.db'))
        db.exec("update job set name = 'changed'")
        db.close()
        const { log, lines } = keptLog()
        await using server = await startGated({ data_dir, platform, log })
        await until('the damage to be met', () => lines.some((line) => line.includes('"table":"job"')))
        // The check of all rows at the start may have met the row, and so may the first read of due jobs.
        await pause(500)
        const { store } = server.context
        const before = store.statements
        await pause(1_500)
        assert.ok(store.statements - before < 6, `${store.statements - before} statements`)
      },
    ))

  test('that cannot be read when they are due do not crash the process: they continue later, and the fault is logged once', () => {
    let id: string
    return anHourLater(
      async (server) => {
        const job = submit(server, { graph: delayed })
        await job.settled()
        id = job.row.id
      },
      async (data_dir, platform) => {
        // The wake timer fires a moment after the start. No other code reads its job.
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
        await until('the job to end', async () => (await server.context.runs.jobs.get(OWNER, id)).row.finished_at)
        assert.equal(failures().length, 1)
      },
      HOUR_MS - 1_000,
    )
  })
})
