CREATE INDEX access_token_by_owner on access_token (user_id, ifnull(workspace_id, ''), created_at, id);
CREATE INDEX asset_by_content on asset (content_key) where content_key is not null;
CREATE INDEX asset_by_family on asset (user_id, ifnull(workspace_id, ''), lower(substr(content_type, 1, instr(content_type || '/', '/') - 1)));
CREATE INDEX asset_by_folder on asset (user_id, ifnull(workspace_id, ''), ifnull(parent_id, ''));
CREATE INDEX asset_by_job on asset (user_id, ifnull(workspace_id, ''), job_id) where job_id is not null;
CREATE INDEX asset_by_owner on asset (user_id, ifnull(workspace_id, ''));
CREATE INDEX asset_by_thumb on asset (thumb_key) where thumb_key is not null;
CREATE INDEX asset_by_type on asset (user_id, ifnull(workspace_id, ''), lower(rtrim(substr(content_type, 1, instr(content_type || ';', ';') - 1))));
CREATE INDEX asset_by_workflow on asset (user_id, ifnull(workspace_id, ''), workflow_id) where workflow_id is not null;
CREATE INDEX asset_to_preview on asset (user_id) where previewed = 0 and content_key is not null;
CREATE INDEX "idempotency_key_by_age" on "idempotency_key" ("created_at");
CREATE INDEX "job_by_graph" on "job" ("graph_sha256");
CREATE UNIQUE INDEX job_by_owner on job (user_id, ifnull(workspace_id, ''), id);
CREATE INDEX job_by_status on job (user_id, ifnull(workspace_id, ''), status, key)
    where instr(options, '"persistence":"session"') = 0;
CREATE INDEX job_by_workflow on job (user_id, ifnull(workspace_id, ''), workflow_id, status, key)
    where instr(options, '"persistence":"session"') = 0;
CREATE INDEX job_finished on job (finished_at) where finished_at is not null;
CREATE INDEX job_to_wake on job (wake_at) where wake_at is not null;
CREATE INDEX "job_tombstone_by_age" on "job_tombstone" ("expired_at");
CREATE INDEX job_unfinished on job (key)
    where status not in ('completed', 'failed', 'error', 'timed_out', 'cancelled');
CREATE INDEX job_unfinished_by_owner on job (status, user_id, ifnull(workspace_id, ''))
    where status not in ('completed', 'failed', 'error', 'timed_out', 'cancelled');
CREATE INDEX mcp_token_by_expiry on mcp_token (expires_at);
CREATE INDEX object_by_content on object (content_key);
CREATE INDEX object_by_expiry on object (expires_at) where expires_at is not null;
CREATE UNIQUE INDEX object_by_key on object (storage_key, ifnull(workspace_id, ''));
CREATE INDEX spilled_value_by_job on spilled_value (job_key);
CREATE INDEX thread_by_owner on thread (user_id, ifnull(workspace_id, ''), spoken_at, id);
CREATE INDEX vector_entry_by_index on vector_entry (index_key, key);
CREATE INDEX "workflow_by_access" on "workflow" ("access", "updated_at", "id");
CREATE INDEX "workflow_by_graph" on "workflow" ("graph_sha256");
CREATE INDEX workflow_by_owner on workflow (user_id, ifnull(workspace_id, ''), updated_at, id);
CREATE INDEX "workflow_version_by_graph" on "workflow_version" ("graph_sha256");
CREATE TABLE access_token (id text not null primary key, user_id text not null, workspace_id text,
      name text not null, digest blob not null, scopes text not null, created_at text not null, expires_at text,
      last_used_at text, checksum integer) strict, without rowid;
CREATE TABLE asset (key integer primary key, id text not null unique, user_id text not null, workspace_id text,
    parent_id text, name text not null, content_type text not null, size integer not null, sha256 text, storage_key text unique,
    content_key text, thumb_key text, metadata text not null, previewed integer not null default 0, workflow_id text, job_id text,
    node_id text, created_at text not null, updated_at text not null, checksum integer) strict;
