// The preflight that admitted a job, for submissions of the lifecycle profile. And how much of a living job's bounded history was removed, so that a
// resumed run publishes nothing twice.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table job add column preflight text`.execute(db)
  await sql`create table job_trimmed (job_key integer not null, type text not null, name text not null, status text not null,
      count integer not null, primary key (job_key, type, name, status)) strict, without rowid`.execute(db)
}

export const submissions: Migration = { up }
