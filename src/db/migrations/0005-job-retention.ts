// Indexes and tables for lists and retention: lists read no more than they show, and the row of a removed job disappears at once.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

async function up(db: Kysely<unknown>): Promise<void> {
  await indexLists(db)
  await freeTraces(db)
  await createDoomed(db)
  await createPositions(db)
  await sql`create index if not exists idempotency_key_by_job on idempotency_key (job_key)`.execute(db)
}

/** Each status is read by itself and in order, so that no filter makes a list read jobs that it does not show. */
async function indexLists(db: Kysely<unknown>): Promise<void> {
  for (const name of ['job_by_age', 'job_by_workflow', 'job_not_completed']) {
    await db.schema.dropIndex(name).ifExists().execute()
  }
  // Lists omit jobs of the persistence `session`.
  await sql`create index if not exists job_by_status on job (user_id, ifnull(workspace_id, ''), status, key)
    where instr(options, '"persistence":"session"') = 0`.execute(db)
  await sql`create index job_by_workflow on job (user_id, ifnull(workspace_id, ''), workflow_id, status, key)
    where instr(options, '"persistence":"session"') = 0`.execute(db)
  await sql`create index if not exists job_unfinished_by_status on job (status)
    where status not in ('completed', 'failed', 'error', 'timed_out', 'cancelled')`.execute(db)
}

/** Without references to the job's row, which is removed at once, while its up to a hundred thousand events are removed in steps. */
async function freeTraces(db: Kysely<unknown>): Promise<void> {
  await sql`create table job_event_free (job_key integer not null, sequence integer not null, type text not null,
    payload text not null, created_at text not null, primary key (job_key, sequence)) strict, without rowid`.execute(db)
  await sql`insert into job_event_free select job_key, sequence, type, payload, created_at from job_event`.execute(db)
  await db.schema.dropTable('job_event').execute()
  await sql`alter table job_event_free rename to job_event`.execute(db)
  await sql`create trigger job_event_is_immutable before update on job_event
    begin select raise(abort, 'an event never changes'); end`.execute(db)
  await sql`create table job_journal_free (job_key integer not null, page integer not null, attempt integer not null,
    body blob not null, primary key (job_key, page)) strict, without rowid`.execute(db)
  await sql`insert into job_journal_free select job_key, page, attempt, body from job_journal`.execute(db)
  await db.schema.dropTable('job_journal').execute()
  await sql`alter table job_journal_free rename to job_journal`.execute(db)
}

/** Keys of removed jobs whose events or journal are still to be removed. */
async function createDoomed(db: Kysely<unknown>): Promise<void> {
  await sql`create table if not exists job_doomed (job_key integer not null primary key) strict`.execute(db)
}

/** The position of a sweep over the jobs in the order of their ends. */
async function createPositions(db: Kysely<unknown>): Promise<void> {
  await sql`create table if not exists sweep_position (sweep text not null primary key, finished_at text not null,
    job_key integer not null) strict, without rowid`.execute(db)
}

export const jobRetention: Migration = { up }
