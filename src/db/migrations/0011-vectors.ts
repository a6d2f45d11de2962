// Vectors of users, in indexes by name. A search reads a whole index, so the columns that it needs precede the text.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table vector_index (key integer not null primary key, user_id text not null, workspace text not null,
      name text not null, dimensions integer not null, model text, count integer not null, bytes integer not null,
      created_at text not null, updated_at text not null, unique (user_id, workspace, name)) strict`.execute(db)
  await sql`create table vector_entry (key integer not null primary key, index_key integer not null, id text not null,
      bytes integer not null, metadata text not null, vector blob not null, text text, unique (index_key, id)) strict`.execute(
    db,
  )
  await sql`create index vector_entry_by_index on vector_entry (index_key, key)`.execute(db)
}

export const vectors: Migration = { up }
