// Tables of threads, their messages and running turns.

export interface ThreadTable {
  /** Identifies the thread inside the database. */
  key: number
  id: string
  user_id: string
  workspace_id: string | null
  title: string | null
  /** The sequence of the last message; 0 in an empty thread. */
  last_sequence: number
  /** Characters of all messages. */
  size: number
  /** When the last message was added, or the thread created. */
  spoken_at: string
  created_at: string
  updated_at: string
}

/** A message of a thread. `content`, `tool_calls` and `usage` are JSON. */
export interface MessageTable {
  thread_key: number
  sequence: number
  id: string
  turn_id: string | null
  role: 'system' | 'user' | 'assistant' | 'tool'
  content: string | null
  tool_calls: string | null
  tool_call_id: string | null
  status: 'completed' | 'interrupted' | 'failed'
  error: string | null
  provider: string | null
  model: string | null
  workflow_id: string | null
  job_id: string | null
  usage: string | null
  created_at: string
}

/** A running turn. */
export interface TurnTable {
  thread_key: number
  id: string
  provider: string | null
  model: string | null
  workflow_id: string | null
  job_id: string | null
  created_at: string
}

/** A part of the unfinished message of a turn; `at`: the number of characters before it. */
export interface DraftTable {
  thread_key: number
  at: number
  text: string
}

export interface ChatTables {
  thread: ThreadTable
  message: MessageTable
  turn: TurnTable
  draft: DraftTable
}
