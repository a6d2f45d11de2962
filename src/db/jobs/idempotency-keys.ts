// Keys of idempotent submissions: each stands for a job of its owner.

import type { OwnerScope } from '../owner-scope.ts'
import { statement } from '../statement.ts'
import type { Tx } from '../store.ts'
import type { IdempotencyKeyTable } from '../tables/jobs.ts'

// The next submission with a key past its retention takes the key over.
const keep = statement<IdempotencyKeyTable>()((db, p) =>
  db.replaceInto('idempotency_key').values({
    user_id: p('user_id'),
    workspace: p('workspace'),
    key: p('key'),
    request_sha256: p('request_sha256'),
    job_key: p('job_key'),
    created_at: p('created_at'),
  }),
)

const select = statement<{ user_id: string; workspace: string; key: string; since: string }>()((db, p) =>
  db
    .selectFrom('idempotency_key')
    .select(['request_sha256', 'job_key'])
    .where('user_id', '=', p('user_id'))
    .where('workspace', '=', p('workspace'))
    .where('key', '=', p('key'))
    .where('created_at', '>=', p('since')),
)

export interface IdempotentSubmission {
  readonly key: string
  /** A keyed hash of the normalized request; in rows of earlier versions its SHA-256. */
  readonly request_sha256: string
  readonly job_key: number
  readonly created_at: string
}

export function saveIdempotencyKey(tx: Tx, { user_id, workspace_id }: OwnerScope, of: IdempotentSubmission): void {
  tx.run(keep, { user_id, workspace: workspace_id ?? '', ...of })
}

/** The job of a key that was stored at or after `since` (RFC 3339, UTC). */
export function findIdempotentJob(
  tx: Tx,
  { user_id, workspace_id }: OwnerScope,
  key: string,
  since: string,
): { request_sha256: string; job_key: number } | undefined {
  return tx.get(select, { user_id, workspace: workspace_id ?? '', key, since })
}
