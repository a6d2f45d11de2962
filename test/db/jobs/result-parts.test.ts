// Results of jobs: small results are stored whole, large results in parts that are written before the row that counts them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { checkDatabase } from '../../../src/db/integrity/database-check.ts'
import { registerChecksumFunctions } from '../../../src/db/integrity/row-checksum.ts'
import { purgeJob, purgeRemovedJobs } from '../../../src/db/jobs/removal.ts'
import { deleteResultParts, putResultPart, readResultSteps } from '../../../src/db/jobs/result-parts.ts'
import { findJobByKey, findJobForList, findOwnedJob, updateJob } from '../../../src/db/jobs/rows.ts'
import { statement } from '../../../src/db/statement.ts'
import type { Store } from '../../../src/db/store.ts'
import type { JobTable } from '../../../src/db/tables/jobs.ts'
import type { TransactionStatements } from '../../../src/db/transaction.ts'
import { runToCompletion } from '../../../src/shared/time-slices.ts'
import { jobRow, openStore, putJob } from '../../helpers/store.ts'

const AT = '2026-01-01T00:00:00.000Z'
const OWNER = { user_id: '1', workspace_id: null }
const PIECES = ['{"text":"', '𝄞'.repeat(100_000), 'x'.repeat(70_000), '"}']
const WHOLE = PIECES.join('')

const COUNT = statement('keys')((db) => db.selectFrom('result_part').select(['job_key', 'at']))

const left = (store: Store) => store.read((tx) => tx.all(COUNT, {})).length

/** A row with its whole result. */
function read(store: Store, key = 1): JobTable | undefined {
  const row = store.read((tx) => findJobByKey(tx, key))
  const result = row && runToCompletion(readResultSteps(store, row))
  return row && result !== undefined ? { ...row, result } : undefined
}

function ended(key: number, more: Partial<JobTable> = {}): JobTable {
  const row = {
    status: 'completed',
    result: WHOLE,
    result_parts: PIECES.length,
    started_at: AT,
    finished_at: AT,
  } as const
  return jobRow(key, { ...row, ...more })
}

/** The findings of a check, except that the jobs of a test have no real graph. */
async function findings(path: string): Promise<string[]> {
  return (await checkDatabase(path)).map(({ text }) => text).filter((text) => !text.startsWith('graph g'))
}

async function putParts(store: Store, key: number, pieces: readonly string[] = PIECES): Promise<void> {
  for (const [at, body] of pieces.entries()) await store.write((tx) => putResultPart(tx, { job_key: key, at, body }))
}

describe('a result in parts', () => {
  test('is read whole however its job is asked for, and little is left for the transaction that counts the parts', async () => {
    await using opened = await openStore()
    const { store, path } = opened
    await store.write((tx) => putJob(tx, jobRow(1)))
    await putParts(store, 1)
    assert.deepEqual([read(store)?.result, read(store)?.result_parts], [null, null])
    const bytes = await store.write((tx) => {
      const before = (tx as TransactionStatements).bytes
      updateJob(tx, ended(1))
      return (tx as TransactionStatements).bytes - before
    })
    assert.ok(bytes < 1_000)
    const rows = store.read((tx) => [findJobByKey(tx, 1), findJobForList(tx, 1), findOwnedJob(tx, OWNER, 'job_1')])
    for (const row of rows) assert.equal(runToCompletion(readResultSteps(store, row!)), WHOLE)
    assert.deepEqual(await findings(path), [])
    assert.equal(read(await opened.reopen())?.result, WHOLE)
  })

  test('is read part by part, and is undefined once its job was removed', async () => {
    await using opened = await openStore()
    const { store } = opened
    const row = ended(1, { result: 'abc', result_parts: 3 })
    await putParts(store, 1, ['a', 'b', 'c'])
    await store.write((tx) => putJob(tx, row))
    const stored = () => store.read((tx) => findJobByKey(tx, 1))!
    assert.equal(stored().result, '')
    assert.equal(runToCompletion(readResultSteps(store, row)), 'abc', 'the row has it')
    const steps = readResultSteps(store, stored())
    assert.deepEqual(
      [1, 2, 3].map(() => steps.next().done),
      [false, false, false],
    )
    assert.deepEqual(steps.next(), { done: true, value: 'abc' })
    const late = readResultSteps(store, stored())
    late.next()
    await store.write((tx) => deleteResultParts(tx, 1, () => true))
    assert.throws(() => runToCompletion(late), { code: 'DATA_DAMAGED' })
    const gone = readResultSteps(store, stored())
    await store.write((tx) => purgeJob(tx, row, () => true))
    assert.equal(runToCompletion(gone), undefined)
  })

  test('has nothing of what an attempt before left', async () => {
    await using opened = await openStore()
    const { store, path } = opened
    await putParts(store, 1, Array(9).fill('left'))
    await putParts(store, 1)
    await putParts(store, 2, ['left'])
    await store.write((tx) => putJob(tx, ended(1), ended(2, { result: '{}', result_parts: null })))
    assert.deepEqual([read(store, 1)?.result, read(store, 2)?.result], [WHOLE, '{}'])
    assert.deepEqual(await findings(path), [])
  })

  test('is removed with its job, as much at once as time permits', async () => {
    await using opened = await openStore()
    const { store, path } = opened
    await putParts(store, 1)
    await putParts(store, 2)
    await store.write((tx) => putJob(tx, ended(1), ended(2)))
    await store.write((tx) => purgeJob(tx, ended(1), () => false))
    assert.equal(left(store), 2 * PIECES.length - 1)
    assert.deepEqual(await findings(path), [])
    await store.write((tx) => purgeRemovedJobs(tx, () => true))
    assert.equal(left(store), PIECES.length)
    await store.write((tx) => purgeJob(tx, ended(2), () => true))
    assert.equal(left(store), 0)
    assert.deepEqual(await findings(path), [])
  })

  const damages = {
    "update result_part set body = replace(body, 'x', 'y') where at = 2":
      /^a row of result_part is not what was written/,
    'delete from result_part where at = 1': /^job job_1 has 3 of 4 parts of its result$/,
    'delete from job where key = 1': /^job #1 does not exist and has 4 parts of a result$/,
  }
  for (const [damage, finding] of Object.entries(damages))
    test(`is not served, and the damage is found, after: ${damage}`, async () => {
      await using opened = await openStore()
      const { store, path } = opened
      await putParts(store, 1)
      await store.write((tx) => putJob(tx, ended(1)))
      const db = new Database(path)
      registerChecksumFunctions(db)
      db.exec(damage)
      db.close()
      if (damage.startsWith('delete from job')) assert.equal(read(store), undefined)
      else assert.throws(() => read(store), { code: 'DATA_DAMAGED' })
      const texts = await findings(path)
      assert.ok(
        texts.some((text) => finding.test(text)),
        texts.join('\n'),
      )
    })
})
