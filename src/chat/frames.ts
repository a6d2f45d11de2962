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
import { messageRecord } from './records.ts'

/** The last one of a thread is the change of its row that says that it is deleted. */
export type ChatFrame =
  | TurnUpdateFrame
  | MessageFrame
  | ChatChunkFrame
  | ChatToolCallFrame
  | ChatToolResultFrame
  | ResourceChangeFrame

/** Hears of everything in one thread, in its order. The same frame is told to all; `crowded`: to very many. */
export type Listener = (frame: ChatFrame, crowded: boolean) => void

/** `content` is that of the row, where it is known: a long one takes its time to be parsed. */
export function messageFrame(thread_id: string, row: MessageTable, content?: MessageContent): MessageFrame {
  const message: Message = messageRecord(thread_id, row, content)
  return { type: 'message', thread_id, turn_id: row.turn_id, message }
}

export function deletedFrame(id: string): ResourceChangeFrame {
  return { type: 'resource_change', event: 'deleted', resource_type: 'thread', resource: { id, etag: null } }
}
