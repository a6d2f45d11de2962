// An index finds the unfinished jobs of an owner: without it, listing them reads every job of the owner.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop index if exists job_unfinished_by_status`.execute(db)
  await sql`create index if not exists job_unfinished_by_owner on job (status, user_id, ifnull(workspace_id, ''))
    where status not in ('completed', 'failed', 'error', 'timed_out', 'cancelled')`.execute(db)
}

export const unfinishedByOwner: Migration = { up }
