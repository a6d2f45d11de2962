// What a model is sent of a thread: its messages in order, each call of a tool with its result, and of a long thread the newest exchanges.
import type { ChatMessage, MessageContent, ToolCall } from '../../generated/types.ts'
import { instructionsBefore, messagesBefore } from '../db/messages.ts'
import type { MessageTable } from '../db/schema.ts'
import type { Tx } from '../db/store.ts'
import { sizeOf } from './appending.ts'
import type { ChatLimits } from './limits.ts'

const PAGE = 100
/** That stand before the exchanges that are sent. */
const MOST_INSTRUCTIONS = 100
/** For calls of a turn that was cut before they ended. */
const NO_RESULT = 'Error: the call was interrupted before it gave a result.'

type Bounds = Pick<ChatLimits, 'sent_messages' | 'sent_size'>

/** The conversation so far. Instructions are always part of it, of very many the newest. */
export function conversationOf(tx: Tx, thread_key: number, bounds: Bounds): ChatMessage[] {
  const rows = newest(tx, thread_key, bounds)
  const first = rows[0]?.sequence ?? 1
  return paired([...(first > 1 ? instructionsBefore(tx, thread_key, first, MOST_INSTRUCTIONS) : []), ...rows])
}

/** The newest exchanges that fit, from the user's message on; the last one in any case. */
function newest(tx: Tx, thread_key: number, { sent_messages, sent_size }: Bounds): MessageTable[] {
  const kept: MessageTable[] = []
  let exchange: MessageTable[] = []
  let count = 0
  let size = 0
  for (const row of backwards(tx, thread_key)) {
    exchange.push(row)
    count++
    size += sizeOf(row)
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

function* backwards(tx: Tx, thread_key: number): Generator<MessageTable, void, void> {
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const page = messagesBefore(tx, thread_key, before, PAGE)
    yield* page
    if (page.length < PAGE) return
    before = page.at(-1)!.sequence
  }
}

/** Results stand right behind the answer that asked for them; a call without one gets one that says so. */
function paired(rows: readonly MessageTable[]): ChatMessage[] {
  const messages: ChatMessage[] = []
  const pending = new Map<string, true>()
  const settle = () => {
    for (const tool_call_id of pending.keys()) messages.push({ role: 'tool', tool_call_id, content: NO_RESULT })
    pending.clear()
  }
  for (const row of rows) {
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
