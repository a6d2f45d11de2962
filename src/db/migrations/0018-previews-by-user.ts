// An index finds assets without a preview by their user: without it, all assets of a user may lie between two of another user.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop index if exists asset_to_preview`.execute(db)
  await sql`create index asset_to_preview on asset (user_id) where previewed = 0 and content_key is not null`.execute(
    db,
  )
}

export const previewsByUser: Migration = { up }
