// The result of a large job is in parts, so that no statement writes all of it.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const STATEMENTS = [
  // Null: the result is whole, as that of all earlier jobs. So their checksums stay valid.
  'alter table job add column result_parts integer',
  `create table result_part (job_key integer not null, at integer not null, body text not null, checksum integer,
    primary key (job_key, at)) strict`,
]

async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

export const resultParts: Migration = { up }
