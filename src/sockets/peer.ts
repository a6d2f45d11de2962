// An open socket as commands and their answers see it. How it reads and writes is left to the connection.

import type { Principal } from '../access/principal.ts'
import type { KeyedQueue } from '../keyed-queue.ts'
import type { Asking } from './asking.ts'
import type { ChatFollowers } from './chat-followers.ts'
import type { Followers, Outlet } from './followers.ts'
import type { OneAtATime } from './large-frames.ts'
import type { Subscriptions } from './subscriptions.ts'

export interface Peer extends Outlet {
  readonly principal: Principal
  readonly followers: Followers
  readonly subscriptions: Subscriptions
  /** The threads that it hears of. */
  readonly chats: ChatFollowers
  /** What it asks models for. */
  readonly asking: Asking
  /** Where commands that name the same job wait for each other. */
  readonly lanes: KeyedQueue
  /** Where large answers wait for each other. */
  readonly large_answers: OneAtATime
  /** The encoding of what is sent from now on. */
  mode: 'binary' | 'text'
}
