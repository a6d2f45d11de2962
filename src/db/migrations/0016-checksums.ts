// Every row gets a checksum of its other columns. Existing rows get it in steps, so that neither memory nor the write-ahead log must hold all of
// them. An interrupted migration resumes.
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Receives the progress of a migration. */
export type Progress = (table: string, rows: number) => void

// The columns at the time of this migration, which never changes.
const TABLES: Readonly<Record<string, string>> = {
  meta: 'name, value',
  workflow: `id, user_id, workspace_id, name, description, tags, access, graph_sha256, settings, run_mode, etag, revision,
    created_at, updated_at`,
  workflow_version: 'workflow_id, revision, name, description, graph_sha256, etag, created_at',
  workflow_share: 'token, workflow_id, created_at',
  graph: 'sha256, body',
  job: `key, id, user_id, workspace_id, workflow_id, workflow_etag, workflow_revision, graph_sha256, name, status,
    request_sha256, options, attempt, last_sequence, error, result, created_at, updated_at, started_at, finished_at, seed,
    waiting, wake_at, preflight`,
  job_journal: 'job_key, page, attempt, body',
  spilled_value: 'content_key, job_key, size, sha256',
  idempotency_key: 'user_id, workspace, key, request_sha256, job_key, created_at',
  job_tombstone: 'user_id, workspace, id, expired_at',
  job_event: 'job_key, sequence, type, payload, created_at',
  job_trimmed: 'job_key, type, name, status, count',
  job_doomed: 'job_key',
  sweep_position: 'sweep, finished_at, job_key',
  asset: `id, user_id, workspace_id, parent_id, name, content_type, size, sha256, storage_key, content_key, thumb_key,
    metadata, previewed, workflow_id, job_id, node_id, created_at, updated_at`,
  deleted_folder: 'user_id, workspace, id',
  object: `storage_key, user_id, workspace_id, content_key, content_type, size, sha256, expires_at, created_at,
    updated_at`,
  access_token: 'id, user_id, workspace_id, name, digest, scopes, created_at, expires_at, last_used_at',
  mcp_token: 'id, user_id, workspace_id, client_id, resource, digest, scopes, created_at, expires_at',
  user_secret: 'user_id, workspace, name, body, updated_at',
  user_setting: 'user_id, workspace, name, value, updated_at',
  thread: 'id, user_id, workspace_id, title, last_sequence, size, spoken_at, created_at, updated_at',
  message: `thread_key, sequence, id, turn_id, role, content, tool_calls, tool_call_id, status, error, provider, model,
    workflow_id, job_id, usage, created_at`,
  turn: 'thread_key, id, provider, model, workflow_id, job_id, created_at',
  draft: 'thread_key, at, text',
  model_spending: 'day, user_id, workspace, model, currency, calls, input_tokens, output_tokens, amount',
  vector_index: 'user_id, workspace, name, dimensions, model, count, bytes, created_at, updated_at',
  vector_entry: 'index_key, id, bytes, metadata, vector, text',
}

const IMMUTABLE: Readonly<Record<string, string>> = {
  job_event_is_immutable: `before update on job_event
    begin select raise(abort, 'an event never changes'); end`,
  job_terminal_is_immutable: `before update on job
    when old.status in ('completed', 'failed', 'error', 'timed_out', 'cancelled')
    begin select raise(abort, 'a terminal job never changes'); end`,
  message_is_immutable: `before update on message
    begin select raise(abort, 'a message never changes'); end`,
}

/** Rows of one transaction. */
const STEP = 500
/** After this many steps the write-ahead log is copied into the file, and restarts. */
const STEPS_TO_COPY = 16

export function checksums(progress: Progress): Migration {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      for (const name of Object.keys(IMMUTABLE)) await sql.raw(`drop trigger if exists ${name}`).execute(db)
      for (const [table, columns] of Object.entries(TABLES)) {
        const known = await rows(db, `select name from pragma_table_info('${table}') where name = 'checksum'`)
        if (known.length === 0) await sql.raw(`alter table "${table}" add column checksum integer`).execute(db)
        await fill(db, table, columns, progress)
      }
      for (const [name, rest] of Object.entries(IMMUTABLE)) await sql.raw(`create trigger ${name} ${rest}`).execute(db)
    },
  }
}

async function fill(db: Kysely<unknown>, table: string, columns: string, progress: Progress): Promise<void> {
  const key = await keyOf(db, table)
  const names = `(${key.join(', ')})`
  const order = sql.raw(key.join(', '))
  const assign = sql.raw(`update "${table}" set checksum = row_checksum('${table}', ${columns}) where checksum is null`)
  let done = 0
  for (let from: unknown[] | null = null; ; ) {
    const after = bound(names, '>', from)
    const { rows: last } = await sql<
      Record<string, unknown>
    >`select ${order} from ${sql.table(table)} where ${after} order by ${order} limit 1 offset ${sql.lit(STEP - 1)}`.execute(
      db,
    )
    const to: unknown[] | null = last[0] ? key.map((name) => last[0]![unquoted(name)]) : null
    await sql`${assign} and ${after} and ${bound(names, '<=', to)}`.execute(db)
    if (to === null) break
    done += STEP
    if (done % (STEP * STEPS_TO_COPY) === 0) await sql.raw('pragma wal_checkpoint(passive)').execute(db)
    progress(table, done)
    from = to
  }
}

/** A bound of keys, as parameters: a caller's key may contain any character, and U+0000 would end the text of a statement. */
function bound(names: string, compared: '>' | '<=', key: readonly unknown[] | null): RawBuilder<unknown> {
  return key === null ? sql`true` : sql`${sql.raw(names)} ${sql.raw(compared)} (${sql.join(key)})`
}

/** The columns of the primary key, in its order. */
async function keyOf(db: Kysely<unknown>, table: string): Promise<string[]> {
  const found = await rows(db, `select name from pragma_table_info('${table}') where pk > 0 order by pk`)
  return found.length === 0 ? ['rowid'] : found.map(({ name }) => `"${String(name)}"`)
}

function unquoted(name: string): string {
  return name.replaceAll('"', '')
}

async function rows(db: Kysely<unknown>, text: string): Promise<Record<string, unknown>[]> {
  return (await sql.raw<Record<string, unknown>>(text).execute(db)).rows
}
