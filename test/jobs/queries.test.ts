// Lists of jobs are read by index and in small parts, and jobs are deleted completely.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { insertJobEvent, listJobEventsAfter } from '../../src/db/jobs/events.ts'
import { saveIdempotencyKey } from '../../src/db/jobs/idempotency-keys.ts'
import { insertJournalPage, listJournalPages } from '../../src/db/jobs/journal.ts'
import { JOB_LIST_STATEMENTS, listJobKeys } from '../../src/db/jobs/list-queries.ts'
import { expireJob, purgeJob, purgeRemovedJobs } from '../../src/db/jobs/removal.ts'
import { RETENTION_STATEMENTS } from '../../src/db/jobs/retention.ts'
import { findLastJobKey, selectDueJobs } from '../../src/db/jobs/rows.ts'
import { removeOldTombstones } from '../../src/db/jobs/tombstones.ts'
import type { Tx } from '../../src/db/store.ts'
import type { JobTable } from '../../src/db/tables/jobs.ts'
import { deleteJob, listJobs } from '../../src/jobs/queries.ts'
import { listStoredStatuses } from '../../src/jobs/state-machine.ts'
import { yieldToEventLoop } from '../../src/shared/time-slices.ts'
import { collect, emptyLog, leavesLoopFree, turnsOf } from '../helpers/loop.ts'
import { scaled } from '../helpers/scale.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { jobRow, openStore, putJob } from '../helpers/store.ts'
import { coded, OWNER } from './kit.ts'

const AT = '2026-01-01T00:00:00.000Z'
const ALL = { workflow_id: null, statuses: listStoredStatuses(null), before: Number.MAX_SAFE_INTEGER, limit: 100 }

/** The query plan of a statement. */
function plan(path: string, statement: { sql: string }): string[] {
  const db = new Database(path, { readonly: true })
  try {
    const slots = Array.from(statement.sql.matchAll(/\?/g), () => 1)
    const rows = db.prepare(`explain query plan ${statement.sql}`).all(...slots) as { detail: string }[]
    return rows.map(({ detail }) => detail)
  } finally {
    db.close()
  }
}

