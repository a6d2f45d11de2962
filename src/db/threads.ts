// Rows of threads and of their running turns, one statement per function. Messages have a file of their own.
import { sql } from 'kysely'
import { DELETED_ROWS_OWNER, ifOwnedBy, type OwnerScope, ownerCondition } from './owner-scope.ts'
import { deleteNumberedRows, type NumberedRowStatements, readFirstRows, type TimeBudget } from './row-batches.ts'
import { statement } from './statement.ts'
import type { Tx } from './store.ts'
import type { DraftTable, ThreadTable, TurnTable } from './tables/chat.ts'

const insert = statement<Omit<ThreadTable, 'key'>>()((db, p) =>
  db.insertInto('thread').values({
    key: sql<number>`null`,
    id: p('id'),
    user_id: p('user_id'),
    workspace_id: p('workspace_id'),
    title: p('title'),
    last_sequence: p('last_sequence'),
    size: p('size'),
    spoken_at: p('spoken_at'),
    created_at: p('created_at'),
    updated_at: p('updated_at'),
  }),
)

const selectById = statement<{ id: string }>()((db, p) => db.selectFrom('thread').selectAll().where('id', '=', p('id')))

const selectByKey = statement<{ key: number }>()((db, p) =>
  db.selectFrom('thread').selectAll().where('key', '=', p('key')).where('user_id', '<>', sql.lit(DELETED_ROWS_OWNER)),
)

const count = statement<OwnerScope>()((db, p) =>
  db.selectFrom('thread').select(sql<number>`count(*)`.as('count')).where(ownerCondition(p)),
)

const rename = statement<Pick<ThreadTable, 'id' | 'title' | 'updated_at'>>()((db, p) =>
  db
    .updateTable('thread')
    .set({ title: p('title'), updated_at: p('updated_at') })
    .where('id', '=', p('id')),
)

type ThreadGrowth = Pick<ThreadTable, 'key' | 'title' | 'last_sequence' | 'size' | 'spoken_at' | 'updated_at'>

const grow = statement<ThreadGrowth>()((db, p) =>
  db
    .updateTable('thread')
    .set({
      title: p('title'),
      last_sequence: p('last_sequence'),
      size: p('size'),
      spoken_at: p('spoken_at'),
      updated_at: p('updated_at'),
    })
    .where('key', '=', p('key')),
)

const remove = statement<{ key: number }>()((db, p) => db.deleteFrom('thread').where('key', '=', p('key')))

const markDeleted = statement<{ key: number }>()((db, p) =>
  db
    .updateTable('thread')
    .set({ user_id: sql.lit(DELETED_ROWS_OWNER), workspace_id: null })
    .where('key', '=', p('key')),
)

const selectMarkedDeleted = statement()((db) =>
  db.selectFrom('thread').select('key').where('user_id', '=', sql.lit(DELETED_ROWS_OWNER)),
)

const MESSAGES: NumberedRowStatements = {
  first: statement<{ key: number }>()((db, p) =>
    db
      .selectFrom('message')
      .select((eb) => eb.fn.min<number | null>('sequence').as('number'))
      .where('thread_key', '=', p('key')),
  ),
  deleteRow: statement<{ key: number; number: number }>()((db, p) =>
    db.deleteFrom('message').where('thread_key', '=', p('key')).where('sequence', '=', p('number')),
  ),
}

const selectBehind = statement<OwnerScope & ThreadCursor>()((db, p) =>
  db
    .selectFrom('thread')
    .selectAll()
    .where(ownerCondition(p))
    .where(sql<boolean>`(spoken_at, id) < (${p('spoken_at')}, ${p('id')})`)
    .orderBy('spoken_at', 'desc')
    .orderBy('id', 'desc'),
)

/** Exported for a test of the query plan. */
export const THREAD_LIST_STATEMENT = selectBehind

const insertTurn = statement<TurnTable>()((db, p) =>
  db.insertInto('turn').values({
    thread_key: p('thread_key'),
    id: p('id'),
    provider: p('provider'),
    model: p('model'),
    workflow_id: p('workflow_id'),
    job_id: p('job_id'),
    created_at: p('created_at'),
  }),
)

/** What may change of a running turn. */
export type TurnState = Omit<TurnTable, 'created_at'>

const updateTurn = statement<TurnState>()((db, p) =>
  db
    .updateTable('turn')
    .set({
      provider: p('provider'),
      model: p('model'),
      workflow_id: p('workflow_id'),
      job_id: p('job_id'),
    })
    .where('thread_key', '=', p('thread_key'))
    .where('id', '=', p('id')),
)

const selectTurn = statement<{ thread_key: number }>()((db, p) =>
  db.selectFrom('turn').selectAll().where('thread_key', '=', p('thread_key')),
)

const selectTurns = statement()((db) => db.selectFrom('turn').selectAll().orderBy('thread_key'))

const removeTurn = statement<{ thread_key: number }>()((db, p) =>
  db.deleteFrom('turn').where('thread_key', '=', p('thread_key')),
)

const insertDraft = statement<DraftTable>()((db, p) =>
  db.insertInto('draft').values({ thread_key: p('thread_key'), at: p('at'), text: p('text') }),
)