CREATE VIRTUAL TABLE asset_name using fts5 (grams, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');
CREATE TABLE 'asset_name_config'(k PRIMARY KEY, v) WITHOUT ROWID;
CREATE TABLE 'asset_name_data'(id INTEGER PRIMARY KEY, block BLOB);
CREATE TABLE 'asset_name_docsize'(id INTEGER PRIMARY KEY, sz BLOB, origin INTEGER);
CREATE TABLE 'asset_name_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;
CREATE TABLE deleted_folder (user_id text not null, workspace text not null, id text not null, checksum integer,
    primary key (user_id, workspace, id)) strict, without rowid;
CREATE TABLE draft (thread_key integer not null references turn (thread_key) on delete cascade,
      at integer not null, text text not null, checksum integer, primary key (thread_key, at)) strict;
CREATE TABLE "graph" ("sha256" text not null primary key, "body" text not null, checksum integer, parts integer) strict;
CREATE TABLE graph_part (sha256 text not null, at integer not null, body text not null, checksum integer,
    primary key (sha256, at)) strict;
CREATE TABLE "idempotency_key" ("user_id" text not null, "workspace" text not null, "key" text not null, "request_sha256" text not null, "job_key" integer not null, "created_at" text not null, checksum integer, constraint "idempotency_key_key" primary key ("user_id", "workspace", "key")) strict, without rowid;
CREATE TABLE "job" ("key" integer not null primary key, "id" text not null, "user_id" text not null, "workspace_id" text, "workflow_id" text not null, "workflow_etag" text, "workflow_revision" integer, "graph_sha256" text not null references "graph" ("sha256"), "name" text, "status" text not null, "request_sha256" text, "options" text not null, "attempt" integer not null, "last_sequence" integer not null, "error" text, "result" text, "created_at" text not null, "updated_at" text not null, "started_at" text, "finished_at" text, "seed" integer, "waiting" text, "wake_at" integer, preflight text, checksum integer, result_parts integer) strict;
CREATE TABLE job_doomed (job_key integer not null primary key, checksum integer) strict;
CREATE TABLE "job_event" (job_key integer not null, sequence integer not null, type text not null,
    payload text not null, created_at text not null, checksum integer, primary key (job_key, sequence)) strict, without rowid;
CREATE TABLE "job_journal" (job_key integer not null, page integer not null, attempt integer not null,
    body blob not null, checksum integer, primary key (job_key, page)) strict, without rowid;
CREATE TABLE "job_tombstone" ("user_id" text not null, "workspace" text not null, "id" text not null, "expired_at" text not null, checksum integer, constraint "job_tombstone_key" primary key ("user_id", "workspace", "id")) strict, without rowid;
CREATE TABLE job_trimmed (job_key integer not null, type text not null, name text not null, status text not null,
      count integer not null, checksum integer, primary key (job_key, type, name, status)) strict, without rowid;
CREATE TABLE mcp_token (id text not null primary key, user_id text not null, workspace_id text,
      client_id text not null, resource text not null, digest blob not null, scopes text not null,
      created_at text not null, expires_at text not null, checksum integer) strict, without rowid;
CREATE TABLE message (thread_key integer not null references thread (key) on delete cascade,
      sequence integer not null, id text not null, turn_id text, role text not null, content text, tool_calls text,
      tool_call_id text, status text not null, error text, provider text, model text, workflow_id text, job_id text,
      usage text, created_at text not null, checksum integer, primary key (thread_key, sequence)) strict;
CREATE TABLE "meta" ("name" text not null primary key, "value" text not null, checksum integer) strict, without rowid;
CREATE TABLE model_spending (day text not null, user_id text not null, workspace text not null,
      model text not null, currency text not null, calls integer not null, input_tokens integer not null,
      output_tokens integer not null, amount real not null, checksum integer, own_amount real,
      primary key (day, user_id, workspace, model, currency)) strict, without rowid;
CREATE TABLE object (storage_key text not null, user_id text not null, workspace_id text, content_key text not null,
    content_type text not null, size integer not null, sha256 text not null, expires_at text, created_at text not null,
    updated_at text not null, checksum integer) strict;
CREATE TABLE result_part (job_key integer not null, at integer not null, body text not null, checksum integer,
    primary key (job_key, at)) strict;
CREATE TABLE spilled_value (content_key text primary key, job_key integer, size integer not null, sha256 text not null, checksum integer)
    strict, without rowid;
CREATE TABLE sqlite_sequence(name,seq);
CREATE TABLE sweep_position (sweep text not null primary key, finished_at text not null,
    job_key integer not null, checksum integer) strict, without rowid;
CREATE TABLE thread (key integer not null primary key autoincrement, id text not null unique, user_id text not null,
      workspace_id text, title text, last_sequence integer not null, size integer not null, spoken_at text not null,
      created_at text not null, updated_at text not null, checksum integer) strict;
CREATE TABLE turn (thread_key integer not null primary key references thread (key) on delete cascade,
      id text not null, provider text, model text, workflow_id text, job_id text,
      created_at text not null, checksum integer) strict;
CREATE TABLE user_secret (user_id text not null, workspace text not null, name text not null,
      body blob not null, updated_at text not null, checksum integer, primary key (user_id, workspace, name)) strict, without rowid;
CREATE TABLE user_setting (user_id text not null, workspace text not null, name text not null,
      value text not null, updated_at text not null, checksum integer, primary key (user_id, workspace, name)) strict, without rowid;
CREATE TABLE vector_entry (key integer not null primary key, index_key integer not null, id text not null,
      bytes integer not null, metadata text not null, vector blob not null, text text, checksum integer, unique (index_key, id)) strict;
CREATE TABLE vector_index (key integer not null primary key, user_id text not null, workspace text not null,
      name text not null, dimensions integer not null, model text, count integer not null, bytes integer not null,
      created_at text not null, updated_at text not null, checksum integer, unique (user_id, workspace, name)) strict;
CREATE TABLE "workflow" ("id" text not null primary key, "user_id" text not null, "workspace_id" text, "name" text not null, "description" text not null, "tags" text not null, "access" text not null, "graph_sha256" text not null references "graph" ("sha256"), "settings" text not null, "run_mode" text not null, "etag" text not null, "revision" integer not null, "created_at" text not null, "updated_at" text not null, checksum integer) strict;
CREATE TABLE "workflow_share" ("token" text not null primary key, "workflow_id" text not null unique references "workflow" ("id") on delete cascade, "created_at" text not null, checksum integer) strict;
CREATE TABLE "workflow_version" ("workflow_id" text not null references "workflow" ("id") on delete cascade, "revision" integer not null, "name" text not null, "description" text not null, "graph_sha256" text not null references "graph" ("sha256"), "etag" text not null, "created_at" text not null, checksum integer, constraint "workflow_version_key" primary key ("workflow_id", "revision")) strict, without rowid;
CREATE TRIGGER asset_name_delete after delete on asset begin delete from asset_name where rowid = old.key; end;
CREATE TRIGGER asset_name_insert after insert on asset begin
    insert into asset_name (rowid, grams) values (new.key, name_grams(new.user_id, new.workspace_id, new.name)); end;
CREATE TRIGGER asset_name_update after update of name on asset begin
    update asset_name set grams = name_grams(new.user_id, new.workspace_id, new.name) where rowid = new.key; end;
CREATE TRIGGER job_event_is_immutable before update on job_event
    begin select raise(abort, 'an event never changes'); end;
CREATE TRIGGER job_terminal_is_immutable before update on job
    when old.status in ('completed', 'failed', 'error', 'timed_out', 'cancelled')
    begin select raise(abort, 'a terminal job never changes'); end;
CREATE TRIGGER message_is_immutable before update on message
    begin select raise(abort, 'a message never changes'); end;
