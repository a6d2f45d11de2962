// What is told of a thread while it lives, in the contract's form.
import type {
  ChatChunkFrame,
  ChatToolCallFrame,
  ChatToolResultFrame,
  Message,
  MessageContent,
  MessageFrame,
  ResourceChangeFrame,
  TurnUpdateFrame,
} from '../../generated/types.ts'
import type { MessageTable } from '../db/schema.ts'
import { toMessageRecord } from './contract-records.ts'

/** The last one of a thread is the change of its row that says that it is deleted. */
export type ChatFrame =
  | TurnUpdateFrame
  | MessageFrame
  | ChatChunkFrame
  | ChatToolCallFrame
  | ChatToolResultFrame
  | ResourceChangeFrame

/** Hears of everything in one thread, in its order. The same frame is told to all; `crowded`: to very many. */
export type FrameListener = (frame: ChatFrame, crowded: boolean) => void

/** `content` and `tool_calls` are those of the row, where they are known: long ones take their time to be parsed. */
export function createMessageFrame(
  thread_id: string,
  row: MessageTable,
  content?: MessageContent,
  tool_calls?: Message['tool_calls'],
): MessageFrame {
  const message: Message = toMessageRecord(thread_id, row, content, tool_calls)
  return { type: 'message', thread_id, turn_id: row.turn_id, message }
}

export function createDeletedFrame(id: string): ResourceChangeFrame {
  return { type: 'resource_change', event: 'deleted', resource_type: 'thread', resource: { id, etag: null } }
}
