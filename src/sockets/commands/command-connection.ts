// The interface of an open socket for commands and their answers.

import type { KeyedQueue } from '../../shared/keyed-queue.ts'
import type { ChatFollowers } from '../chat-followers.ts'
import type { ConnectionInferences } from '../connection-inferences.ts'
import type { AsyncMutex } from '../frames/large-frames.ts'
import type { JobFollowers, SocketOutlet } from '../jobs/followers.ts'
import type { JobSubscriptions } from '../jobs/subscriptions.ts'

export interface CommandConnection extends SocketOutlet {
  readonly followers: JobFollowers
  readonly subscriptions: JobSubscriptions
  /** The threads that the socket follows. */
  readonly chats: ChatFollowers
  /** The turns and inferences of the socket. */
  readonly inferences: ConnectionInferences
  /** Orders commands for the same job. */
  readonly command_queue: KeyedQueue
  /** Orders large answers. */
  readonly large_answers: AsyncMutex
  /** The encoding of frames from now on. */
  mode: 'binary' | 'text'
}
