// The retention of jobs: when their data is removed, and that the removal delays no request.
import assert from 'node:assert/strict'
import { existsSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import type { Health } from '../../generated/types.ts'
import { checkDatabase } from '../../src/db/integrity/database-check.ts'
import { registerChecksumFunctions } from '../../src/db/integrity/row-checksum.ts'
import { insertJobEvent, listJobEventsAfter } from '../../src/db/jobs/events.ts'
import { findIdempotentJob, saveIdempotencyKey } from '../../src/db/jobs/idempotency-keys.ts'
import { insertJournalPage, listJournalPages } from '../../src/db/jobs/journal.ts'
import { listExpiredJobs } from '../../src/db/jobs/retention.ts'
import { findJobByKey } from '../../src/db/jobs/rows.ts'
import { hasTombstone } from '../../src/db/jobs/tombstones.ts'
import { DELETED_ROWS_OWNER } from '../../src/db/owner-scope.ts'
import type { Tx } from '../../src/db/store.ts'
import type { JobTable } from '../../src/db/tables/jobs.ts'
import { insertWorkflow } from '../../src/db/workflows.ts'
import { RetentionSweeper } from '../../src/jobs/retention.ts'
import { createLog } from '../../src/log.ts'
import { systemPlatform } from '../../src/platform.ts'
import { call, refused } from '../helpers/http.ts'
import { emptyLog, leavesLoopFree } from '../helpers/loop.ts'
import { scaled } from '../helpers/scale.ts'
import { startServer, type TestServer, until } from '../helpers/server.ts'
import { jobRow, openStore, putJob, workflowRow } from '../helpers/store.ts'
import { OWNER, plain, submission, submit } from './kit.ts'

const START = Date.parse('2026-01-01T00:00:00.000Z')
const DAY = 86_400_000

/** A server whose clock the test moves by days. */
async function aging(more: { job_retention_days?: number } = {}) {
  let now = START
  const platform = { ...systemPlatform(), now: () => now, timestamp: () => new Date(now).toISOString() }
  const server = await startServer({ platform, config: more })
  const sweepAfter = async (days: number) => {
    now = START + days * DAY
    await server.context.runs.retention.sweep()
  }
  return Object.assign(server, { sweepAfter })
}

const at = (days: number) => new Date(START + days * DAY).toISOString()

function ended(key: number, day: number, more: Partial<JobTable> = {}): JobTable {
  const error = JSON.stringify({ message: 'It failed.', type: 'node_error', node_id: null, retryable: false })
  const of = { status: 'failed', error, started_at: at(day), finished_at: at(day), last_sequence: 3 } as const
  return jobRow(key, { ...of, ...more })
}

function withTraces(tx: Tx, row: JobTable, events = 3): void {
  putJob(tx, row)
  for (let sequence = 1; sequence <= events; sequence++) {
    const payload = '{"node_id":"a","node_type":"text.Template","status":"running","progress":null}'
    insertJobEvent(tx, { job_key: row.key, sequence, type: 'node_status', payload, created_at: at(0) })
  }
  insertJournalPage(tx, { job_key: row.key, page: 0, attempt: 1, body: new Uint8Array([1]) })
}

/** The jobs that have a row, an event, a journal page or a tombstone. */
function kept({ context }: TestServer, keys: readonly number[]) {
  return context.store.read((tx) => ({
    rows: keys.filter((key) => findJobByKey(tx, key)),
    events: keys.filter((key) => listJobEventsAfter(tx, key, 0, 1).length > 0),
    journal: keys.filter((key) => listJournalPages(tx, key).length > 0),
    tombstones: keys.filter((key) => hasTombstone(tx, OWNER, `job_${key}`)),
  }))
}

describe('retention', () => {
  test('removes events after 7 days, jobs after the days of the setting, and tombstones after 90 more', async () => {
    await using server = await aging({ job_retention_days: 30 })
    const { store } = server.context
    await store.write((tx) => {
      withTraces(tx, ended(1, 0))
      withTraces(tx, ended(2, 10))
      withTraces(tx, jobRow(3, { status: 'paused', last_sequence: 3, started_at: at(0) }))
    })
    const all = [1, 2, 3]
    await server.sweepAfter(7)
    assert.deepEqual(kept(server, all), { rows: all, events: all, journal: all, tombstones: [] })
    await server.sweepAfter(7.1)
    assert.deepEqual(kept(server, all), { rows: all, events: [2, 3], journal: all, tombstones: [] })
    await server.sweepAfter(30)
    assert.deepEqual(kept(server, all), { rows: all, events: [3], journal: all, tombstones: [] })
    await server.sweepAfter(30.1)
    assert.deepEqual(kept(server, all), { rows: [2, 3], events: [3], journal: [2, 3], tombstones: [1] })
    await server.sweepAfter(120)
    assert.deepEqual(kept(server, all), { rows: [3], events: [3], journal: [3], tombstones: [1, 2] })
    await server.sweepAfter(120.2)
    assert.deepEqual(kept(server, all), { rows: [3], events: [3], journal: [3], tombstones: [2] })
  })

  test('removes jobs with long results like others, and reads a few at a time', async () => {
    await using server = await aging()
    const { store } = server.context
    const keys = Array.from({ length: 12 }, (_, at) => at + 1)
    const result = JSON.stringify('é'.repeat(200_000))
    await store.write((tx) => {
      for (const key of keys) withTraces(tx, ended(key, 0, { status: 'completed', error: null, result }))
    })
    const first = store.read((tx) => listExpiredJobs(tx, at(30), 200))
    assert.equal(store.hasDamagedRows, false)
    assert.ok(first.length > 0 && first.length < keys.length, `${first.length} jobs`)
    await server.sweepAfter(8)
    assert.deepEqual(kept(server, keys), { rows: keys, events: [], journal: keys, tombstones: [] })
    await server.sweepAfter(31)
    assert.deepEqual(kept(server, keys), { rows: [], events: [], journal: [], tombstones: keys })
    await refused(server, 'GET', '/api/jobs/job_1', {}, [410, 'job_expired'])
  })

  test('shows JOB_EXPIRED and REPLAY_EXPIRED to the owner alone', async () => {
    await using server = await aging()
    await server.context.store.write((tx) => {
      withTraces(tx, ended(1, 0))
      withTraces(tx, ended(2, 0, { user_id: '2' }))
      withTraces(tx, ended(3, 0, { workspace_id: 'w' }))
    })
    await server.sweepAfter(8)
    await refused(server, 'GET', '/api/jobs/job_1/events', {}, [410, 'replay_expired'])
    assert.equal((await call(server, 'GET', '/api/jobs/job_1')).status, 200)
    await server.sweepAfter(31)
    for (const [method, path] of [
      ['GET', '/api/jobs/job_1'],
      ['DELETE', '/api/jobs/job_1'],
      ['POST', '/api/jobs/job_1/cancel'],
      ['GET', '/api/jobs/job_1/events'],
    ] as const) {
      await refused(server, method, path, {}, [410, 'job_expired'])
    }
    for (const id of ['job_2', 'job_3', 'missing']) {
      await refused(server, 'GET', `/api/jobs/${id}`, {}, [404, 'job_not_found'])
    }
  })

  test('lets the id of an expired job be used again, and shows the new job', async () => {
    await using server = await aging()
    await server.context.store.write((tx) => withTraces(tx, ended(1, 0)))
    await server.sweepAfter(31)
    const graph = { nodes: [{ id: 'out', type: 'output.Output', data: { name: 'out', value: 1 } }], edges: [] }
    const { active } = server.context.runs.jobs.submit(OWNER, submission({ graph, job_id: 'job_1' }))
    await active!.settled()
    assert.equal((await call(server, 'GET', '/api/jobs/job_1')).status, 200)
    assert.equal((await call(server, 'DELETE', '/api/jobs/job_1')).status, 204)
    await refused(server, 'GET', '/api/jobs/job_1', {}, [404, 'job_not_found'])
  })

  test('removes idempotency keys after a day', async () => {
    await using server = await aging()
    const { store } = server.context
    const reader = new Database(join(server.data_dir, 'svc.db'), { readonly: true })
    const keys = () => reader.prepare('select count(*) from idempotency_key').pluck().get()
    await store.write((tx) => {
      putJob(tx, jobRow(1, { status: 'paused' }))
      for (let key = 0; key < 450; key++) {
        const created_at = at(key < 440 ? 0 : 0.5)
        saveIdempotencyKey(tx, OWNER, { key: `k${key}`, request_sha256: 'r', job_key: 1, created_at })
      }
    })
    await server.sweepAfter(1)
    assert.equal(keys(), 450)
    await server.sweepAfter(1.1)
    assert.equal(keys(), 10)
    reader.close()
  })

  test('leaves no rows of removed jobs in any table, not even of jobs without a row', async () => {
    await using server = await aging()
    const counts = () => {
      const db = new Database(join(server.data_dir, 'svc.db'), { readonly: true })
      const tables = db
        .prepare(
          "select name from sqlite_schema where type = 'table' and name not glob 'sqlite_*' and name not glob 'kysely_*'",
        )
        .pluck()
        .all() as string[]
      const rows = tables.map((table) => [table, db.prepare(`select count(*) from "${table}"`).pluck().get() as number])
      db.close()
      return Object.fromEntries(rows) as Record<string, number>
    }
    const before = counts()
    const jobs = Array.from({ length: 5 }, (_, i) => submit(server, { graph: plain, params: { in: `x${i}` } }))
    for (const job of jobs) await job.settled()
    const record = { key: 'once', request_sha256: 'r', job_key: jobs[0]!.row.key, created_at: at(0) }
    await server.context.store.write((tx) => saveIdempotencyKey(tx, OWNER, record))
    const during = counts()
    for (const table of ['job', 'job_event', 'graph', 'idempotency_key'])
      assert.ok(during[table]! > before[table]!, table)
    for (const days of [31, 31 + 91]) await server.sweepAfter(days)
    // The position of a sweep, and the highest removed key, stay as one row each.
    const steady = { sweep_position: 0, meta: 0 }
    assert.deepEqual({ ...counts(), ...steady }, { ...before, ...steady })
  })

  test('continues at its position, and visits no job twice', async () => {
    await using opened = await openStore()
    const rows = Array.from({ length: 450 }, (_, key) => ended(key + 1, 0))
    await opened.store.write((tx) => {
      for (const row of rows) withTraces(tx, row)
    })
    const sweep = async () => {
      const platform = { ...systemPlatform(), now: () => START + 8 * DAY }
      const parts = {
        store: opened.store,
        platform,
        log: createLog('silent'),
        job_days: 30,
        early_keys: new Set<number>(),
        fileSweeps: [],
      }
      await using retention = new RetentionSweeper(parts)
      const before = opened.store.statements
      await retention.sweep()
      return opened.store.statements - before
    }
    const first = await sweep()
    assert.deepEqual(
      rows.filter(({ key }) => opened.store.read((tx) => listJobEventsAfter(tx, key, 0, 1)).length > 0),
      [],
    )
    await opened.reopen()
    const again = await sweep()
    assert.ok(first > 450 && again < 20, `${first} statements, then ${again}`)
  })

  test('skips damaged rows of its own, and starts again where its position is damaged', async () => {
    const damages = {
      job_doomed:
        "insert into job_doomed values (1, 12345); insert into job_doomed values (2, row_checksum('job_doomed', 2))",
      sweep_position: "insert into sweep_position values ('events', '2027-01-01T00:00:00.000Z', 0, 12345)",
    }
    for (const [table, damage] of Object.entries(damages)) {
      await using server = await aging()
      await server.context.store.write((tx) => {
        withTraces(tx, ended(3, 0))
        saveIdempotencyKey(tx, OWNER, { key: 'k', request_sha256: 'x', job_key: 3, created_at: at(0) })
        for (const sequence of [1, 2])
          insertJobEvent(tx, { job_key: 2, sequence, type: 'x', payload: '{}', created_at: at(0) })
      })
      const saboteur = new Database(join(server.data_dir, 'svc.db'))
      registerChecksumFunctions(saboteur)
      saboteur.exec(damage)
      await server.sweepAfter(8)
      assert.deepEqual(kept(server, [3]), { rows: [3], events: [], journal: [3], tombstones: [] }, table)
      await server.sweepAfter(31)
      assert.deepEqual(kept(server, [3]), { rows: [], events: [], journal: [], tombstones: [3] }, table)
      assert.deepEqual(kept(server, [2]).events, table === 'job_doomed' ? [] : [2])
      const since = '2000-01-01T00:00:00.000Z'
      assert.equal(
        server.context.store.read((tx) => findIdempotentJob(tx, OWNER, 'k', since)),
        undefined,
      )
      assert.equal((await call<Health>(server, 'GET', '/health')).body.services.database, 'damaged')
      saboteur.close()
    }
  })

  test('continues after damaged rows, however many there are', async () => {
    /** More rows than one batch selects. */
    const MANY = 250
    await using server = await aging()
    const { store } = server.context
    await store.write((tx) => {
      for (let key = 1; key <= MANY; key++) putJob(tx, ended(key, 0))
      withTraces(tx, ended(MANY + 1, 1))
      for (const id of ['damaged', 'sound']) insertWorkflow(tx, workflowRow(id, { user_id: DELETED_ROWS_OWNER }))
    })
    const saboteur = new Database(join(server.data_dir, 'svc.db'))
    saboteur.exec(`drop trigger job_terminal_is_immutable; update job set name = 'changed' where key <= ${MANY}`)
    saboteur.exec("update workflow set name = 'changed' where id = 'damaged'")
    await server.sweepAfter(9)
    assert.deepEqual(kept(server, [MANY + 1]).events, [])
    await server.sweepAfter(32)
    assert.deepEqual(kept(server, [MANY + 1]), { rows: [], events: [], journal: [], tombstones: [MANY + 1] })
    const count = (table: string) => saboteur.prepare(`select count(*) from ${table}`).pluck().get()
    assert.deepEqual([count('job'), count('workflow')], [MANY, 1])
    saboteur.close()
  })

  test('continues with other kinds of rows where one kind cannot be removed', async () => {
    await using server = await aging()
    await server.context.store.write((tx) => {
      withTraces(tx, ended(1, 0))
      saveIdempotencyKey(tx, OWNER, { key: 'k', request_sha256: 'x', job_key: 1, created_at: at(0) })
    })
    const saboteur = new Database(join(server.data_dir, 'svc.db'))
    saboteur.exec("create trigger broken before delete on job_event begin select raise(abort, 'no'); end")
    await server.sweepAfter(31)
    assert.deepEqual(kept(server, [1]).events, [1])
    const since = '2000-01-01T00:00:00.000Z'
    assert.equal(
      server.context.store.read((tx) => findIdempotentJob(tx, OWNER, 'k', since)),
      undefined,
    )
    saboteur.close()
  })

  test('continues with other kinds of files where one kind cannot be removed', async () => {
    await using opened = await openStore()
    const swept: string[] = []
    const said: string[] = []
    const sweep = (name: string) => async () => {
      swept.push(name)
      if (name === 'far') throw new Error('the storage does not answer')
    }
    const log = createLog('error', undefined, { write: (line) => void said.push(line) })
    const fileSweeps = ['near', 'far', 'temporary'].map(sweep)
    await using retention = new RetentionSweeper({
      ...opened,
      platform: systemPlatform(),
      log,
      job_days: 30,
      early_keys: new Set(),
      fileSweeps,
    })
    await retention.sweep()
    assert.deepEqual(swept, ['near', 'far', 'temporary'])
    assert.equal(said.length, 1)
    assert.match(said[0]!, /unused files could not be removed/)
  })

  test('stops with the server, in the middle of its work', async () => {
    await using server = await aging()
    await server.context.store.write((tx) => {
      for (let key = 1; key <= 300; key++) withTraces(tx, ended(key, 0))
    })
    const sweeping = server.sweepAfter(31)
    await server.close(0)
    await sweeping
  })

  test('retries removals that could not be written', async () => {
    await using server = await aging()
    await server.context.store.write((tx) => withTraces(tx, ended(1, 0)))
    const saboteur = new Database(join(server.data_dir, 'svc.db'))
    saboteur.exec("create trigger broken before delete on job_event begin select raise(abort, 'the disk is gone'); end")
    await server.sweepAfter(8)
    assert.deepEqual(kept(server, [1]).events, [1])
    saboteur.exec('drop trigger broken')
    await server.sweepAfter(8)
    assert.deepEqual(kept(server, [1]).events, [])
    saboteur.close()
  })
})

describe('a sweep does not block the event loop', () => {
  const rounds = Math.min(scaled(1), 5)

  test('over many jobs with few events each', async () => {
    await using server = await aging()
    let key = 0
    await leavesLoopFree(async () => {
      const keys = Array.from({ length: 1_000 * rounds }, () => ++key)
      await server.context.store.write((tx) => {
        for (const key of keys) withTraces(tx, ended(key, 0), 9)
      })
      emptyLog(server)
      return () => server.sweepAfter(31)
    })
    const keys = Array.from({ length: key }, (_, at) => at + 1)
    const { rows, events, journal } = kept(server, keys)
    assert.deepEqual([rows, events, journal], [[], [], []])
  })

  test('over one job with many events', async () => {
    await using server = await aging()
    let key = 0
    await leavesLoopFree(async () => {
      key++
      await server.context.store.write((tx) => withTraces(tx, ended(key, 0), 20_000 * rounds))
      emptyLog(server)
      return () => server.sweepAfter(8)
    })
    assert.deepEqual(kept(server, [key]), { rows: [key], events: [], journal: [key], tombstones: [] })
  })

  test('while it removes files that no asset names any more', async () => {
    await using server = await startServer()
    const { store: assets } = server.context.assets
    const { retention } = server.context.runs
    const { row } = assets.prepare({ user_id: '1', workspace_id: null }, Buffer.from('left behind'), {
      content_type: null,
      workflow_id: null,
      job_id: null,
      node_id: null,
    })
    const file = join(server.data_dir, 'storage', 'objects', ...row.content_key.split('/'))
    const old = new Date(Date.now() - 2 * 3_600_000)
    utimesSync(file, old, old)
    await retention.sweep()
    assert.equal(existsSync(file), false)
  })
})

describe('the space of removed rows', () => {
  const bytes = ({ data_dir }: TestServer) => statSync(join(data_dir, 'svc.db')).size

  test('is given back to the file system, in steps that delay no request', async () => {
    await using server = await aging()
    const count = scaled(1_000)
    let key = 0
    await leavesLoopFree(async () => {
      await server.context.store.write((tx) => {
        for (let i = 0; i < count; i++) withTraces(tx, ended(++key, 0), 20)
      })
      // The rows that stay are between removed rows, and at the end of the file.
      await server.context.store.write((tx) => {
        for (let i = 0; i < count / 10; i++) withTraces(tx, ended(++key, 25), 20)
      })
      emptyLog(server)
      return () => server.sweepAfter(31)
    })
    const { pages, free_pages, page_bytes } = server.context.store.space
    assert.ok(free_pages < 300 + pages / 10, `${free_pages} of ${pages} pages are free`)
    await server.sweepAfter(31)
    await until('the file to be as short as the database', () => bytes(server) <= pages * page_bytes)
    const findings = await checkDatabase(join(server.data_dir, 'svc.db'))
    // The rows of this test are not real jobs, but the pages are valid.
    assert.deepEqual(
      findings.filter(({ check }) => check === 'the file'),
      [],
    )
  })

  test('stays in the file for new rows while it is small', async () => {
    await using server = await aging()
    await server.context.store.write((tx) => {
      for (let key = 1; key <= 50; key++) withTraces(tx, ended(key, 0), 20)
    })
    await server.sweepAfter(31)
    assert.ok(server.context.store.space.free_pages > 0)
  })
})
