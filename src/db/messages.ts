// Rows of the messages of threads, one statement per function. Callers that have the key of a thread have checked its owner.
import { sql } from 'kysely'
import { statement } from './statement.ts'
import type { Tx } from './store.ts'
import type { MessageTable } from './tables/chat.ts'

const insert = statement<MessageTable>()((db, p) =>
  db.insertInto('message').values({
    thread_key: p('thread_key'),
    sequence: p('sequence'),
    id: p('id'),
    turn_id: p('turn_id'),
    role: p('role'),
    content: p('content'),
    tool_calls: p('tool_calls'),
    tool_call_id: p('tool_call_id'),
    status: p('status'),
    error: p('error'),
    provider: p('provider'),
    model: p('model'),
    workflow_id: p('workflow_id'),
    job_id: p('job_id'),
    usage: p('usage'),
    created_at: p('created_at'),
  }),
)

const selectAfter = statement<{ thread_key: number; after: number; limit: number }>()((db, p) =>
  db
    .selectFrom('message')
    .selectAll()
    .where('thread_key', '=', p('thread_key'))
    .where('sequence', '>', p('after'))
    .orderBy('sequence')
    .limit(p('limit')),
)

const selectBefore = statement<{ thread_key: number; before: number; limit: number }>()((db, p) =>
  db
    .selectFrom('message')
    .selectAll()
    .where('thread_key', '=', p('thread_key'))
    .where('sequence', '<', p('before'))
    .orderBy('sequence', 'desc')
    .limit(p('limit')),
)

const selectInstructions = statement<{ thread_key: number; before: number; limit: number }>()((db, p) =>
  db
    .selectFrom('message')
    .selectAll()
    .where('thread_key', '=', p('thread_key'))
    .where('sequence', '<', p('before'))
    .where('role', '=', sql.lit('system'))
    .orderBy('sequence', 'desc')
    .limit(p('limit')),
)

const remove = statement<{ thread_key: number; sequence: number }>()((db, p) =>
  db.deleteFrom('message').where('thread_key', '=', p('thread_key')).where('sequence', '=', p('sequence')),
)

/** In characters. */
const READ_AT_ONCE = 262_144

/** Characters of a message's content and tool calls. */
export function messageSize({ content, tool_calls }: Pick<MessageTable, 'content' | 'tool_calls'>): number {
  return (content?.length ?? 0) + (tool_calls?.length ?? 0)
}

export function insertMessage(tx: Tx, row: MessageTable): void {
  tx.run(insert, row)
}

export function deleteMessage(tx: Tx, { thread_key, sequence }: Pick<MessageTable, 'thread_key' | 'sequence'>): void {
  tx.run(remove, { thread_key, sequence })
}

/** At most `limit` messages behind the sequence `after`, the oldest first. Fewer are returned where they are large; none: there are no more. */
export function listMessagesAfter(tx: Tx, thread_key: number, after: number, limit: number): MessageTable[] {
  return tx.upTo(selectAfter, { thread_key, after, limit }, startReadLimit())
}

/** The same before the sequence `before`, the newest first. */
export function listMessagesBefore(tx: Tx, thread_key: number, before: number, limit: number): MessageTable[] {
  return tx.upTo(selectBefore, { thread_key, before, limit }, startReadLimit())
}

/** The same for messages of the role `system`. */
export function listSystemMessagesBefore(tx: Tx, thread_key: number, before: number, limit: number): MessageTable[] {
  return tx.upTo(selectInstructions, { thread_key, before, limit }, startReadLimit())
}

/** Tells with which row the limit of one read is reached. */
function startReadLimit(): (row: MessageTable) => boolean {
  let characters = 0
  return (row) => {
    characters += messageSize(row)
    return characters > READ_AT_ONCE
  }
}
