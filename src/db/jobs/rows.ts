// Rows of jobs, one statement per function.
import { sql } from 'kysely'
import { readMetaValue, writeMetaValue } from '../database-metadata.ts'
import { UNFINISHED } from '../index-expressions.ts'
import { type OwnerScope, ownerCondition } from '../owner-scope.ts'
import { rowChecksumParameter, statement } from '../statement.ts'
import type { Tx } from '../store.ts'
import type { JobTable } from '../tables/jobs.ts'
import { withoutPartedResult } from './result-parts.ts'

const insert = statement<JobTable>()((db, p) =>
  db.insertInto('job').values({
    key: p('key'),
    id: p('id'),
    user_id: p('user_id'),
    workspace_id: p('workspace_id'),
    workflow_id: p('workflow_id'),
    workflow_etag: p('workflow_etag'),
    workflow_revision: p('workflow_revision'),
    graph_sha256: p('graph_sha256'),
    name: p('name'),
    status: p('status'),
    request_sha256: p('request_sha256'),
    options: p('options'),
    attempt: p('attempt'),
    last_sequence: p('last_sequence'),
    error: p('error'),
    result: p('result'),
    created_at: p('created_at'),
    updated_at: p('updated_at'),
    started_at: p('started_at'),
    finished_at: p('finished_at'),
    seed: p('seed'),
    waiting: p('waiting'),
    wake_at: p('wake_at'),
    preflight: p('preflight'),
    result_parts: p('result_parts'),
  }),
)

// Updates the columns that change while a job lives. The caller has the whole row, so its checksum needs no read of the stored row. The attempt
// fences writers: a superseded attempt changes nothing.
const update = statement<JobTable>()((db, p) =>
  db
    .updateTable('job')
    .set({
      status: p('status'),
      options: p('options'),
      attempt: p('attempt'),
      last_sequence: p('last_sequence'),
      error: p('error'),
      result: p('result'),
      result_parts: p('result_parts'),
      updated_at: p('updated_at'),
      started_at: p('started_at'),
      finished_at: p('finished_at'),
      waiting: p('waiting'),
      wake_at: p('wake_at'),
      checksum: rowChecksumParameter('job'),
    })
    .where('key', '=', p('key'))
    .where('attempt', '<=', p('attempt')),
)

const selectOwned = statement<OwnerScope & { id: string }>()((db, p) =>
  db.selectFrom('job').selectAll().where(ownerCondition(p)).where('id', '=', p('id')),
)

const selectRecoverable = statement('keys')((db) =>
  db.selectFrom('job').select('key').where(UNFINISHED).where('status', '<>', 'paused').orderBy('key'),
)

const selectUnfinished = statement<{ key: number }>()((db, p) =>
  db.selectFrom('job').select('last_sequence').where('key', '=', p('key')).where(UNFINISHED),
)

const selectByKey = statement<{ key: number }>()((db, p) =>
  db.selectFrom('job').selectAll().where('key', '=', p('key')),
)

/** Exported for a test of the query plan. */
export const selectDueJobs = statement<{ until: number; wake_at: number; key: number; limit: number }>('keys')(
  (db, p) =>
    db
      .selectFrom('job')
      .select(['key', 'user_id', 'wake_at'])
      .where('wake_at', '<=', p('until'))
      .where(sql<boolean>`(wake_at, key) > (${p('wake_at')}, ${p('key')})`)
      .where('status', '=', 'paused')
      .orderBy('wake_at')
      .orderBy('key')
      .limit(p('limit') as never),
)

const selectNextWake = statement<{ after: number }>()((db, p) =>
  db
    .selectFrom('job')
    .select((eb) => eb.fn.min('wake_at').as('wake_at'))
    .where('wake_at', '>', p('after')),
)

const LAST_REMOVED = 'last_removed_job_key'

const selectLastKey = statement()((db) =>
  db.selectNoFrom(
    sql<number>`max(
      ifnull((select max(key) from job), 0),
      ifnull((select max(job_key) from job_doomed), 0)
    )`.as('key'),
  ),
)

export function insertJob(tx: Tx, row: JobTable): void {
  tx.run(insert, withoutPartedResult(row))
}

/** Writes the columns that change while a job lives; false: the row belongs to a later attempt. */
export function updateJob(tx: Tx, row: JobTable): boolean {
  return tx.run(update, withoutPartedResult(row)) === 1
}

/**
 * The job with this id, if it belongs to the owner. Clients choose ids, and those of different owners may be equal. As everywhere here, a result in
 * parts is not read; see `readResultSteps`.
 * @throws DATA_DAMAGED if the row is damaged, even if its owner or id is, so that they do not find it
 */
export function findOwnedJob(tx: Tx, { user_id, workspace_id }: OwnerScope, id: string): JobTable | undefined {
  return tx.get(selectOwned, { id, user_id, workspace_id })
}

/** The keys of all jobs that have not ended and wait for nothing outside, the oldest first. */
export function listRecoverableJobKeys(tx: Tx): number[] {
  return tx.all(selectRecoverable, {}).map(({ key }) => key)
}

/** The last sequence of an unfinished job; undefined: the job has ended. */
export function findUnfinishedJob(tx: Tx, key: number): { last_sequence: number } | undefined {
  return tx.get(selectUnfinished, { key })
}

export function findJobByKey(tx: Tx, key: number): JobTable | undefined {
  return tx.get(selectByKey, { key })
}

/** The same for a list, which skips a damaged row. */
export function findJobForList(tx: Tx, key: number): JobTable | undefined {
  return tx.all(selectByKey, { key })[0]
}

/** A suspended job that is due. It has only what is read before the row, which may be damaged. */
export interface DueJob {
  readonly key: number
  readonly user_id: string
  /** Milliseconds since the epoch. */
  readonly wake_at: number
}

/** Suspended jobs that are due by `until` (milliseconds since the epoch), the most overdue first, behind a time and key. */
export function listDueJobs(
  tx: Tx,
  until: number,
  { wake_at, key }: Pick<DueJob, 'wake_at' | 'key'>,
  limit: number,
): DueJob[] {
  return tx.all(selectDueJobs, { until, wake_at, key, limit }) as DueJob[]
}

/** When the next suspended job after `after` is due, in milliseconds since the epoch; null: none. */
export function findNextWakeTime(tx: Tx, after: number): number | null {
  return tx.get(selectNextWake, { after })?.wake_at ?? null
}

/** The highest key that any job ever had; 0: there was none. */
export function findLastJobKey(tx: Tx): number {
  return Math.max(tx.get(selectLastKey, {})?.key ?? 0, Number(readMetaValue(tx, LAST_REMOVED) ?? 0))
}

/** Stores the key of a removed job: references to it must not lead to another job. */
export function recordRemovedJobKey(tx: Tx, key: number): void {
  if (key > findLastJobKey(tx)) writeMetaValue(tx, LAST_REMOVED, String(key))
}
