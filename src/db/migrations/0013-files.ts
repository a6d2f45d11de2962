// Files: objects under callers' own keys, thumbnails of assets, indexes for lists of assets, and search by name.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const OWNER = "user_id, ifnull(workspace_id, '')"
const ASSET_COLUMNS = `id, user_id, workspace_id, parent_id, name, content_type, size, sha256, storage_key, content_key, metadata,
  workflow_id, job_id, node_id, created_at, updated_at`
const ESSENCE = "lower(rtrim(substr(content_type, 1, instr(content_type || ';', ';') - 1)))"
const FAMILY = "lower(substr(content_type, 1, instr(content_type || '/', '/') - 1))"

const STATEMENTS = [
  // One object for each key and workspace of a user. Temporary objects have a time of expiry.
  `create table object (storage_key text not null, user_id text not null, workspace_id text, content_key text not null,
    content_type text not null, size integer not null, sha256 text not null, expires_at text, created_at text not null,
    updated_at text not null) strict`,
  `create unique index object_by_key on object (storage_key, ifnull(workspace_id, ''))`,
  'create index object_by_content on object (content_key)',
  'create index object_by_expiry on object (expires_at) where expires_at is not null',

  // Assets get an ascending key for lists and searches: the newest has the highest. `thumb_key` names the bytes of the thumbnail; `previewed` says
  // whether the content was read for a thumbnail and metadata.
  'drop index asset_by_content',
  'drop index asset_by_job',
  'alter table asset rename to asset_before',
  `create table asset (key integer primary key, id text not null unique, user_id text not null, workspace_id text,
    parent_id text, name text not null, content_type text not null, size integer not null, sha256 text, storage_key text unique,
    content_key text, thumb_key text, metadata text not null, previewed integer not null default 0, workflow_id text, job_id text,
    node_id text, created_at text not null, updated_at text not null) strict`,
  `insert into asset (${ASSET_COLUMNS}) select ${ASSET_COLUMNS} from asset_before order by created_at, id`,
  'drop table asset_before',
  'create index asset_by_content on asset (content_key) where content_key is not null',
  'create index asset_by_thumb on asset (thumb_key) where thumb_key is not null',
  'create index asset_to_preview on asset (key) where previewed = 0 and content_key is not null',
  // Each order of a list is one range of an index: rows with equal values in all of these columns are in the order of the keys.
  `create index asset_by_owner on asset (${OWNER})`,
  `create index asset_by_folder on asset (${OWNER}, ifnull(parent_id, ''))`,
  `create index asset_by_type on asset (${OWNER}, ${ESSENCE})`,
  `create index asset_by_family on asset (${OWNER}, ${FAMILY})`,
  `create index asset_by_workflow on asset (${OWNER}, workflow_id) where workflow_id is not null`,
  `create index asset_by_job on asset (${OWNER}, job_id) where job_id is not null`,

  // The words that `name_grams` (assets/name-trigrams.ts) makes of names: each contains the owner, so that a search does not visit names of others.
  `create virtual table asset_name using fts5 (grams, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii')`,
  'insert into asset_name (rowid, grams) select key, name_grams(user_id, workspace_id, name) from asset',
  `create trigger asset_name_insert after insert on asset begin
    insert into asset_name (rowid, grams) values (new.key, name_grams(new.user_id, new.workspace_id, new.name)); end`,
  'create trigger asset_name_delete after delete on asset begin delete from asset_name where rowid = old.key; end',
  `create trigger asset_name_update after update of name on asset begin
    update asset_name set grams = name_grams(new.user_id, new.workspace_id, new.name) where rowid = new.key; end`,
]

async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

export const files: Migration = { up }
