// Converts rows of threads and messages to records of the contract.
import type { Message, MessageContent, Thread } from '../../generated/types.ts'
import type { MessageTable, ThreadTable } from '../db/tables/chat.ts'

export function toThreadRecord(row: Omit<ThreadTable, 'key'>, running: boolean): Thread {
  const { id, user_id, workspace_id, title, last_sequence, created_at, updated_at } = row
  return {
    id,
    user_id,
    workspace_id,
    title,
    status: running ? 'running' : 'idle',
    last_sequence,
    created_at,
    updated_at,
  }
}

/** `content` and `tool_calls` are the parsed values of the row, if the caller has them. */
export function toMessageRecord(
  thread_id: string,
  row: MessageTable,
  content: MessageContent = parseColumn(row.content),
  tool_calls: Message['tool_calls'] = parseColumn(row.tool_calls),
): Message {
  const { id, sequence, role, tool_call_id, status, error, provider, model, workflow_id, job_id, created_at } = row
  return {
    id,
    thread_id,
    sequence,
    role,
    content,
    tool_calls,
    tool_call_id,
    status,
    error,
    provider,
    model,
    workflow_id,
    job_id,
    usage: parseColumn(row.usage),
    created_at,
  }
}

function parseColumn<T>(text: string | null): T | null {
  return text === null ? null : (JSON.parse(text) as T)
}
