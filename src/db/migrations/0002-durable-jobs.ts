// Jobs that outlive their process: their journal and waits, keys of idempotent submissions, and tombstones of jobs past their retention.
import { type ColumnDefinitionBuilder, type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const strictWithoutRowid = sql`strict, without rowid`
const required = (column: ColumnDefinitionBuilder) => column.notNull()

async function up(db: Kysely<unknown>): Promise<void> {
  await extendJobs(db)
  await createJournal(db)
  await createIdempotencyKeys(db)
  await createTombstones(db)
}

async function extendJobs(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('job').addColumn('seed', 'integer').execute()
  // The waits of a suspended job, as they are shown.
  await db.schema.alterTable('job').addColumn('waiting', 'text').execute()
  // When the server must handle the job again, in milliseconds since the epoch: the end of a delay, or of its time limit.
  await db.schema.alterTable('job').addColumn('wake_at', 'integer').execute()
  await sql`create index job_to_wake on job (wake_at) where wake_at is not null`.execute(db)
  await sql`create index job_by_age on job (user_id, ifnull(workspace_id, ''), key)`.execute(db)
  await sql`create index job_by_workflow on job (workflow_id, key)`.execute(db)
  await sql`create index job_not_completed on job (user_id, ifnull(workspace_id, ''), key)
    where status <> 'completed'`.execute(db)
  await sql`create index job_finished on job (finished_at) where finished_at is not null`.execute(db)
  // Parameters are encrypted pages of the journal now.
  await db.schema.dropTable('job_input').execute()
}

/**
 * Page 0 has the parameters; each further page has everything that a commit stores of a run: a row for each firing would cost more than most firings.
 */
async function createJournal(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('job_journal')
    .addColumn('job_key', 'integer', (column) => column.notNull().references('job.key').onDelete('cascade'))
    .addColumn('page', 'integer', required)
    .addColumn('attempt', 'integer', required)
    .addColumn('body', 'blob', required)
    .addPrimaryKeyConstraint('job_journal_key', ['job_key', 'page'])
    .modifyEnd(strictWithoutRowid)
    .execute()
}

async function createIdempotencyKeys(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('idempotency_key')
    .addColumn('user_id', 'text', required)
    .addColumn('workspace', 'text', required)
    .addColumn('key', 'text', required)
    .addColumn('request_sha256', 'text', required)
    .addColumn('job_key', 'integer', required)
    .addColumn('created_at', 'text', required)
    .addPrimaryKeyConstraint('idempotency_key_key', ['user_id', 'workspace', 'key'])
    .modifyEnd(strictWithoutRowid)
    .execute()
  await db.schema.createIndex('idempotency_key_by_age').on('idempotency_key').column('created_at').execute()
}

async function createTombstones(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('job_tombstone')
    .addColumn('user_id', 'text', required)
    .addColumn('workspace', 'text', required)
    .addColumn('id', 'text', required)
    .addColumn('expired_at', 'text', required)
    .addPrimaryKeyConstraint('job_tombstone_key', ['user_id', 'workspace', 'id'])
    .modifyEnd(strictWithoutRowid)
    .execute()
  await db.schema.createIndex('job_tombstone_by_age').on('job_tombstone').column('expired_at').execute()
}

export const durableJobs: Migration = { up }
