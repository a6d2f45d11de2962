// Finds finished jobs and removes idempotency keys past their retention.
import { sql } from 'kysely'
import { readFirstRows } from '../row-batches.ts'
import { statement } from '../statement.ts'
import type { Tx } from '../store.ts'
import type { JobTable, SweepPositionTable } from '../tables/jobs.ts'

type ExpiredJob = Pick<JobTable, 'key' | 'id' | 'user_id' | 'workspace_id' | 'graph_sha256'>
type FinishedJob = Pick<JobTable, 'key' | 'finished_at'>

const selectFinished = statement<{ after: string; after_key: number; before: string }>()((db, p) =>
  db
    .selectFrom('job')
    .select(['key', 'finished_at'])
    .where('finished_at', 'is not', null)
    .where(sql<boolean>`(finished_at, key) > (${p('after')}, ${p('after_key')})`)
    .where('finished_at', '<', p('before'))
    .orderBy('finished_at')
    .orderBy('key'),
)

const selectExpired = statement<{ before: string }>()((db, p) =>
  db
    .selectFrom('job')
    .select(['key', 'id', 'user_id', 'workspace_id', 'graph_sha256'])
    .where('finished_at', 'is not', null)
    .where('finished_at', '<', p('before'))
    .orderBy('finished_at'),
)

const deleteOldKeys = statement<{ before: string; limit: number }>()((db, p) =>
  db.deleteFrom('idempotency_key').where(
    sql<boolean>`(user_id, workspace, key) in (select user_id, workspace, key from idempotency_key
      where created_at < ${p('before')} order by created_at limit ${p('limit')})`,
  ),
)

const selectPosition = statement<{ sweep: string }>()((db, p) =>
  db.selectFrom('sweep_position').selectAll().where('sweep', '=', p('sweep')),
)

const keepPosition = statement<SweepPositionTable>()((db, p) =>
  db
    .insertInto('sweep_position')
    .values({ sweep: p('sweep'), finished_at: p('finished_at'), job_key: p('job_key') })
    .onConflict((conflict) =>
      conflict
        .column('sweep')
        .doUpdateSet((eb) => ({ finished_at: eb.ref('excluded.finished_at'), job_key: eb.ref('excluded.job_key') })),
    ),
)

/** Exported for tests of the query plans. */
export const RETENTION_STATEMENTS = { selectFinished, selectExpired, deleteOldKeys }

/**
 * At most `limit` jobs that ended before `before`, in the order of their ends, from the stored position of `sweep` on. Fewer are returned where they
 * are large; none: there are no more.
 */
export function listFinishedJobs(tx: Tx, sweep: string, before: string, limit: number): FinishedJob[] {
  // With a damaged position the sweep begins anew: nothing is left to remove of the jobs before it.
  const [position = { finished_at: '', job_key: 0 }] = tx.all(selectPosition, { sweep })
  const { finished_at: after, job_key: after_key } = position
  return readFirstRows(tx, { table: 'job', statement: selectFinished, params: { after, after_key, before } }, limit)
}

/** Stores the position of a sweep. */
export function saveSweepPosition(tx: Tx, sweep: string, { key, finished_at }: FinishedJob): void {
  tx.run(keepPosition, { sweep, finished_at: finished_at!, job_key: key })
}

/** At most `limit` jobs that ended before `before`, the earliest first. Fewer are returned where they are large; none: there are no more. */
export function listExpiredJobs(tx: Tx, before: string, limit: number): ExpiredJob[] {
  return readFirstRows(tx, { table: 'job', statement: selectExpired, params: { before } }, limit)
}

/** Removes at most `limit` idempotency keys that were stored before `before`; returns their number. */
export function deleteOldIdempotencyKeys(tx: Tx, before: string, limit: number): number {
  return tx.run(deleteOldKeys, { before, limit })
}
