// Tombstones of jobs past their retention: for their owners, they tell that such a job existed.
import { sql } from 'kysely'
import type { OwnerScope } from '../owner-scope.ts'
import { statement } from '../statement.ts'
import type { Tx } from '../store.ts'
import type { JobTombstoneTable } from '../tables/jobs.ts'

const insert = statement<JobTombstoneTable>()((db, p) =>
  db
    .insertInto('job_tombstone')
    .values({ user_id: p('user_id'), workspace: p('workspace'), id: p('id'), expired_at: p('expired_at') })
    .onConflict((conflict) =>
      conflict
        .columns(['user_id', 'workspace', 'id'])
        .doUpdateSet({ expired_at: (eb) => eb.ref('excluded.expired_at') }),
    ),
)

const select = statement<{ user_id: string; workspace: string; id: string }>()((db, p) =>
  db
    .selectFrom('job_tombstone')
    .select('expired_at')
    .where('user_id', '=', p('user_id'))
    .where('workspace', '=', p('workspace'))
    .where('id', '=', p('id')),
)

const remove = statement<{ user_id: string; workspace: string; id: string }>()((db, p) =>
  db
    .deleteFrom('job_tombstone')
    .where('user_id', '=', p('user_id'))
    .where('workspace', '=', p('workspace'))
    .where('id', '=', p('id')),
)

/** Exported for a test of the query plan. */
export const removeOldTombstones = statement<{ before: string; limit: number }>()((db, p) =>
  db.deleteFrom('job_tombstone').where(
    sql<boolean>`(user_id, workspace, id) in (select user_id, workspace, id from job_tombstone
      where expired_at < ${p('before')} order by expired_at limit ${p('limit')})`,
  ),
)

interface ScopedJobId extends OwnerScope {
  id: string
}

/** Stores that this job has expired. */
export function insertTombstone(tx: Tx, job: ScopedJobId, expired_at: string): void {
  tx.run(insert, { ...toTombstoneKey(job, job.id), expired_at })
}

/** Whether the owner had a job with this id that is past its retention. */
export function hasTombstone(tx: Tx, scope: OwnerScope, id: string): boolean {
  return tx.get(select, toTombstoneKey(scope, id)) !== undefined
}

/** Removes the tombstone of a job that is removed for good. */
export function deleteTombstone(tx: Tx, job: ScopedJobId): void {
  tx.run(remove, toTombstoneKey(job, job.id))
}

/** Removes at most `limit` tombstones of jobs that expired before `before`; returns their number. */
export function deleteOldTombstones(tx: Tx, before: string, limit: number): number {
  return tx.run(removeOldTombstones, { before, limit })
}

function toTombstoneKey(
  { user_id, workspace_id }: OwnerScope,
  id: string,
): { user_id: string; workspace: string; id: string } {
  return { user_id, workspace: workspace_id ?? '', id }
}
