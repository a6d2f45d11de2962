// Single facts about the whole database, by name, beginning with the key of its encrypted columns.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('meta')
    .addColumn('name', 'text', (column) => column.notNull().primaryKey())
    .addColumn('value', 'text', (column) => column.notNull())
    .modifyEnd(sql`strict, without rowid`)
    .execute()
}

export const vault: Migration = { up }