const selectDrafts = statement<{ thread_key: number }>()((db, p) =>
  db.selectFrom('draft').select('text').where('thread_key', '=', p('thread_key')).orderBy('at'),
)

const removeDrafts = statement<{ thread_key: number }>()((db, p) =>
  db.deleteFrom('draft').where('thread_key', '=', p('thread_key')),
)

export function insertThread(tx: Tx, row: Omit<ThreadTable, 'key'>): void {
  tx.run(insert, row)
}

/** The thread with this id, if it belongs to the owner. */
export function findOwnedThread(tx: Tx, scope: OwnerScope, id: string): ThreadTable | undefined {
  return ifOwnedBy(tx.get(selectById, { id }), scope)
}

/** Without a check of the owner, for running turns, which continue after their caller has left. */
export function findThreadByKey(tx: Tx, key: number): ThreadTable | undefined {
  return tx.get(selectByKey, { key })
}

export function countThreads(tx: Tx, { user_id, workspace_id }: OwnerScope): number {
  return tx.get(count, { user_id, workspace_id })?.count ?? 0
}

/** Whether the owner has the thread. */
export function renameThread(
  tx: Tx,
  scope: OwnerScope,
  row: Pick<ThreadTable, 'id' | 'title' | 'updated_at'>,
): boolean {
  return findOwnedThread(tx, scope, row.id) !== undefined && tx.run(rename, row) === 1
}

/** Updates a thread after a message was added. */
export function updateThreadGrowth(tx: Tx, growth: ThreadGrowth): void {
  tx.run(grow, growth)
}

/**
 * Removes a thread with its messages and turn. Returns whether the owner had it. If time runs out, `purgeDeletedThreads` removes the rest of the
 * messages.
 */
export function deleteThread(tx: Tx, scope: OwnerScope, id: string, more: TimeBudget): boolean {
  const thread = findOwnedThread(tx, scope, id)
  if (!thread) return false
  const { key } = thread
  deleteTurn(tx, key)
  if (!purgeThread(tx, key, more)) tx.run(markDeleted, { key })
  return true
}

/** Removes the rest of deleted threads, as long as there is time; true when nothing is left. */
export function purgeDeletedThreads(tx: Tx, more: TimeBudget): boolean {
  for (let row = findFirstDeletedThread(tx); row; row = findFirstDeletedThread(tx))
    if (!purgeThread(tx, row.key, more) || !more()) return false
  return true
}

/** A damaged row stays, and does not block the rows behind it. */
function findFirstDeletedThread(tx: Tx): Pick<ThreadTable, 'key'> | undefined {
  return readFirstRows(tx, { table: 'thread', statement: selectMarkedDeleted, params: {} }, 1).at(0)
}

function purgeThread(tx: Tx, key: number, more: TimeBudget): boolean {
  if (!deleteNumberedRows(tx, MESSAGES, key, more)) return false
  tx.run(remove, { key })
  return true
}

/** Begins a turn. The thread has no other. */
export function startTurn(tx: Tx, row: TurnTable): void {
  tx.run(insertTurn, row)
}

/** Stores the state of a turn and the next part of its text, unless the turn has ended. */
export function saveTurnDraft(tx: Tx, turn: TurnState, { at, text }: Omit<DraftTable, 'thread_key'>): void {
  const { thread_key } = turn
  if (tx.run(updateTurn, turn) === 1 && text !== '') tx.run(insertDraft, { thread_key, at, text })
}

/** The turn's message is stored, so its draft is removed for the next message. */
export function clearTurnDrafts(tx: Tx, turn: TurnState): void {
  tx.run(updateTurn, turn)
  tx.run(removeDrafts, { thread_key: turn.thread_key })
}

/** The text so far of the message that the turn of a thread writes. */
export function readDraftText(tx: Tx, thread_key: number): string {
  return tx
    .all(selectDrafts, { thread_key })
    .map(({ text }) => text)
    .join('')
}

/** The running turn of a thread, or one that an earlier process left there. */
export function findTurn(tx: Tx, thread_key: number): TurnTable | undefined {
  return tx.get(selectTurn, { thread_key })
}

export function listUnfinishedTurns(tx: Tx): TurnTable[] {
  return tx.all(selectTurns, {})
}

export function deleteTurn(tx: Tx, thread_key: number): void {
  tx.run(removeTurn, { thread_key })
}

/** The position of a page of threads: it begins after the row with these values. */
export type ThreadCursor = Pick<ThreadTable, 'spoken_at' | 'id'>

/** No time is greater. */
const BEFORE_ALL: ThreadCursor = { spoken_at: '~', id: '' }

/** Threads of the owner after a position, the thread with the newest message first: at most `limit`; none: there are no more. */
export function listThreadsAfter(
  tx: Tx,
  { user_id, workspace_id }: OwnerScope,
  after: ThreadCursor | null,
  limit: number,
): ThreadTable[] {
  const { spoken_at, id } = after ?? BEFORE_ALL
  const params = { user_id, workspace_id, spoken_at, id }
  return readFirstRows(tx, { table: 'thread', statement: selectBehind, params }, limit)
}
