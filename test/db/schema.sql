CREATE INDEX access_token_by_owner on access_token (user_id, ifnull(workspace_id, ''), created_at, id);
CREATE INDEX asset_by_content on asset (content_key) where content_key is not null;
CREATE INDEX asset_by_job on asset (user_id, ifnull(workspace_id, ''), job_id)
    where job_id is not null;
CREATE INDEX "idempotency_key_by_age" on "idempotency_key" ("created_at");
CREATE INDEX idempotency_key_by_job on idempotency_key (job_key);
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
CREATE INDEX job_unfinished_by_status on job (status)
    where status not in ('completed', 'failed', 'error', 'timed_out', 'cancelled');
CREATE INDEX mcp_token_by_expiry on mcp_token (expires_at);
CREATE INDEX "workflow_by_access" on "workflow" ("access", "updated_at", "id");
CREATE INDEX "workflow_by_graph" on "workflow" ("graph_sha256");
CREATE INDEX workflow_by_owner on workflow (user_id, ifnull(workspace_id, ''), updated_at, id);
CREATE INDEX "workflow_version_by_graph" on "workflow_version" ("graph_sha256");
CREATE TABLE access_token (id text not null primary key, user_id text not null, workspace_id text,
      name text not null, digest blob not null, scopes text not null, created_at text not null, expires_at text,
      last_used_at text) strict, without rowid;
CREATE TABLE "asset" ("id" text not null primary key, "user_id" text not null, "workspace_id" text, "parent_id" text, "name" text not null, "content_type" text not null, "size" integer not null, "sha256" text, "storage_key" text unique, "content_key" text, "metadata" text not null, "workflow_id" text, "job_id" text, "node_id" text, "created_at" text not null, "updated_at" text not null) strict;
CREATE TABLE "graph" ("sha256" text not null primary key, "body" text not null) strict;
CREATE TABLE "idempotency_key" ("user_id" text not null, "workspace" text not null, "key" text not null, "request_sha256" text not null, "job_key" integer not null, "created_at" text not null, constraint "idempotency_key_key" primary key ("user_id", "workspace", "key")) strict, without rowid;
CREATE TABLE "job" ("key" integer not null primary key, "id" text not null, "user_id" text not null, "workspace_id" text, "workflow_id" text not null, "workflow_etag" text, "workflow_revision" integer, "graph_sha256" text not null references "graph" ("sha256"), "name" text, "status" text not null, "request_sha256" text, "options" text not null, "attempt" integer not null, "last_sequence" integer not null, "error" text, "result" text, "created_at" text not null, "updated_at" text not null, "started_at" text, "finished_at" text, "seed" integer, "waiting" text, "wake_at" integer) strict;
CREATE TABLE job_doomed (job_key integer not null primary key) strict;
CREATE TABLE "job_event" (job_key integer not null, sequence integer not null, type text not null,
    payload text not null, created_at text not null, primary key (job_key, sequence)) strict, without rowid;
CREATE TABLE "job_journal" (job_key integer not null, page integer not null, attempt integer not null,
    body blob not null, primary key (job_key, page)) strict, without rowid;
CREATE TABLE "job_tombstone" ("user_id" text not null, "workspace" text not null, "id" text not null, "expired_at" text not null, constraint "job_tombstone_key" primary key ("user_id", "workspace", "id")) strict, without rowid;
CREATE TABLE mcp_token (id text not null primary key, user_id text not null, workspace_id text,
      client_id text not null, resource text not null, digest blob not null, scopes text not null,
      created_at text not null, expires_at text not null) strict, without rowid;
CREATE TABLE "meta" ("name" text not null primary key, "value" text not null) strict, without rowid;
CREATE TABLE sweep_position (sweep text not null primary key, finished_at text not null,
    job_key integer not null) strict, without rowid;
CREATE TABLE user_secret (user_id text not null, workspace text not null, name text not null,
      body blob not null, updated_at text not null, primary key (user_id, workspace, name)) strict, without rowid;
CREATE TABLE user_setting (user_id text not null, workspace text not null, name text not null,
      value text not null, updated_at text not null, primary key (user_id, workspace, name)) strict, without rowid;
CREATE TABLE "workflow" ("id" text not null primary key, "user_id" text not null, "workspace_id" text, "name" text not null, "description" text not null, "tags" text not null, "access" text not null, "graph_sha256" text not null references "graph" ("sha256"), "settings" text not null, "run_mode" text not null, "etag" text not null, "revision" integer not null, "created_at" text not null, "updated_at" text not null) strict;
CREATE TABLE "workflow_share" ("token" text not null primary key, "workflow_id" text not null unique references "workflow" ("id") on delete cascade, "created_at" text not null) strict;
CREATE TABLE "workflow_version" ("workflow_id" text not null references "workflow" ("id") on delete cascade, "revision" integer not null, "name" text not null, "description" text not null, "graph_sha256" text not null references "graph" ("sha256"), "etag" text not null, "created_at" text not null, constraint "workflow_version_key" primary key ("workflow_id", "revision")) strict, without rowid;
CREATE TRIGGER job_event_is_immutable before update on job_event
    begin select raise(abort, 'an event never changes'); end;
CREATE TRIGGER job_terminal_is_immutable before update on job
    when old.status in ('completed', 'failed', 'error', 'timed_out', 'cancelled')
    begin select raise(abort, 'a terminal job never changes'); end;
