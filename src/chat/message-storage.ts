// Stores messages as rows: numbered without gaps in the transaction that stores them, including partial messages after
// a crash.
import type { CompletionUsage, MessageContent, ToolCall } from '../../generated/types.ts'
import { deleteMessage, insertMessage, messageSize } from '../db/messages.ts'
import { type OwnerScope, userShareKey } from '../db/owner-scope.ts'
import type { Tx } from '../db/store.ts'
import type { MessageTable, TurnTable } from '../db/tables/chat.ts'
import { deleteTurn, findThreadByKey, readDraftText, updateThreadGrowth } from '../db/threads.ts'
import { ServiceError } from '../errors.ts'
import type { Platform } from '../platform.ts'
import { stringifyInSlices } from '../shared/incremental-json.ts'
import type { TimeSliceScheduler } from '../shared/time-slices.ts'
import type { ChatLimits } from './limits.ts'
import { createTitle } from './threads/title.ts'

/** A message to store. Missing fields are null, and `status` is `completed`. */
export interface NewMessage extends Partial<Omit<MessageTable, 'content' | 'tool_calls' | 'usage'>> {
  readonly role: MessageTable['role']
  readonly content: MessageContent
  readonly tool_calls?: readonly ToolCall[] | null
  readonly usage?: CompletionUsage | null
}

/** A message without its sequence number. */
export interface UnsequencedMessage extends Omit<MessageTable, 'sequence'> {
  /** The new title of the thread, if the thread has none. */
  readonly title: string | null
}

/** The JSON text of a message's content or its tool calls; a long text is made in time slices of the user. */
export function encodeContent(
  slices: Pick<TimeSliceScheduler, 'run'>,
  owner: OwnerScope,
  content: MessageContent | readonly ToolCall[],
): string | null | Promise<string> {
  return content === null ? null : stringifyInSlices(slices, userShareKey(owner), content)
}

/** The JSON texts of a message. */
export interface MessageTexts {
  readonly content: string | null
  readonly tool_calls: string | null
}

/** Encodes the content and the tool calls of a message. Returns a promise if one of them is long. */
export function encodeMessageTexts(
  slices: Pick<TimeSliceScheduler, 'run'>,
  owner: OwnerScope,
  said: Pick<NewMessage, 'content' | 'tool_calls'>,
): MessageTexts | Promise<MessageTexts> {
  const content = encodeContent(slices, owner, said.content)
  const tool_calls = encodeContent(slices, owner, said.tool_calls ?? null)
  if (!(content instanceof Promise) && !(tool_calls instanceof Promise)) return { content, tool_calls }
  return Promise.all([content, tool_calls]).then(([text, calls]) => ({ content: text, tool_calls: calls }))
}

/** `id` and time stay the same if the transaction is repeated. `text` and `calls` are results of `encodeContent`. */
export function createUnsequencedMessage(
  thread_key: number,
  said: NewMessage,
  platform: Platform,
  text = said.content === null ? null : JSON.stringify(said.content),
  calls = said.tool_calls ? JSON.stringify(said.tool_calls) : null,
): UnsequencedMessage {
  const { content, tool_calls: _, usage = null, ...more } = said
  return {
    thread_key,
    id: platform.id('message'),
    turn_id: null,
    tool_call_id: null,
    status: 'completed',
    error: null,
    provider: null,
    model: null,
    workflow_id: null,
    job_id: null,
    created_at: platform.timestamp(),
    ...more,
    title: more.role === 'user' ? createTitle(content) : null,
    content: text,
    tool_calls: calls,
    usage: usage === null ? null : JSON.stringify(usage),
  }
}

/** Appends a message to its thread. @throws NOT_FOUND if the thread was deleted */
export function appendMessage(tx: Tx, message: UnsequencedMessage): MessageTable {
  const thread = findThreadByKey(tx, message.thread_key)
  if (!thread) throw new ServiceError('NOT_FOUND')
  const { title, ...columns } = message
  const row = { ...columns, sequence: thread.last_sequence + 1 }
  insertMessage(tx, row)
  updateThreadGrowth(tx, {
    key: thread.key,
    title: thread.title ?? title,
    last_sequence: row.sequence,
    size: thread.size + messageSize(row),
    spoken_at: row.created_at,
    updated_at: row.created_at,
  })
  return row
}

/**
 * Writes a message and removes it again. If the transaction commits, the message can be stored: no rule refuses it, and
 * the disk has room.
 * @throws NOT_FOUND if the thread was deleted
 */
export function tryAppendMessage(tx: Tx, message: UnsequencedMessage): void {
  const thread = findThreadByKey(tx, message.thread_key)
  if (!thread) throw new ServiceError('NOT_FOUND')
  const row = { ...message, sequence: thread.last_sequence + 1 }
  insertMessage(tx, row)
  updateThreadGrowth(tx, thread)
  deleteMessage(tx, row)
}

/**
 * Stores the partial text of an abandoned turn as an interrupted message. `id` and `at` are the id and the time of the
 * message.
 */
export function appendInterrupted(tx: Tx, turn: TurnTable, { id, at }: { id: string; at: string }): MessageTable {
  const { thread_key, id: turn_id, provider, model, workflow_id, job_id } = turn
  const text = readDraftText(tx, thread_key)
  deleteTurn(tx, thread_key)
  return appendMessage(tx, {
    thread_key,
    id,
    turn_id,
    role: 'assistant',
    content: JSON.stringify(text),
    tool_calls: null,
    tool_call_id: null,
    status: 'interrupted',
    error: null,
    provider,
    model,
    workflow_id,
    job_id,
    usage: null,
    title: null,
    created_at: at,
  })
}

/** @throws REQUEST_TOO_LARGE, CONFLICT */
export function refuseFullThread(tx: Tx, message: UnsequencedMessage, limits: ChatLimits): void {
  const size = messageSize(message)
  if (size > limits.message_size) {
    const text = `A message takes at most ${limits.message_size} characters. Store larger files as assets.`
    throw new ServiceError('REQUEST_TOO_LARGE', { message: text })
  }
  const thread = findThreadByKey(tx, message.thread_key)
  if (!thread) return
  if (thread.last_sequence >= limits.messages || thread.size + size > limits.thread_size) {
    const most = `${limits.messages} messages, or ${limits.thread_size} characters`
    throw new ServiceError('CONFLICT', {
      message: `The thread is full: it takes at most ${most}. Start another thread.`,
    })
  }
}
