// An open socket as commands and their answers see it. How it reads and writes is left to the connection.

import type { Principal } from '../../access/principal.ts'
import type { KeyedQueue } from '../../shared/keyed-queue.ts'
import type { ChatFollowers } from '../chat-followers.ts'
import type { ConnectionInferences } from '../connection-inferences.ts'
import type { AsyncMutex } from '../frames/large-frames.ts'
import type { JobFollowers, SocketOutlet } from '../jobs/followers.ts'
import type { JobSubscriptions } from '../jobs/subscriptions.ts'

export interface CommandConnection extends SocketOutlet {
  readonly principal: Principal
  readonly followers: JobFollowers
  readonly subscriptions: JobSubscriptions
  /** The threads that it hears of. */
  readonly chats: ChatFollowers
  /** What it asks models for. */
  readonly inferences: ConnectionInferences
  /** Where commands that name the same job wait for each other. */
  readonly command_queue: KeyedQueue
  /** Where large answers wait for each other. */
  readonly large_answers: AsyncMutex
  /** The encoding of what is sent from now on. */
  mode: 'binary' | 'text'
}
