// Messages become rows: numbered without gaps in the transaction that stores them, and what a crash left of a turn among them.
import type { CompletionUsage, MessageContent, ToolCall } from '../../generated/types.ts'
import { deleteMessage, insertMessage, messageSize } from '../db/messages.ts'
import { type OwnerScope, userShareKey } from '../db/owner-scope.ts'
import type { MessageTable, TurnTable } from '../db/schema.ts'
import type { Tx } from '../db/store.ts'
import { deleteTurn, findThreadByKey, readDraftText, updateThreadGrowth } from '../db/threads.ts'
import { ServiceError } from '../errors.ts'
import type { Platform } from '../platform.ts'
import { stringifyInSlices } from '../shared/incremental-json.ts'
import type { TimeSliceScheduler } from '../shared/time-slices.ts'
import type { ChatLimits } from './limits.ts'
import { createTitle } from './threads/title.ts'

/** What is said, by whom. What is not named is null; the status is then `completed`. */
export interface NewMessage extends Partial<Omit<MessageTable, 'content' | 'tool_calls' | 'usage'>> {
  readonly role: MessageTable['role']
  readonly content: MessageContent
  readonly tool_calls?: readonly ToolCall[] | null
  readonly usage?: CompletionUsage | null
}

/** A message before it has its place. */
export interface UnsequencedMessage extends Omit<MessageTable, 'sequence'> {
  /** What its thread is called from now on, if it has no title. */
  readonly title: string | null
}

/** The JSON text of what is said, or of the calls that are asked for: of a long one made in time slices of its user. */
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

/** What `contentText` gives for the content of a message and for its calls: a promise where one of them is long. */
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

/** `id` and time are the same however often the unit of work runs. `text`, `calls`: what `contentText` gave for the content, and for the calls. */
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

/** Stores a message behind the last one of its thread. @throws NOT_FOUND where the thread is gone */
export function appendMessage(tx: Tx, message: UnsequencedMessage): MessageTable {
  const thread = findThreadByKey(tx, message.thread_key)
  if (!thread) throw new ServiceError('NOT_FOUND')
  const { title, ...said } = message
  const row = { ...said, sequence: thread.last_sequence + 1 }
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
 * Writes a message and removes it again. Where this is committed, the message can be stored: nothing refuses it, and the disk has room for it.
 * @throws NOT_FOUND where the thread is gone
 */
export function tryAppendMessage(tx: Tx, message: UnsequencedMessage): void {
  const thread = findThreadByKey(tx, message.thread_key)
  if (!thread) throw new ServiceError('NOT_FOUND')
  const row = { ...message, sequence: thread.last_sequence + 1 }
  insertMessage(tx, row)
  updateThreadGrowth(tx, thread)
  deleteMessage(tx, row)
}

/** Stores what there is of a turn that nobody goes on with, as a message that was interrupted. `id`, `at`: of the message. */
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

/** Looks whether somebody may add a message to a thread. @throws REQUEST_TOO_LARGE, CONFLICT */
export function refuseFullThread(tx: Tx, message: UnsequencedMessage, limits: ChatLimits): void {
  const size = messageSize(message)
  if (size > limits.message_size) {
    const text = `A message takes at most ${limits.message_size} characters. Larger files belong into assets.`
    throw new ServiceError('REQUEST_TOO_LARGE', { message: text })
  }
  const thread = findThreadByKey(tx, message.thread_key)
  if (!thread) return
  if (thread.last_sequence >= limits.messages || thread.size + size > limits.thread_size) {
    const most = `${limits.messages} messages, or ${limits.thread_size} characters`
    throw new ServiceError('CONFLICT', { message: `The thread is full: it takes at most ${most}. Begin another one.` })
  }
}
