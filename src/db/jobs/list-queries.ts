// The keys of the jobs in a list, the newest first. Each status is read by itself in the order of an index, and no further than needed.
import { LISTED, UNFINISHED } from '../index-expressions.ts'
import { type OwnerScope, ownerCondition } from '../owner-scope.ts'
import { statement } from '../statement.ts'
import type { Tx } from '../store.ts'
import type { StoredStatus } from '../tables/jobs.ts'

interface JobPageParams {
  status: StoredStatus
  before: number
  limit: number
}

const byStatus = statement<OwnerScope & JobPageParams>('keys')((db, p) =>
  db
    .selectFrom('job')
    .select('key')
    .where(ownerCondition(p))
    .where('status', '=', p('status'))
    .where('key', '<', p('before'))
    .where(LISTED)
    .orderBy('key', 'desc')
    .limit(p('limit') as never),
)

const byWorkflow = statement<OwnerScope & JobPageParams & { workflow_id: string }>('keys')((db, p) =>
  db
    .selectFrom('job')
    .select('key')
    .where(ownerCondition(p))
    .where('workflow_id', '=', p('workflow_id'))
    .where('status', '=', p('status'))
    .where('key', '<', p('before'))
    .where(LISTED)
    .orderBy('key', 'desc')
    .limit(p('limit') as never),
)

const UNFINISHED_STATUSES: readonly StoredStatus[] = [
  'scheduled',
  'pending',
  'queued',
  'running',
  'paused',
  'recovering',
  'cancel_requested',
]

const countUnfinished = statement()((db) =>
  db
    .selectFrom('job')
    .select((eb) => ['status', eb.fn.countAll<number>().as('count')])
    .where(UNFINISHED)
    .groupBy('status'),
)

/** Uses the index `job_unfinished_by_owner`. */
const selectActive = statement<OwnerScope>('keys')((db, p) =>
  db
    .selectFrom('job')
    .select('key')
    .where('status', 'in', UNFINISHED_STATUSES)
    .where(UNFINISHED)
    .where(ownerCondition(p)),
)

export interface JobListFilter {
  /** Null for any. */
  workflow_id: string | null
  statuses: readonly StoredStatus[]
  /** Only jobs with a lower key. */
  before: number
  limit: number
}

/** Exported for tests of the query plans. */
export const JOB_LIST_STATEMENTS = { byStatus, byWorkflow, countUnfinished, selectActive }

/** The keys of the jobs in a list, the newest first. */
export function listJobKeys(tx: Tx, { user_id, workspace_id }: OwnerScope, filter: JobListFilter): number[] {
  const { workflow_id, statuses, before, limit } = filter
  const keys = statuses.flatMap((status) => {
    const page = { user_id, workspace_id, status, before, limit }
    const rows = workflow_id === null ? tx.all(byStatus, page) : tx.all(byWorkflow, { ...page, workflow_id })
    return rows.map(({ key }) => key)
  })
  return keys.sort((a, b) => b - a).slice(0, limit)
}

/** The keys of an owner's unfinished jobs, the oldest first, including jobs that lists omit. */
export function listActiveJobKeys(tx: Tx, { user_id, workspace_id }: OwnerScope): number[] {
  const rows = tx.all(selectActive, { user_id, workspace_id })
  return rows.map(({ key }) => key).sort((a, b) => a - b)
}

/** The number of unfinished jobs by stored status, without statuses that have none. */
export function countUnfinishedJobsByStatus(tx: Tx): { status: StoredStatus; count: number }[] {
  return tx.all(countUnfinished, {})
}
