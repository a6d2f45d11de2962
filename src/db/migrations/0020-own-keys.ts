// Distinguishes the cost of calls on users' own keys from what the operator paid.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

async function up(db: Kysely<unknown>): Promise<void> {
  // A part of `amount`. Null: nothing. So the checksums of existing rows stay valid.
  await sql`alter table model_spending add column own_amount real`.execute(db)
}

export const ownKeys: Migration = { up }
