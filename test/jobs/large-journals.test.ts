// The removal of large journals of completed jobs: it goes step by step, delays no request, and leaves all other data.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { checkDatabase } from '../../src/db/integrity/database-check.ts'
import { insertJobEvent } from '../../src/db/jobs/events.ts'
import { insertJournalPage } from '../../src/db/jobs/journal.ts'
import { deleteCompletedJournal, purgeJob, purgeRemovedJobs } from '../../src/db/jobs/removal.ts'
import { insertSpilledValue } from '../../src/db/jobs/spilled-values.ts'
import type { Tx } from '../../src/db/store.ts'
import { sha256 } from '../../src/shared/hashes.ts'
import { graph, item, node, output, sink, testType, value } from '../engine/kit.ts'
import { inFolder } from '../helpers/folder.ts'
import { emptyLog, leavesLoopFree } from '../helpers/loop.ts'
import { atRealSize } from '../helpers/scale.ts'
import { startServer } from '../helpers/server.ts'
import { jobRow, openStore, putJob } from '../helpers/store.ts'
import { ended, OWNER, outputs, startGated, submit } from './kit.ts'

const AT = new Date().toISOString()
const PAGE = 200_000
/** Nearly all pages have at most about this many bytes. */
const LARGEST = new Uint8Array(4_000_000)
/** A time budget that is used up, so that each step does the least. */
const never = () => false

/** How many rows of each kind a job has. */
function rowsOf(path: string, key: number): Record<string, number> {
  const db = new Database(path, { readonly: true })
  const count = (table: string) =>
    db.prepare(`select count(*) from ${table} where job_key = ?`).pluck().get(key) as number
  try {
    const tables = ['job_event', 'job_journal', 'spilled_value', 'job_doomed']
    return Object.fromEntries(tables.map((table) => [table, count(table)]))
  } finally {
    db.close()
  }
}

const GRAPH = sha256('{"nodes":[],"edges":[]}')
const OF = { graph_sha256: GRAPH, status: 'completed', last_sequence: 1, result: '{}' } as const

const completed = (key: number) => jobRow(key, { ...OF, started_at: AT, finished_at: AT })

/** A job that has just completed, and has a journal. */
function withJournal(tx: Tx, key: number, pages: number, of: { values?: number; size?: number } = {}): void {
  const { values = 0, size = PAGE } = of
  putJob(tx, completed(key))
  insertJobEvent(tx, { job_key: key, sequence: 1, type: 'job_terminal', payload: '{}', created_at: AT })
  for (let page = 0; page < pages; page++)
    insertJournalPage(tx, { job_key: key, page, attempt: 1, body: new Uint8Array(size) })
  for (let at = 0; at < values; at++)
    insertSpilledValue(tx, { content_key: `${key}/${at}`, job_key: key, size: 1, sha256: 'x' })
}

