// Everything that the database holds of one owner, as text: what a stranger did to it shows as a difference.
import type { Scope } from '../../../src/db/scope.ts'
import type { Statement } from '../../../src/db/statement.ts'
import type { Store } from '../../../src/db/store.ts'

const OF_ROWS = ['workflow', 'job', 'asset', 'access_token']
const OF_NAMES = ['user_secret', 'user_setting', 'idempotency_key']
const OF_JOBS = ['job_event', 'job_journal']
const OF_WORKFLOWS = ['workflow_version', 'workflow_share']

const MINE = `user_id = ? and ifnull(workspace_id, '') = ifnull(?, '')`

export function rowsOf(store: Store, { user_id, workspace_id }: Scope): string {
  const queries = [
    ...OF_ROWS.map((table) => `select * from ${table} where ${MINE}`),
    ...OF_NAMES.map((table) => `select * from ${table} where user_id = ? and workspace = ifnull(?, '')`),
    ...OF_JOBS.map((table) => `select * from ${table} where job_key in (select key from job where ${MINE})`),
    ...OF_WORKFLOWS.map(
      (table) => `select * from ${table} where workflow_id in (select id from workflow where ${MINE})`,
    ),
  ]
  return store.read((tx) =>
    queries.map((sql) => JSON.stringify([sql, tx.all(query(sql), [user_id, workspace_id])], asText)).join('\n'),
  )
}

function query(sql: string): Statement<readonly unknown[], Record<string, unknown>> {
  return { sql, bind: (params) => [...params] }
}

function asText(_name: string, value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value
}
