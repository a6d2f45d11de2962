// How much chat there may be.

export interface ChatLimits {
  /** Of one owner. */
  readonly threads: number
  /** Of one thread. A turn that begins below it may end above. */
  readonly messages: number
  /** Of all messages of one thread, in characters. */
  readonly thread_size: number
  /** Of one message, in characters. */
  readonly message_size: number
  /** Turns of one user that are under way at a time, in all workspaces together. */
  readonly turns: number
  /** How often a model is asked within one turn; the last time it may call no tools. */
  readonly steps: number
  /** Calls of tools in one answer. */
  readonly calls: number
  /** How long a tool may take, in milliseconds. */
  readonly tool_ms: number
  /** How long the text so far of a message may be kept in memory alone, in milliseconds and in characters. */
  readonly draft_ms: number
  readonly draft_characters: number
  /** What a model is sent of a thread, in messages and in characters. */
  readonly sent_messages: number
  readonly sent_size: number
  /**
   * How many turns of all users ask models at a time where their threads are more than twice that size: of these the last exchange and the last instruction
   * are sent in any case, and each may be as long as a message.
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
