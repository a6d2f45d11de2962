// The chat of all owners: their threads, the running turns, and the followers.
import { listMessagesAfter } from '../db/messages.ts'
import type { OwnerScope } from '../db/owner-scope.ts'
import type { MessageTable } from '../db/tables/chat.ts'
import { findOwnedThread } from '../db/threads.ts'
import { KeyedQueue } from '../shared/keyed-queue.ts'
import { FairSemaphore } from '../workers/fair-semaphore.ts'
import { CHAT_LIMITS, type ChatLimits } from './limits.ts'
import { ThreadListeners } from './threads/listeners.ts'
import { ThreadService } from './threads/service.ts'
import { TurnService, type TurnServiceParts } from './turns/service.ts'

export interface ChatServiceParts extends Omit<TurnServiceParts, 'lanes' | 'listeners' | 'limits' | 'long_turns'> {
  readonly limits?: Partial<ChatLimits> | undefined
}

export class ChatService {
  readonly threads: ThreadService
  readonly turns: TurnService
  readonly #store: ChatServiceParts['store']
  readonly #lanes = new KeyedQueue()
  readonly #listeners = new ThreadListeners()

  constructor(parts: ChatServiceParts) {
    const limits = { ...CHAT_LIMITS, ...parts.limits }
    const long_turns = new FairSemaphore(limits.long_turns)
    const shared = { ...parts, limits, long_turns, lanes: this.#lanes, listeners: this.#listeners }
    this.#store = parts.store
    this.turns = new TurnService(shared)
    this.threads = new ThreadService({ ...shared, turns: this.turns })
  }

  /** At most `limit` stored messages of the owner's thread; none if the thread was deleted. */
  messages(owner: OwnerScope, thread_id: string, after: number, limit: number): MessageTable[] {
    return this.#store.read((tx) => {
      const thread = findOwnedThread(tx, owner, thread_id)
      return thread ? listMessagesAfter(tx, thread.key, after, limit) : []
    })
  }

  /** How many threads have state in memory: zero when no turn runs and no listener follows a thread. */
  get tracked_threads(): number {
    return this.turns.size + this.#lanes.size + this.#listeners.size
  }
}
