// Assets: files and folders of their owners. The bytes are in an object store; rows with the same `content_key` share them.
import { type ColumnDefinitionBuilder, type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const strict = sql`strict`
const required = (column: ColumnDefinitionBuilder) => column.notNull()

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('asset')
    .addColumn('id', 'text', (column) => column.notNull().primaryKey())
    .addColumn('user_id', 'text', required)
    .addColumn('workspace_id', 'text')
    .addColumn('parent_id', 'text')
    .addColumn('name', 'text', required)
    .addColumn('content_type', 'text', required)
    .addColumn('size', 'integer', required)
    .addColumn('sha256', 'text')
    // The key under which the bytes are served, and the key under which they are stored.
    .addColumn('storage_key', 'text', (column) => column.unique())
    .addColumn('content_key', 'text')
    .addColumn('metadata', 'text', required)
    .addColumn('workflow_id', 'text')
    .addColumn('job_id', 'text')
    .addColumn('node_id', 'text')
    .addColumn('created_at', 'text', required)
    .addColumn('updated_at', 'text', required)
    .modifyEnd(strict)
    .execute()
  // The rows of a content are its references: without any, the bytes may be removed.
  await sql`create index asset_by_content on asset (content_key) where content_key is not null`.execute(db)
  await sql`create index asset_by_job on asset (user_id, ifnull(workspace_id, ''), job_id)
    where job_id is not null`.execute(db)
}

export const assets: Migration = { up }
