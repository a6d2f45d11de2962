// Builds the conversation that a model receives: the messages of a thread in order, each tool call with its result. Of
// a long thread only the newest exchanges are sent.
import type { ChatMessage, MessageContent, ToolCall } from '../../generated/types.ts'
import { listMessagesBefore, listSystemMessagesBefore, messageSize } from '../db/messages.ts'
import type { Store } from '../db/store.ts'
import type { MessageTable } from '../db/tables/chat.ts'
import type { Steps } from '../shared/time-slices.ts'
import type { ChatLimits } from './limits.ts'

const PAGE_SIZE = 100
/** The limit of instructions before the sent exchanges. */
const MAX_INSTRUCTIONS = 100
/** The result of calls that an interrupted turn left open. Their work may go on: a workflow is a job of its own. */
const NO_RESULT =
  'Error: the call was interrupted before it gave a result. It may have taken effect, or still do so. Find out what came of it before you make it again.'

type ConversationBounds = Pick<ChatLimits, 'sent_messages' | 'sent_size'>
type Reader = Pick<Store, 'read'>

/**
 * The conversation so far, in steps. Instructions are always part of it; if they are many or long, the newest.
 * Meanwhile messages may only be appended, or the thread may be deleted.
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

/** The newest instructions before a sequence that fit, in order; always the last instruction. */
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

/** The newest exchanges that fit, each starting with the user's message; always the last exchange. */
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
  // The rest has no message of the user before it, such as instructions.
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

/** Each result follows the answer with its call. A call without a result gets a result that says so. */
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
      // The answer with the call may be too old to be sent.
      if (!pending.delete(row.tool_call_id ?? '')) continue
      messages.push({ role: 'tool', tool_call_id: row.tool_call_id!, content: content as string })
      continue
    }
    settle()
    const tool_calls = JSON.parse(row.tool_calls ?? 'null') as ToolCall[] | null
    for (const { id } of tool_calls ?? []) pending.set(id, true)
    // An assistant message without content comes from a model that was interrupted early.
    if (row.role === 'assistant' && tool_calls === null && (content === null || content.length === 0)) continue
    messages.push({ role: row.role, content, ...(tool_calls === null ? {} : { tool_calls }) } as ChatMessage)
  }
  settle()
  return messages
}
