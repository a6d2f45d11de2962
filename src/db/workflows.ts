// Rows of workflows, their versions and share links, one statement per function.
import { sql } from 'kysely'
import { deleteUnusedGraph } from './graphs.ts'
import { DELETED_ROWS_OWNER, ifOwnedBy, type OwnerScope, ownerCondition } from './owner-scope.ts'
import { readFirstRows, type TimeBudget } from './row-batches.ts'
import { statement } from './statement.ts'
import type { Tx } from './store.ts'
import type { WorkflowShareTable, WorkflowTable, WorkflowVersionTable } from './tables/workflows.ts'
import { foldText } from './text-folding.ts'

const insert = statement<WorkflowTable>()((db, p) =>
  db.insertInto('workflow').values({
    id: p('id'),
    user_id: p('user_id'),
    workspace_id: p('workspace_id'),
    name: p('name'),
    description: p('description'),
    tags: p('tags'),
    access: p('access'),
    graph_sha256: p('graph_sha256'),
    settings: p('settings'),
    run_mode: p('run_mode'),
    etag: p('etag'),
    revision: p('revision'),
    created_at: p('created_at'),
    updated_at: p('updated_at'),
  }),
)

const selectById = statement<{ id: string }>()((db, p) =>
  db.selectFrom('workflow').selectAll().where('id', '=', p('id')),
)

interface WorkflowPageParams {
  before: string
  before_id: string
  limit: number
}

/** No timestamp is greater. */
const BEHIND_ALL_TIMES = '~'

const isBehind = (p: (name: keyof WorkflowPageParams) => unknown) =>
  sql<boolean>`(updated_at, id) < (${p('before')}, ${p('before_id')})`

const selectOwnedPositions = statement<OwnerScope & WorkflowPageParams>('keys')((db, p) =>
  db
    .selectFrom('workflow')
    .select(['updated_at', 'id'])
    .where(ownerCondition(p))
    .where(isBehind(p))
    .orderBy('updated_at', 'desc')
    .orderBy('id', 'desc')
    .limit(p('limit') as never),
)

const selectPublicPositions = statement<WorkflowPageParams>('keys')((db, p) =>
  db
    .selectFrom('workflow')
    .select(['updated_at', 'id'])
    .where('access', '=', sql.lit('public'))
    .where(isBehind(p))
    .orderBy('updated_at', 'desc')
    .orderBy('id', 'desc')
    .limit(p('limit') as never),
)

const update = statement<WorkflowTable & { expected: number }>()((db, p) =>
  db
    .updateTable('workflow')
    .set({
      name: p('name'),
      description: p('description'),
      tags: p('tags'),
      access: p('access'),
      graph_sha256: p('graph_sha256'),
      settings: p('settings'),
      run_mode: p('run_mode'),
      etag: p('etag'),
      revision: p('revision'),
      updated_at: p('updated_at'),
    })
    .where('id', '=', p('id'))
    .where('revision', '=', p('expected')),
)

const remove = statement<{ id: string }>()((db, p) => db.deleteFrom('workflow').where('id', '=', p('id')))

const markDeleted = statement<{ id: string }>()((db, p) =>
  db
    .updateTable('workflow')
    .set({ user_id: sql.lit(DELETED_ROWS_OWNER), workspace_id: null, access: sql.lit('private') })
    .where('id', '=', p('id')),
)

const selectMarkedDeleted = statement()((db) =>
  db.selectFrom('workflow').select(['id', 'graph_sha256']).where('user_id', '=', sql.lit(DELETED_ROWS_OWNER)),
)

const insertVersion = statement<WorkflowVersionTable>()((db, p) =>
  db.insertInto('workflow_version').values({
    workflow_id: p('workflow_id'),
    revision: p('revision'),
    name: p('name'),
    description: p('description'),
    graph_sha256: p('graph_sha256'),
    etag: p('etag'),
    created_at: p('created_at'),
  }),
)

