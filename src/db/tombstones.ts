// What is left of jobs past their retention: that they were there, for their owners alone.
import { sql } from 'kysely'
import type { JobTombstoneTable } from './schema.ts'
import type { Scope } from './scope.ts'
import { statement } from './statement.ts'
import type { Tx } from './store.ts'

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

/** Exported for a test of how the database reads it. */
export const removeOld = statement<{ before: string; limit: number }>()((db, p) =>
  db.deleteFrom('job_tombstone').where(
    sql<boolean>`(user_id, workspace, id) in (select user_id, workspace, id from job_tombstone
      where expired_at < ${p('before')} order by expired_at limit ${p('limit')})`,
  ),
)

interface Of extends Scope {
  id: string
}

/** Remembers that this job has expired. */
export function bury(tx: Tx, job: Of, expired_at: string): void {
  tx.run(insert, { ...keyOf(job, job.id), expired_at })
}

/** Whether there was a job of this id in the scope that is past its retention. */
export function tombstone(tx: Tx, scope: Scope, id: string): boolean {
  return tx.get(select, keyOf(scope, id)) !== undefined
}

/** Forgets a job of which nothing is left. */
export function unbury(tx: Tx, job: Of): void {
  tx.run(remove, keyOf(job, job.id))
}

/** Forgets at most `limit` jobs that expired before `before`; gives how many. */
export function forgetTombstones(tx: Tx, before: string, limit: number): number {
  return tx.run(removeOld, { before, limit })
}

function keyOf({ user_id, workspace_id }: Scope, id: string): { user_id: string; workspace: string; id: string } {
  return { user_id, workspace: workspace_id ?? '', id }
}
