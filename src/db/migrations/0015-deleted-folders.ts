// Deleted folders whose contents are removed in steps.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table deleted_folder (user_id text not null, workspace text not null, id text not null,
    primary key (user_id, workspace, id)) strict, without rowid`.execute(db)
}

export const deletedFolders: Migration = { up }
