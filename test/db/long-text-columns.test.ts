// Long texts of rows are read as bytes: they are returned as they were stored, and verify their rows.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { CHECKSUM_COLUMNS, TABLE_NAMES } from '../../src/db/integrity/row-checksum.ts'
import { insertJobEvent, listJobEventsAfter } from '../../src/db/jobs/events.ts'
import { findJobByKey, findJobForList, findOwnedJob } from '../../src/db/jobs/rows.ts'
import { longTextColumn } from '../../src/db/long-text-columns.ts'
import { withoutTriggers } from '../helpers/checksums.ts'
import { jobRow, openStore, putJob } from '../helpers/store.ts'

/** Shorter and longer than texts that are read as text, in bytes and in characters. */
const TEXTS = ['short', 'a'.repeat(65_536), 'b'.repeat(65_537), 'é'.repeat(40_000), '\ufeff👍ö\u0000\\'.repeat(50_000)]

test('texts of any length are read as they were stored', async () => {
  await using opened = await openStore()
  for (const [at, text] of TEXTS.entries()) {
    const key = at + 1
    const row = jobRow(key, { result: text, status: 'completed' })
    const event = { job_key: key, sequence: 1, type: 'output_update', payload: text, created_at: row.created_at }
    await opened.store.write((tx) => {
      putJob(tx, row)
      insertJobEvent(tx, event as never)
    })
    const read = opened.store.read((tx) => [
      findOwnedJob(tx, row, row.id)?.result,
      findJobByKey(tx, key)?.result,
      findJobForList(tx, key)?.result,
      listJobEventsAfter(tx, key, 0, 10)[0]?.payload,
    ])
    for (const one of read) assert.ok(one === text, `text ${at}`)
  }
})

test('a row is damaged where a byte of its long text is another one', async () => {
  await using opened = await openStore()
  const result = `${'é'.repeat(100_000)}1`
  await opened.store.write((tx) => putJob(tx, jobRow(1, { result, status: 'completed' })))
  const db = new Database(opened.path)
  withoutTriggers(db, () =>
    assert.equal(db.prepare("update job set result = replace(result, '1', '2')").run().changes, 1),
  )
  db.close()
  assert.throws(() => opened.store.read((tx) => findJobByKey(tx, 1)), { code: 'DATA_DAMAGED' })
  assert.equal(
    opened.store.read((tx) => findJobForList(tx, 1)),
    undefined,
  )
})

test('the list of columns of a table with long texts is complete', async () => {
  await using opened = await openStore()
  const db = new Database(opened.path, { readonly: true })
  for (const table of TABLE_NAMES.filter((one) => longTextColumn(one) !== null)) {
    const names = db.pragma(`table_info(${table})`) as { name: string }[]
    const expected = [...CHECKSUM_COLUMNS[table], 'checksum'].sort()
    assert.deepEqual(names.map(({ name }) => name).sort(), expected)
  }
  db.close()
})

/** Milliseconds of processor time, the least of some rounds. */
function leastOf(work: () => unknown): number {
  const rounds = Array.from({ length: 5 }, () => {
    const before = process.threadCpuUsage()
    work()
    const { user, system } = process.threadCpuUsage(before)
    return (user + system) / 1_000
  })
  return Math.min(...rounds)
}

test('a long text that is not ASCII is read, with its checksum, in far less time than as a text of the driver', async () => {
  await using opened = await openStore()
  const row = jobRow(1, { result: 'é\u0301'.repeat(2_000_000), status: 'completed' })
  await opened.store.write((tx) => putJob(tx, row))
  const db = new Database(opened.path, { readonly: true })
  const select = db.prepare('select result from job')
  const [ours, plain] = [leastOf(() => opened.store.read((tx) => findJobByKey(tx, 1))), leastOf(() => select.get())]
  db.close()
  assert.ok(ours < 0.7 * plain, `${ours} ms, and ${plain} ms`)
})
