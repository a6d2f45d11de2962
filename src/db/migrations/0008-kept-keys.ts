// Idempotency keys outlive their jobs, so the index by job is not needed any more.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop index if exists idempotency_key_by_job`.execute(db)
}

export const keptKeys: Migration = { up }
