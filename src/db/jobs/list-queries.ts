// Which jobs a list shows: their keys, the newest first. Each status is read by itself, in the order of an index, and no further than asked.
import { sql } from 'kysely'
import { type OwnerScope, ownerCondition } from '../owner-scope.ts'
import type { StoredStatus } from '../schema.ts'
import { statement } from '../statement.ts'
import type { Tx } from '../store.ts'

interface JobPageParams {
  status: StoredStatus
  before: number
  limit: number
}

// In the words of the partial indexes, which are used for nothing else.
const LISTED = sql<boolean>`instr(options, '"persistence":"session"') = 0`

const byStatus = statement<OwnerScope & JobPageParams>('keys')((db, p) =>
  db
    .selectFrom('job')
    .select('key')
    .where((eb) => ownerCondition(eb, { user_id: p('user_id'), workspace_id: p('workspace_id') }))
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
    .where((eb) => ownerCondition(eb, { user_id: p('user_id'), workspace_id: p('workspace_id') }))
    .where('workflow_id', '=', p('workflow_id'))
    .where('status', '=', p('status'))
    .where('key', '<', p('before'))
    .where(LISTED)
    .orderBy('key', 'desc')
    .limit(p('limit') as never),
)

const UNFINISHED: readonly StoredStatus[] = [
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
    .where(sql<boolean>`status not in ('completed', 'failed', 'error', 'timed_out', 'cancelled')`)
    .groupBy('status'),
)

/** The words are those of the index `job_unfinished_by_owner`. */
const selectActive = statement<OwnerScope>('keys')((db, p) =>
  db
    .selectFrom('job')
    .select('key')
    .where('status', 'in', UNFINISHED)
    .where(sql<boolean>`status not in ('completed', 'failed', 'error', 'timed_out', 'cancelled')`)
    .where((eb) => ownerCondition(eb, { user_id: p('user_id'), workspace_id: p('workspace_id') })),
)

export interface JobListFilter {
  /** Null for any. */
  workflow_id: string | null
  statuses: readonly StoredStatus[]
  /** Only jobs with a lower key. */
  before: number
  limit: number
}

/** The statements of lists, for tests of how the database reads them. */
export const JOB_LIST_STATEMENTS = { byStatus, byWorkflow, countUnfinished, selectActive }

/** The keys of the jobs that a list shows, the newest first. */
export function listJobKeys(tx: Tx, { user_id, workspace_id }: OwnerScope, filter: JobListFilter): number[] {
  const { workflow_id, statuses, before, limit } = filter
  const keys = statuses.flatMap((status) => {
    const page = { user_id, workspace_id, status, before, limit }
    const rows = workflow_id === null ? tx.all(byStatus, page) : tx.all(byWorkflow, { ...page, workflow_id })
    return rows.map(({ key }) => key)
  })
  return keys.sort((a, b) => b - a).slice(0, limit)
}

/** The keys of a scope's jobs that have not ended, the oldest first; those that are not listed elsewhere included. */
export function listActiveJobKeys(tx: Tx, { user_id, workspace_id }: OwnerScope): number[] {
  const rows = tx.all(selectActive, { user_id, workspace_id })
  return rows.map(({ key }) => key).sort((a, b) => a - b)
}

/** How many jobs have not ended, by stored status; statuses without jobs are left out. */
export function countUnfinishedJobsByStatus(tx: Tx): { status: StoredStatus; count: number }[] {
  return tx.all(countUnfinished, {})
}
