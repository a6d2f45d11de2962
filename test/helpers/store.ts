// A store for one test in its own folder, and functions that add rows.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { runStatements } from '../../src/db/catalogue.ts'
import { saveGraph } from '../../src/db/graphs.ts'
import { insertJob } from '../../src/db/jobs/rows.ts'
import { Store, type Tx } from '../../src/db/store.ts'
import type { JobTable } from '../../src/db/tables/jobs.ts'
import type { UserSecretTable } from '../../src/db/tables/users.ts'
import type { WorkflowTable } from '../../src/db/tables/workflows.ts'
import { listSecretOwners, listUserSecrets } from '../../src/db/user-secrets.ts'
import {
  findWorkflowForList,
  listWorkflowPositions,
  type WorkflowCursor,
  type WorkflowListFilter,
} from '../../src/db/workflows.ts'
import { giveDatabase } from './migrated.ts'
import { temporaryFolder } from './server.ts'

export interface TestStore extends AsyncDisposable {
  readonly store: Store
  readonly path: string
  /** Closes the store and opens the same file again. */
  reopen(): Promise<Store>
}

/** Use it as `await using test = await openStore()`. */
export async function openStore(): Promise<TestStore> {
  const folder = temporaryFolder()
  const path = join(folder, 'svc.db')
  await giveDatabase(path)
  let store = await Store.open(path)
  return {
    get store() {
      return store
    },
    path,
    async reopen() {
      await store[Symbol.asyncDispose]()
      store = await Store.open(path)
      return store
    },
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const AT = '2026-01-01T00:00:00.000Z'

/** Returns the row of a job that has just been accepted. Its graph is `{}`. */
export function jobRow(key: number, more: Partial<JobTable> = {}): JobTable {
  return {
    key,
    id: `job_${key}`,
    user_id: '1',
    workspace_id: null,
    workflow_id: 'wf',
    workflow_etag: null,
    workflow_revision: null,
    graph_sha256: 'g',
    name: null,
    status: 'pending',
    request_sha256: null,
    options: '{}',
    attempt: 1,
    last_sequence: 0,
    error: null,
    result: null,
    created_at: AT,
    updated_at: AT,
    started_at: null,
    finished_at: null,
    seed: null,
    waiting: null,
    wake_at: null,
    preflight: null,
    result_parts: null,
    ...more,
  }
}

/** Inserts jobs and their graphs into the database. */
export function putJob(tx: Tx, ...rows: JobTable[]): void {
  for (const row of rows) {
    saveGraph(tx, row.graph_sha256, '{"nodes":[],"edges":[]}')
    insertJob(tx, row)
  }
}

export function workflowRow(id: string, more: Partial<WorkflowTable> = {}): WorkflowTable {
  return {
    id,
    user_id: '1',
    workspace_id: null,
    name: id,
    description: '',
    tags: '[]',
    access: 'private',
    graph_sha256: 'g',
    settings: '{}',
    run_mode: 'workflow',
    etag: 'e',
    revision: 1,
    created_at: AT,
    updated_at: AT,
    ...more,
  }
}

/** Returns the listed members of workflows, all in one unit of work. */
export function listedWorkflows(
  tx: Tx,
  filter: WorkflowListFilter & { after?: WorkflowCursor | null; limit?: number },
): WorkflowTable[] {
  const { scope, after = null, limit = null } = filter
  return listWorkflowPositions(tx, scope, after, limit).flatMap(({ id }) => findWorkflowForList(tx, filter, id) ?? [])
}

export function readAllUserSecrets(store: Store): UserSecretTable[] {
  return store.read((tx) =>
    runStatements(tx, listSecretOwners()).flatMap((owner) => runStatements(tx, listUserSecrets(owner))),
  )
}
