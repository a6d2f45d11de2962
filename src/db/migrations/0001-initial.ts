// The first schema: workflows with versions and shares, graphs by content, jobs with inputs and events.
import { type ColumnDefinitionBuilder, type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const strict = sql`strict`
const strictWithoutRowid = sql`strict, without rowid`
const required = (column: ColumnDefinitionBuilder) => column.notNull()

async function up(db: Kysely<unknown>): Promise<void> {
  await createGraphs(db)
  await createWorkflows(db)
  await createJobs(db)
  await createEvents(db)
}

async function createGraphs(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('graph')
    .addColumn('sha256', 'text', (column) => column.notNull().primaryKey())
    .addColumn('body', 'text', required)
    .modifyEnd(strict)
    .execute()
}

async function createWorkflows(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('workflow')
    .addColumn('id', 'text', (column) => column.notNull().primaryKey())
    .addColumn('user_id', 'text', required)
    .addColumn('workspace_id', 'text')
    .addColumn('name', 'text', required)
    .addColumn('description', 'text', required)
    .addColumn('tags', 'text', required)
    .addColumn('access', 'text', required)
    .addColumn('graph_sha256', 'text', (column) => column.notNull().references('graph.sha256'))
    .addColumn('settings', 'text', required)
    .addColumn('run_mode', 'text', required)
    .addColumn('etag', 'text', required)
    .addColumn('revision', 'integer', required)
    .addColumn('created_at', 'text', required)
    .addColumn('updated_at', 'text', required)
    .modifyEnd(strict)
    .execute()
  await sql`create index workflow_by_owner on workflow (user_id, ifnull(workspace_id, ''), updated_at, id)`.execute(db)
  await db.schema.createIndex('workflow_by_access').on('workflow').columns(['access', 'updated_at', 'id']).execute()
  await db.schema.createIndex('workflow_by_graph').on('workflow').column('graph_sha256').execute()
  await db.schema
    .createTable('workflow_version')
    .addColumn('workflow_id', 'text', (column) => column.notNull().references('workflow.id').onDelete('cascade'))
    .addColumn('revision', 'integer', required)
    .addColumn('name', 'text', required)
    .addColumn('description', 'text', required)
    .addColumn('graph_sha256', 'text', (column) => column.notNull().references('graph.sha256'))
    .addColumn('etag', 'text', required)
    .addColumn('created_at', 'text', required)
    .addPrimaryKeyConstraint('workflow_version_key', ['workflow_id', 'revision'])
    .modifyEnd(strictWithoutRowid)
    .execute()
  await db.schema.createIndex('workflow_version_by_graph').on('workflow_version').column('graph_sha256').execute()
  await db.schema
    .createTable('workflow_share')
    .addColumn('token', 'text', (column) => column.notNull().primaryKey())
    .addColumn('workflow_id', 'text', (column) =>
      column.notNull().unique().references('workflow.id').onDelete('cascade'),
    )
    .addColumn('created_at', 'text', required)
    .modifyEnd(strict)
    .execute()
}

/** A job's `id` may be the client's choice, so it is unique only within its owner; `key` identifies the job inside the database. */
async function createJobs(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('job')
    .addColumn('key', 'integer', (column) => column.notNull().primaryKey())
    .addColumn('id', 'text', required)
    .addColumn('user_id', 'text', required)
    .addColumn('workspace_id', 'text')
    .addColumn('workflow_id', 'text', required)
    .addColumn('workflow_etag', 'text')
    .addColumn('workflow_revision', 'integer')
    .addColumn('graph_sha256', 'text', (column) => column.notNull().references('graph.sha256'))
    .addColumn('name', 'text')
    .addColumn('status', 'text', required)
    .addColumn('request_sha256', 'text')
    .addColumn('options', 'text', required)
    .addColumn('attempt', 'integer', required)
    .addColumn('last_sequence', 'integer', required)
    .addColumn('error', 'text')
    .addColumn('result', 'text')
    .addColumn('created_at', 'text', required)
    .addColumn('updated_at', 'text', required)
    .addColumn('started_at', 'text')
    .addColumn('finished_at', 'text')
    .modifyEnd(strict)
    .execute()
  await sql`create unique index job_by_owner on job (user_id, ifnull(workspace_id, ''), id)`.execute(db)
  await db.schema.createIndex('job_by_graph').on('job').column('graph_sha256').execute()
  await sql`create index job_unfinished on job (key)
    where status not in ('completed', 'failed', 'error', 'timed_out', 'cancelled')`.execute(db)
  await sql`create trigger job_terminal_is_immutable before update on job
    when old.status in ('completed', 'failed', 'error', 'timed_out', 'cancelled')
    begin select raise(abort, 'a terminal job never changes'); end`.execute(db)
  await db.schema
    .createTable('job_input')
    .addColumn('job_key', 'integer', (column) =>
      column.notNull().primaryKey().references('job.key').onDelete('cascade'),
    )
    .addColumn('params', 'text', required)
    .modifyEnd(strict)
    .execute()
}

async function createEvents(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('job_event')
    .addColumn('job_key', 'integer', (column) => column.notNull().references('job.key').onDelete('cascade'))
    .addColumn('sequence', 'integer', required)
    .addColumn('type', 'text', required)
    .addColumn('payload', 'text', required)
    .addColumn('created_at', 'text', required)
    .addPrimaryKeyConstraint('job_event_key', ['job_key', 'sequence'])
    .modifyEnd(strictWithoutRowid)
    .execute()
  await sql`create trigger job_event_is_immutable before update on job_event
    begin select raise(abort, 'an event never changes'); end`.execute(db)
}

export const initial: Migration = { up }
