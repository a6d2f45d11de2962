// Large values of job journals are in encrypted files of their own; the pages of the journal name them.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const STATEMENTS = [
  // `job_key` null: no job needs the file, which is about to be removed, and then its row.
  `create table spilled_value (content_key text primary key, job_key integer, size integer not null, sha256 text not null)
    strict, without rowid`,
  'create index spilled_value_by_job on spilled_value (job_key)',
]

async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

export const spilledValues: Migration = { up }