describe('the database reads lists and sweeps', () => {
  const expected = {
    byStatus: [/USING INDEX job_by_status \(user_id=\? AND <expr>=\? AND status=\? AND key<\?\)/],
    byWorkflow: [
      /USING INDEX job_by_workflow \(user_id=\? AND <expr>=\? AND workflow_id=\? AND status=\? AND key<\?\)/,
    ],
    countUnfinished: [/USING COVERING INDEX job_unfinished_by_owner$/],
    selectActive: [/USING COVERING INDEX job_unfinished_by_owner \(status=\? AND user_id=\? AND <expr>=\?\)/],
    selectFinished: [/USING (COVERING )?INDEX job_finished /],
    selectExpired: [/USING INDEX job_finished /],
    deleteOldKeys: [/USING PRIMARY KEY/, /LIST SUBQUERY/, /INDEX idempotency_key_by_age /],
    selectDue: [/USING INDEX job_to_wake \(/],
    removeOld: [/USING PRIMARY KEY/, /LIST SUBQUERY/, /INDEX job_tombstone_by_age /],
  }
  const statements = {
    ...JOB_LIST_STATEMENTS,
    ...RETENTION_STATEMENTS,
    selectDue: selectDueJobs,
    removeOld: removeOldTombstones,
  }
  for (const [name, details] of Object.entries(expected)) {
    test(`${name}: by index, without sorting`, async () => {
      await using opened = await openStore()
      const found = plan(opened.path, statements[name as keyof typeof statements])
      for (const detail of details)
        assert.ok(
          found.some((line) => detail.test(line)),
          found.join('\n'),
        )
      assert.ok(
        found.every(
          (line) => !line.includes('TEMP B-TREE') && (!line.startsWith('SCAN') || line.includes('COVERING INDEX')),
        ),
        found.join('\n'),
      )
    })
  }
})

describe('listedJobs', () => {
  test('gives the same as filtering all rows, for every filter', async () => {
    await using opened = await openStore()
    const statuses = listStoredStatuses(null)
    const rows = Array.from({ length: 300 }, (_, at) =>
      jobRow(at + 1, {
        status: statuses[(at * 7) % statuses.length]!,
        workflow_id: `wf${at % 3}`,
        user_id: at % 5 === 0 ? '2' : '1',
        workspace_id: at % 11 === 0 ? 'w' : null,
        options: at % 4 === 0 ? '{"persistence":"session"}' : '{"persistence":"job"}',
        finished_at: AT,
      }),
    )
    await opened.store.write((tx) => putJob(tx, ...rows))
    for (const status of [null, 'accepted', 'failed', 'queued'] as const) {
      for (const workflow_id of [null, 'wf1']) {
        for (const [before, limit] of [
          [1_000, 500],
          [150, 10],
        ] as const) {
          const wanted = listStoredStatuses(status)
          const keys = rows
            .filter((row) => row.user_id === '1' && row.workspace_id === null && row.options.includes('"job"'))
            .filter((row) => wanted.includes(row.status) && (workflow_id ?? row.workflow_id) === row.workflow_id)
            .filter((row) => row.key < before)
            .map(({ key }) => key)
            .reverse()
          const found = opened.store.read((tx) =>
            listJobKeys(tx, OWNER, { workflow_id, statuses: wanted, before, limit }),
          )
          assert.deepEqual(found, keys.slice(0, limit))
        }
      }
    }
  })
})

function ended(key: number, more: Partial<JobTable> = {}): JobTable {
  return jobRow(key, { status: 'completed', started_at: AT, finished_at: AT, ...more })
}

function traces(tx: Tx, job_key: number, events: number): void {
  for (let sequence = 1; sequence <= events; sequence++) {
    insertJobEvent(tx, { job_key, sequence, type: 'node_status', payload: '{"node_id":"a"}', created_at: AT })
  }
  insertJournalPage(tx, { job_key, page: 0, attempt: 1, body: new Uint8Array([1]) })
  saveIdempotencyKey(tx, OWNER, { key: `key${job_key}`, request_sha256: 'r', job_key, created_at: AT })
}

/** Counts the rows of each table that belong to a job. */
function left({ data_dir }: TestServer, job_key: number): Record<string, number> {
  const db = new Database(`${data_dir}/svc.db`, { readonly: true })
  const count = (table: string) =>
    db.prepare(`select count(*) from ${table} where job_key = ?`).pluck().get(job_key) as number
  try {
    const tables = ['job_event', 'job_journal', 'job_doomed']
    return Object.fromEntries(tables.map((table) => [table, count(table)]))
  } finally {
    db.close()
  }
}

const NOTHING = { job_event: 0, job_journal: 0, job_doomed: 0 }

async function discard(parts: AsyncIterable<string>): Promise<void> {
  for await (const part of parts) assert.ok(part.length > 0)
}

/** The length of a turn such that half of the total time is in turns no shorter than this. */
function middleTurn(turns: readonly number[]): number {
  const sorted = turns.toSorted((a, b) => b - a)
  const half = turns.reduce((sum, turn) => sum + turn, 0) / 2
  let passed = 0
  for (const turn of sorted) {
    passed += turn
    if (passed >= half) return turn
  }
  return 0
}

describe('listJobs', () => {
  test('a page of large results does not block the event loop', async () => {
    await using server = await startServer()
    const outputs = { text: 'x'.repeat(20_000) }
    const of = { version: 1, completed_at: AT, outputs, assets: [], cost: null, provenance: {} }
    const rows = Array.from({ length: 500 }, (_, at) => ended(at + 1, { result: JSON.stringify(of) }))
    await server.context.store.write((tx) => putJob(tx, ...rows))
    await leavesLoopFree(async () => {
      const { text, next } = listJobs(server.context.runs, OWNER, { limit: 500 })
      assert.equal(next, null)
      let length = 0
      return async () => {
        for await (const part of text) length += part.length
        assert.ok(length > 500 * 20_000)
      }
    })
  })

  test('many pages at once share the turns of the event loop', async () => {
    await using server = await startServer()
    const rows = Array.from({ length: 20 }, (_, at) => ended(at + 1, { result: JSON.stringify('x'.repeat(300_000)) }))
    await server.context.store.write((tx) => putJob(tx, ...rows))
    emptyLog(server)
    const pages = Array.from({ length: 96 }, () => listJobs(server.context.runs, OWNER, { limit: 20 }).text)
    for (const page of pages) {
      await page.next()
      await yieldToEventLoop()
    }
    const turns = await turnsOf(async () => {
      await Promise.all(pages.map((page) => discard(page)))
    })
    // Some turns collect the garbage of half a gigabyte of texts, so the longest turn says little.
    const middle = middleTurn(turns)
    assert.ok(middle < 20, `half of the time is in turns of ${middle} ms and more`)
  })

  test('leaves out jobs that are removed, or have another status, when their turn comes', async () => {
    await using server = await startServer()
    const { store } = server.context
    await store.write((tx) => putJob(tx, jobRow(1), jobRow(2), jobRow(3)))
    const { text } = listJobs(server.context.runs, OWNER, { status: 'accepted' })
    await store.write((tx) => purgeJob(tx, jobRow(2), () => true))
    const shown = JSON.parse((await collect(text)).join('')) as { job_id: string }[]
    assert.deepEqual(
      shown.map(({ job_id }) => job_id),
      ['job_3', 'job_1'],
    )
  })
})

describe('deleteJob', () => {
  test('removes everything of a job, and nothing of another job', async () => {
    await using server = await startServer()
    const { store } = server.context
    await store.write((tx) => {
      putJob(tx, ended(1), ended(2))
      traces(tx, 1, 3)
      traces(tx, 2, 3)
    })
    await deleteJob(server.context.runs, OWNER, 'job_1')
    // The sweep removes the rest for which there was no time.
    await store.write((tx) => purgeRemovedJobs(tx, () => true))
    assert.deepEqual(left(server, 1), NOTHING)
    assert.deepEqual(left(server, 2), { job_event: 3, job_journal: 1, job_doomed: 0 })
    await assert.rejects(deleteJob(server.context.runs, OWNER, 'job_1'), coded('JOB_NOT_FOUND'))
  })

  test('of two requests that delete a job, one gets JOB_NOT_FOUND', async () => {
    await using server = await startServer()
    await server.context.store.write((tx) => putJob(tx, ended(1)))
    const both = await Promise.allSettled([1, 2].map(() => deleteJob(server.context.runs, OWNER, 'job_1')))
    assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  })

  test('JOB_NOT_TERMINAL: a job that has not ended stays', async () => {
    await using server = await startServer()
    await server.context.store.write((tx) => putJob(tx, jobRow(1, { status: 'paused' })))
    await assert.rejects(deleteJob(server.context.runs, OWNER, 'job_1'), coded('JOB_NOT_TERMINAL'))
    assert.deepEqual(
      server.context.store.read((tx) => listJobKeys(tx, OWNER, ALL)),
      [1],
    )
  })

  test('a job with a hundred thousand events is gone at once, and its rows are removed in small parts', async () => {
    await using server = await startServer()
    const { store } = server.context
    const { retention } = server.context.runs
    const count = Math.min(scaled(20_000), 100_000)
    await leavesLoopFree(async () => {
      await store.write((tx) => {
        putJob(tx, ended(7))
        traces(tx, 7, count)
      })
      emptyLog(server)
      return async () => {
        await deleteJob(server.context.runs, OWNER, 'job_7')
        assert.deepEqual(
          store.read((tx) => listJobKeys(tx, OWNER, ALL)),
          [],
        )
        await retention.sweep()
        assert.deepEqual(left(server, 7), NOTHING)
      }
    })
  })

  test('the key of a deleted job is not given to another job while rows of it remain', async () => {
    await using opened = await openStore()
    const none = () => false
    await opened.store.write((tx) => {
      putJob(tx, ended(9))
      traces(tx, 9, 1_000)
    })
    await opened.store.write((tx) => purgeJob(tx, ended(9), none))
    assert.ok(opened.store.read((tx) => listJobEventsAfter(tx, 9, 0, 1_000)).length > 0)
    assert.equal(opened.store.read((tx) => listJournalPages(tx, 9)).length, 1)
    assert.equal(opened.store.read(findLastJobKey), 9)
    const store = await opened.reopen()
    assert.equal(store.read(findLastJobKey), 9)
  })

  test('the key of the newest job is not reused after the job was deleted or has expired', async () => {
    await using opened = await openStore()
    const all = () => true
    await opened.store.write((tx) => putJob(tx, ended(3), ended(8), ended(9)))
    await opened.store.write((tx) => purgeJob(tx, ended(9), all))
    assert.equal(opened.store.read(findLastJobKey), 9)
    await opened.store.write((tx) => expireJob(tx, ended(8), AT, all))
    await opened.store.write((tx) => purgeJob(tx, ended(3), all))
    const store = await opened.reopen()
    assert.equal(store.read(findLastJobKey), 9)
    await store.write((tx) => expireJob(tx, ended(12), AT, all))
    assert.equal(store.read(findLastJobKey), 9)
    await store.write((tx) => putJob(tx, ended(12)))
    await store.write((tx) => expireJob(tx, ended(12), AT, all))
    assert.equal(store.read(findLastJobKey), 12)
  })
})
