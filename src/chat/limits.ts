// The limits of chat.

export interface ChatLimits {
  /** Per owner. */
  readonly threads: number
  /** Per thread. A turn that starts below the limit may exceed it. */
  readonly messages: number
  /** Of all messages of one thread, in characters. */
  readonly thread_size: number
  /** Of one message, in characters. */
  readonly message_size: number
  /** Active turns of one user in all workspaces together. */
  readonly turns: number
  /** Model calls of one turn; the last call may not use tools. */
  readonly steps: number
  /** Tool calls in one answer. */
  readonly calls: number
  /** The time limit of a tool, in milliseconds. */
  readonly tool_ms: number
  /** How long a partial message may stay unstored, in milliseconds and in characters. */
  readonly draft_ms: number
  readonly draft_characters: number
  /** What a model receives of a thread, in messages and in characters. */
  readonly sent_messages: number
  readonly sent_size: number
  /**
   * Parallel model calls of all users for threads of more than twice `sent_size`. For these threads the last exchange
   * and the last instruction are always sent, and each may be as long as a message.
   */
  readonly long_turns: number
}

export const CHAT_LIMITS: ChatLimits = {
  threads: 10_000,
  messages: 10_000,
  thread_size: 67_108_864,
  message_size: 16_777_216,
  turns: 64,
  steps: 25,
  calls: 64,
  tool_ms: 600_000,
  draft_ms: 500,
  draft_characters: 4_096,
  sent_messages: 1_000,
  sent_size: 2_000_000,
  long_turns: 8,
}
