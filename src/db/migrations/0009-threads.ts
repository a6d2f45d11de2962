// Chat: threads, their messages, and their running turns.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

async function up(db: Kysely<unknown>): Promise<void> {
  // `spoken_at` is when the last message was added, or the thread created. A key is never reused: a reader with the key of a deleted thread must find
  // nothing.
  await sql`create table thread (key integer not null primary key autoincrement, id text not null unique, user_id text not null,
      workspace_id text, title text, last_sequence integer not null, size integer not null, spoken_at text not null,
      created_at text not null, updated_at text not null) strict`.execute(db)
  await sql`create index thread_by_owner on thread (user_id, ifnull(workspace_id, ''), spoken_at, id)`.execute(db)
  await sql`create table message (thread_key integer not null references thread (key) on delete cascade,
      sequence integer not null, id text not null, turn_id text, role text not null, content text, tool_calls text,
      tool_call_id text, status text not null, error text, provider text, model text, workflow_id text, job_id text,
      usage text, created_at text not null, primary key (thread_key, sequence)) strict`.execute(db)
  await sql`create trigger message_is_immutable before update on message
    begin select raise(abort, 'a message never changes'); end`.execute(db)
  // One row for each running turn, with the text so far of its message: a crash leaves this of it.
  await sql`create table turn (thread_key integer not null primary key references thread (key) on delete cascade,
      id text not null, text text not null, provider text, model text, workflow_id text, job_id text,
      created_at text not null) strict`.execute(db)
}

export const threads: Migration = { up }
