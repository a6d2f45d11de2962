// What a model is sent of a thread: its messages in order, each call of a tool with its result, and of a long thread the newest exchanges.
import type { ChatMessage, MessageContent, ToolCall } from '../../generated/types.ts'
import { listMessagesBefore, listSystemMessagesBefore, messageSize } from '../db/messages.ts'
import type { MessageTable } from '../db/schema.ts'
import type { Store } from '../db/store.ts'
import type { Steps } from '../shared/time-slices.ts'
import type { ChatLimits } from './limits.ts'

const PAGE_SIZE = 100
/** That stand before the exchanges that are sent. */
const MAX_INSTRUCTIONS = 100
/** For calls of a turn that was cut before they ended. What they had begun goes on: a workflow is a job of its own, which no cut ends. */
const NO_RESULT =
  'Error: the call was interrupted before it gave a result. It may have taken effect, or still do so. Find out what came of it before you make it again.'

type ConversationBounds = Pick<ChatLimits, 'sent_messages' | 'sent_size'>
type Reader = Pick<Store, 'read'>

/**
 * The conversation so far, in steps. Instructions are always part of it, of very many or very long ones the newest. Meanwhile messages may only be added behind it, or the thread
 * be deleted.
 */
export function* readConversationSteps(
  store: Reader,
  thread_key: number,
  bounds: ConversationBounds,
): Steps<ChatMessage[]> {
  const rows = yield* readNewestSteps(store, thread_key, bounds)
  const instructions = yield* readInstructionsSteps(store, thread_key, rows[0]?.sequence ?? 1, bounds)
  return yield* pairToolResultsSteps([...instructions, ...rows])
}

/** The newest instructions before a sequence that fit, in their order; the last one in any case. */
function* readInstructionsSteps(
  store: Reader,
  thread_key: number,
  first: number,
  { sent_size }: ConversationBounds,
): Steps<MessageTable[]> {
  const found: MessageTable[] = []
  let size = 0
  for (let before = first; before > 1 && found.length < MAX_INSTRUCTIONS; before = found.at(-1)!.sequence) {
    const page = store.read((tx) => listSystemMessagesBefore(tx, thread_key, before, MAX_INSTRUCTIONS - found.length))
    if (page.length === 0) break
    for (const row of page) {
      size += messageSize(row)
      if (size > sent_size && found.length > 0) return found.reverse()
      found.push(row)
    }
    yield
  }
  return found.reverse()
}

/** The newest exchanges that fit, from the user's message on; the last one in any case. */
function* readNewestSteps(
  store: Reader,
  thread_key: number,
  { sent_messages, sent_size }: ConversationBounds,
): Steps<MessageTable[]> {
  const kept: MessageTable[] = []
  let exchange: MessageTable[] = []
  let count = 0
  let size = 0
  for (const row of readBackwards(store, thread_key)) {
    yield
    exchange.push(row)
    count++
    size += messageSize(row)
    const full = count > sent_messages || size > sent_size
    if (full && kept.length > 0) return kept.reverse()
    if (row.role !== 'user') continue
    kept.push(...exchange)
    exchange = []
    if (full) break
  }
  // What stands before the first message of the user: instructions, for instance.
  return [...kept, ...exchange].reverse()
}

function* readBackwards(store: Reader, thread_key: number): Generator<MessageTable, void, void> {
  for (let before = Number.MAX_SAFE_INTEGER; before > 1; ) {
    const page = store.read((tx) => listMessagesBefore(tx, thread_key, before, PAGE_SIZE))
    if (page.length === 0) return
    yield* page
    before = page.at(-1)!.sequence
  }
}

/** Results stand right behind the answer that asked for them; a call without one gets one that says so. */
function* pairToolResultsSteps(rows: readonly MessageTable[]): Steps<ChatMessage[]> {
  const messages: ChatMessage[] = []
  const pending = new Map<string, true>()
  const settle = () => {
    for (const tool_call_id of pending.keys()) messages.push({ role: 'tool', tool_call_id, content: NO_RESULT })
    pending.clear()
  }
  for (const row of rows) {
    yield
    const content = JSON.parse(row.content ?? 'null') as MessageContent
    if (row.role === 'tool') {
      // Its call may have been left behind.
      if (!pending.delete(row.tool_call_id ?? '')) continue
      messages.push({ role: 'tool', tool_call_id: row.tool_call_id!, content: content as string })
      continue
    }
    settle()
    const tool_calls = JSON.parse(row.tool_calls ?? 'null') as ToolCall[] | null
    for (const { id } of tool_calls ?? []) pending.set(id, true)
    // A model that was cut before it said anything has said nothing.
    if (row.role === 'assistant' && tool_calls === null && (content === null || content.length === 0)) continue
    messages.push({ role: row.role, content, ...(tool_calls === null ? {} : { tool_calls }) } as ChatMessage)
  }
  settle()
  return messages
}
