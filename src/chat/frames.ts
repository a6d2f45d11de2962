// The frames that followers of a thread receive, in the contract's form.
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
import type { MessageTable } from '../db/tables/chat.ts'
import { toMessageRecord } from './contract-records.ts'

/** The last frame of a thread reports that the thread was deleted. */
export type ChatFrame =
  | TurnUpdateFrame
  | MessageFrame
  | ChatChunkFrame
  | ChatToolCallFrame
  | ChatToolResultFrame
  | ResourceChangeFrame

/**
 * Receives all frames of one thread, in order. All listeners receive the same object. `crowded` is true if the thread
 * has very many listeners.
 */
export type FrameListener = (frame: ChatFrame, crowded: boolean) => void

/**
 * `content` and `tool_calls` are the parsed values of the row, if the caller has them: parsing long texts takes time.
 */
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
