// Single facts about the database as a whole, by name. The first ones: which key its sealed columns were sealed under.
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
