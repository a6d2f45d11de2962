// The text of a large graph is in parts, so that no statement writes all of it.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const STATEMENTS = [
  // Null: the text is whole, as that of all earlier graphs. So their checksums stay valid.
  'alter table graph add column parts integer',
  `create table graph_part (sha256 text not null, at integer not null, body text not null, checksum integer,
    primary key (sha256, at)) strict`,
]

async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

export const graphParts: Migration = { up }
