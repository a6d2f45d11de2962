// The text so far of a turn in pieces: a growing row would be rewritten with each piece.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

async function up(db: Kysely<unknown>): Promise<void> {
  // `at`: the number of characters of the message before the piece.
  await sql`create table draft (thread_key integer not null references turn (thread_key) on delete cascade,
      at integer not null, text text not null, primary key (thread_key, at)) strict`.execute(db)
  await sql`insert into draft select thread_key, 0, text from turn where text <> ''`.execute(db)
  await sql`alter table turn drop column text`.execute(db)
}

export const drafts: Migration = { up }