describe('the journal of a completed job', () => {
  test('is removed at once where it is small', async () => {
    await using opened = await openStore()
    const { store, path } = opened
    const released = await store.write((tx) => {
      withJournal(tx, 7, 3, { values: 2, size: 1_000 })
      return deleteCompletedJournal(tx, 7, 3_000)
    })
    assert.equal(released, 2)
    assert.deepEqual(rowsOf(path, 7), { job_event: 1, job_journal: 0, spilled_value: 0, job_doomed: 0 })
  })

  test('is removed in small steps where it is large', async () => {
    await using opened = await openStore()
    const { store, path } = opened
    await store.write((tx) => {
      withJournal(tx, 6, 1)
      withJournal(tx, 7, 12, { values: 200 })
      deleteCompletedJournal(tx, 7, 12 * PAGE)
    })
    const left = [rowsOf(path, 7)]
    assert.deepEqual(left[0], { job_event: 1, job_journal: 12, spilled_value: 136, job_doomed: 1 })
    for (let done = false; !done; ) {
      assert.deepEqual(await checkDatabase(path), [])
      done = await store.write((tx) => purgeRemovedJobs(tx, never))
      left.push(rowsOf(path, 7))
    }
    assert.deepEqual(left.at(-1), { job_event: 1, job_journal: 0, spilled_value: 0, job_doomed: 0 })
    for (const [at, { job_journal, spilled_value }] of left.entries()) {
      const before = left[at - 1]
      if (!before) continue
      assert.ok(before.job_journal! - job_journal! <= 1)
      assert.ok(before.spilled_value! - spilled_value! <= 64)
    }
    assert.equal(rowsOf(path, 6).job_journal, 1)
  })

  test('is removed with the job where that is deleted meanwhile', async () => {
    await using opened = await openStore()
    const { store, path } = opened
    await store.write((tx) => {
      withJournal(tx, 7, 12)
      deleteCompletedJournal(tx, 7, 12 * PAGE)
    })
    await store.write((tx) => purgeJob(tx, completed(7), never))
    assert.deepEqual(await checkDatabase(path), [])
    while (!(await store.write((tx) => purgeRemovedJobs(tx, never))));
    assert.deepEqual(rowsOf(path, 7), { job_event: 0, job_journal: 0, spilled_value: 0, job_doomed: 0 })
  })

  test('is removed without blocking the event loop, whatever the size of its pages', { skip: atRealSize }, async () => {
    await using server = await startServer()
    const { store } = server.context
    const { retention } = server.context.runs
    const path = join(server.data_dir, 'svc.db')
    let key = 0
    await leavesLoopFree(async () => {
      key++
      await store.write((tx) => withJournal(tx, key, 2_000, { size: 300 }))
      // Some of the largest pages come after many small pages.
      for (let page = 2_000; page < 2_008; page++)
        await store.write((tx) => insertJournalPage(tx, { job_key: key, page, attempt: 1, body: LARGEST }))
      emptyLog(server)
      return async () => {
        await store.write((tx) => deleteCompletedJournal(tx, key, 32_600_000))
        await retention.sweep()
        assert.deepEqual(rowsOf(path, key), { job_event: 1, job_journal: 0, spilled_value: 0, job_doomed: 0 })
      }
    })
  })

  test(
    'is removed after a restart as well, and all other data of the job stays',
    inFolder(async (data_dir) => {
      const path = join(data_dir, 'svc.db')
      const types = [
        testType('test.Values', { outputs: [item], run: values }),
        testType('test.Length', {
          properties: [value],
          outputs: [output],
          run: async ({ value: given }) => ({ output: (given as Uint8Array).length }),
        }),
      ]
      const of = graph(
        [node('values', 'test.Values'), node('length', 'test.Length'), sink('out')],
        ['values.item->length.value', 'length.output->out.value'],
      )
      let job: { id: string; key: number }
      {
        await using server = await startGated({ data_dir, types })
        job = submit(server, { graph: of }).row
        await ended(server, job.id)
        const before = rowsOf(path, job.key)
        assert.equal(before.job_doomed, 1)
        assert.deepEqual(await checkDatabase(path), [])
        assert.equal(await server.context.store.write((tx) => purgeRemovedJobs(tx, never)), false)
        const after = rowsOf(path, job.key)
        assert.ok(after.job_journal! > 0 && after.job_journal! < before.job_journal!)
      }
      const left = rowsOf(path, job.key)
      await using server = await startGated({ data_dir, types })
      assert.deepEqual(rowsOf(path, job.key), left)
      await server.context.runs.retention.sweep()
      assert.deepEqual(rowsOf(path, job.key), { ...left, job_journal: 0, job_doomed: 0 })
      const { row } = await server.context.runs.jobs.get(OWNER, job.id)
      assert.deepEqual(outputs(row), { out: Array.from({ length: 40 }, () => PAGE) })
    }),
  )
})

async function* values() {
  for (let at = 0; at < 40; at++) {
    yield { item: new Uint8Array(PAGE) }
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}