const selectVersions = statement<{ workflow_id: string; before: number; limit: number }>()((db, p) =>
  db
    .selectFrom('workflow_version')
    .selectAll()
    .where('workflow_id', '=', p('workflow_id'))
    .where('revision', '<', p('before'))
    .orderBy('revision', 'desc')
    .limit(p('limit')),
)

const removeVersions = statement<{ workflow_id: string; limit: number }>()((db, p) =>
  db
    .deleteFrom('workflow_version')
    .where('workflow_id', '=', p('workflow_id'))
    .where('revision', 'in', (eb) =>
      eb
        .selectFrom('workflow_version')
        .select('revision')
        .where('workflow_id', '=', p('workflow_id'))
        .limit(p('limit') as never),
    )
    .returning('graph_sha256'),
)

const insertShare = statement<WorkflowShareTable>()((db, p) =>
  db
    .insertInto('workflow_share')
    .values({ token: p('token'), workflow_id: p('workflow_id'), created_at: p('created_at') })
    .onConflict((conflict) => conflict.column('workflow_id').doNothing()),
)

const selectShare = statement<{ workflow_id: string }>()((db, p) =>
  db.selectFrom('workflow_share').selectAll().where('workflow_id', '=', p('workflow_id')),
)

const selectShareByToken = statement<{ token: string }>()((db, p) =>
  db.selectFrom('workflow_share').selectAll().where('token', '=', p('token')),
)

const removeShare = statement<{ workflow_id: string }>()((db, p) =>
  db.deleteFrom('workflow_share').where('workflow_id', '=', p('workflow_id')),
)

export function insertWorkflow(tx: Tx, row: WorkflowTable): void {
  tx.run(insert, row)
}

/** The workflow with this id, if it belongs to the owner. */
export function findOwnedWorkflow(tx: Tx, scope: OwnerScope, id: string): WorkflowTable | undefined {
  return ifOwnedBy(tx.get(selectById, { id }), scope)
}

function ifPublic(row: WorkflowTable | undefined): WorkflowTable | undefined {
  return row?.access === 'public' ? row : undefined
}

/** The workflow with this id, if it is public. */
export function findPublicWorkflow(tx: Tx, id: string): WorkflowTable | undefined {
  return ifPublic(tx.get(selectById, { id }))
}

/** Writes the editable columns if the row is still at revision `expected`; returns whether it was. */
export function updateWorkflow(tx: Tx, row: WorkflowTable, expected: number): boolean {
  return tx.run(update, { ...row, expected }) === 1
}

/** The number of versions that are removed at once, with their graphs, which may have many megabytes. */
const CHUNK = 4

/**
 * Removes a workflow with its versions and share link, and graphs without other references. If time runs out, `purgeDeletedWorkflows` removes the
 * rest.
 */
export function deleteWorkflow(tx: Tx, row: Pick<WorkflowTable, 'id' | 'graph_sha256'>, more: TimeBudget): void {
  if (purgeWorkflow(tx, row, more)) return
  tx.run(markDeleted, row)
  deleteWorkflowShare(tx, row.id)
}

/** Removes the rest of deleted workflows, as long as there is time; true when nothing is left. */
export function purgeDeletedWorkflows(tx: Tx, more: TimeBudget): boolean {
  for (let row = findFirstDeletedWorkflow(tx); row; row = findFirstDeletedWorkflow(tx))
    if (!purgeWorkflow(tx, row, more) || !more()) return false
  return true
}

/** A damaged row stays, and does not block the rows behind it. */
function findFirstDeletedWorkflow(tx: Tx): Pick<WorkflowTable, 'id' | 'graph_sha256'> | undefined {
  return readFirstRows(tx, { table: 'workflow', statement: selectMarkedDeleted, params: {} }, 1).at(0)
}

