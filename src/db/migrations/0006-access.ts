// The credentials and personal data of callers: digests of tokens, encrypted secrets, and settings.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table access_token (id text not null primary key, user_id text not null, workspace_id text,
      name text not null, digest blob not null, scopes text not null, created_at text not null, expires_at text,
      last_used_at text) strict, without rowid`.execute(db)
  await sql`create index access_token_by_owner on access_token (user_id, ifnull(workspace_id, ''), created_at, id)`.execute(
    db,
  )
  await sql`create table mcp_token (id text not null primary key, user_id text not null, workspace_id text,
      client_id text not null, resource text not null, digest blob not null, scopes text not null,
      created_at text not null, expires_at text not null) strict, without rowid`.execute(db)
  await sql`create index mcp_token_by_expiry on mcp_token (expires_at)`.execute(db)
  await sql`create table user_secret (user_id text not null, workspace text not null, name text not null,
      body blob not null, updated_at text not null, primary key (user_id, workspace, name)) strict, without rowid`.execute(
    db,
  )
  await sql`create table user_setting (user_id text not null, workspace text not null, name text not null,
      value text not null, updated_at text not null, primary key (user_id, workspace, name)) strict, without rowid`.execute(
    db,
  )
}

export const access: Migration = { up }
