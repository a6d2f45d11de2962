// Chat as one thing: the threads of owners, the turns that are under way in them, and who follows them.
import { messagesAfter } from '../db/messages.ts'
import type { MessageTable } from '../db/schema.ts'
import type { Scope } from '../db/scope.ts'
import { ownedThread } from '../db/threads.ts'
import { KeyedQueue } from '../keyed-queue.ts'
import { Places } from '../workers/places.ts'
import { CHAT_LIMITS, type ChatLimits } from './limits.ts'
import { Listeners } from './listeners.ts'
import { Threads } from './threads.ts'
import { Turns, type TurnsParts } from './turns.ts'

export interface ChatParts extends Omit<TurnsParts, 'lanes' | 'listeners' | 'limits' | 'long_turns'> {
  readonly limits?: Partial<ChatLimits> | undefined
}

export class Chat {
  readonly threads: Threads
  readonly turns: Turns
  readonly #store: ChatParts['store']
  readonly #lanes = new KeyedQueue()
  readonly #listeners = new Listeners()

  constructor(parts: ChatParts) {
    const limits = { ...CHAT_LIMITS, ...parts.limits }
    const long_turns = new Places(limits.long_turns)
    const shared = { ...parts, limits, long_turns, lanes: this.#lanes, listeners: this.#listeners }
    this.#store = parts.store
    this.turns = new Turns(shared)
    this.threads = new Threads({ ...shared, turns: this.turns })
  }

  /** At most `limit` stored messages of a thread of the owner's; none where it is not there any more. */
  messages(owner: Scope, thread_id: string, after: number, limit: number): MessageTable[] {
    return this.#store.read((tx) => {
      const thread = ownedThread(tx, owner, thread_id)
      return thread ? messagesAfter(tx, thread.key, after, limit) : []
    })
  }

  /** How many threads something is known of besides their rows: none, when nothing happens and nobody listens. */
  get remembered(): number {
    return this.turns.size + this.#lanes.size + this.#listeners.size
  }
}