function purgeWorkflow(
  tx: Tx,
  { id, graph_sha256 }: Pick<WorkflowTable, 'id' | 'graph_sha256'>,
  more: TimeBudget,
): boolean {
  for (;;) {
    const versions = tx.all(removeVersions, { workflow_id: id, limit: CHUNK })
    for (const sha256 of new Set(versions.map((version) => version.graph_sha256))) deleteUnusedGraph(tx, sha256)
    if (versions.length < CHUNK) break
    if (!more()) return false
  }
  tx.run(remove, { id })
  deleteUnusedGraph(tx, graph_sha256)
  return true
}

export function insertWorkflowVersion(tx: Tx, row: WorkflowVersionTable): void {
  tx.run(insertVersion, row)
}

/** Characters of versions that are read at once. A short version counts as `SHORT_VERSION` characters, because its row takes time as well. */
const READ_AT_ONCE = 65_536
const SHORT_VERSION = 256

/**
 * At most `limit` versions with a revision below `before`, the newest first. Fewer may be returned; none: there are no more. Damaged versions are
 * skipped, and do not block the versions behind them.
 */
export function listWorkflowVersions(
  tx: Tx,
  workflow_id: string,
  before: number,
  limit: number,
): WorkflowVersionTable[] {
  let left = READ_AT_ONCE
  return tx.upTo(selectVersions, { workflow_id, before, limit }, (row) => {
    left -= row.description.length + SHORT_VERSION
    return left <= 0 && tx.isSound('workflow_version', row)
  })
}

/** Adds a share link; an existing link stays as it is. */
export function insertWorkflowShare(tx: Tx, row: WorkflowShareTable): void {
  tx.run(insertShare, row)
}

export function findWorkflowShare(tx: Tx, workflow_id: string): WorkflowShareTable | undefined {
  return tx.get(selectShare, { workflow_id })
}

export function findSharedWorkflow(tx: Tx, token: string): WorkflowTable | undefined {
  const share = tx.get(selectShareByToken, { token })
  return share && tx.get(selectById, { id: share.workflow_id })
}

export function deleteWorkflowShare(tx: Tx, workflow_id: string): void {
  tx.run(removeShare, { workflow_id })
}

/** A position in a list of workflows: that of the row with these values. */
export interface WorkflowCursor {
  updated_at: string
  id: string
}

export interface WorkflowListFilter {
  /** The owner of the workflows; null: public workflows of all users. */
  scope: OwnerScope | null
  tag?: string | null | undefined
  /** Part of the name, the description or a tag, in any case. */
  q?: string | null | undefined
}

/**
 * The positions of all workflows of an owner, or of all public workflows, the last changed first: at most `limit`, behind `after`. Rows may be long,
 * so they are read one by one.
 */
export function listWorkflowPositions(
  tx: Tx,
  scope: OwnerScope | null,
  after: WorkflowCursor | null,
  limit: number | null,
): WorkflowCursor[] {
  const page = { before: after?.updated_at ?? BEHIND_ALL_TIMES, before_id: after?.id ?? '', limit: limit ?? -1 }
  if (scope === null) return tx.all(selectPublicPositions, page)
  return tx.all(selectOwnedPositions, { ...page, user_id: scope.user_id, workspace_id: scope.workspace_id })
}

/** The present workflow at a position of a list; undefined: it is removed, damaged, or does not match the filter. */
export function findWorkflowForList(
  tx: Tx,
  { scope, tag, q }: WorkflowListFilter,
  id: string,
): WorkflowTable | undefined {
  // `all` skips damaged rows, as lists do; `get` throws.
  const [found] = tx.all(selectById, { id })
  const row = scope === null ? ifPublic(found) : ifOwnedBy(found, scope)
  if (!row || (!tag && !q)) return row
  const tags = JSON.parse(row.tags) as string[]
  if (tag && !tags.includes(tag)) return undefined
  if (!q) return row
  const part = foldText(q)
  return [row.name, row.description, ...tags].some((text) => foldText(text).includes(part)) ? row : undefined
}
