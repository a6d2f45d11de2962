// The threads that a connection follows: first the missed frames, then live ones, each in order. A slow peer, or one of hundreds of followers of a
// thread, gets fewer and longer chunks, and every stored message.
import type { ChatChunkFrame } from '../../generated/types.ts'
import type { Principal } from '../access/principal.ts'
import { type ChatFrame, createMessageFrame } from '../chat/frames.ts'
import type { ChatService } from '../chat/service.ts'
import type { AppContext } from '../context.ts'
import { type OwnerScope, userShareKey } from '../db/owner-scope.ts'
import type { TimeSliceScheduler } from '../shared/time-slices.ts'
import type { FrameSender } from './frames/large-frames.ts'
import { stopOnClose } from './jobs/followers.ts'

/** Threads that a connection follows at a time; beyond it, the thread that was followed first is dropped. */
const MAX_FOLLOWED_THREADS = 1_000
/** Messages that are read at once. */
const PAGE_SIZE = 50

interface ChatOutlet extends FrameSender {
  readonly principal: Principal
  readonly app: ChatFollowerServices
}

interface ChatFollowerServices {
  readonly log: Pick<AppContext['log'], 'debug' | 'error'>
  readonly chat: Pick<ChatService, 'messages'> & { readonly turns: Pick<ChatService['turns'], 'follow'> }
  readonly schedulers: { readonly reading: Pick<TimeSliceScheduler, 'run' | 'turn' | 'isTurnUsed'> }
  readonly transport: Pick<AppContext['transport'], 'followed_threads'>
}

interface FollowedThread {
  readonly stop: () => void
  /** Frames that wait. Null: none waits, and new frames are sent at once. */
  pending_frames: ChatFrame[] | null
  is_stopped: boolean
}

/** Frames that have to be sent before live ones. */
export interface MissedMessages {
  /** The owner of the thread. */
  readonly owner: OwnerScope
  /** Stored messages after the first and up to the second of these sequences. */
  readonly after: number
  readonly until: number
  /** Frames of the running turn. */
  readonly so_far: readonly ChatFrame[]
}

export class ChatFollowers {
  readonly #connection: ChatOutlet
  readonly #threads = new Map<string, FollowedThread>()
  readonly #pumps = new Set<Promise<void>>()

  constructor(connection: ChatOutlet) {
    this.#connection = connection
    stopOnClose(
      connection,
      () => this.#threads.keys(),
      (thread_id) => this.#unfollow(thread_id),
    )
  }

  isFollowing(thread_id: string): boolean {
    return this.#threads.has(thread_id)
  }

  /** @throws RATE_LIMITED if the thread is not followed yet, and no more threads may be */
  requireCapacity(thread_id: string): void {
    const { app, principal } = this.#connection
    if (!this.isFollowing(thread_id)) app.transport.followed_threads.requireCapacity(userShareKey(principal))
  }

  /** Sends frames of a thread from now on, unless it is followed already. With `missed`, sends these first, and replaces an earlier follow. */
  follow(thread_id: string, missed: MissedMessages | null = null): void {
    const { app, principal, closed } = this.#connection
    if (closed.aborted || (missed === null && this.isFollowing(thread_id))) return
    this.#unfollow(thread_id)
    for (const first of this.#threads.keys()) {
      if (this.#threads.size < MAX_FOLLOWED_THREADS) break
      this.#unfollow(first)
    }
    const unsubscribe = app.chat.turns.follow(thread_id, (frame, crowded) =>
      this.#deliver(thread_id, followed, frame, crowded),
    )
    const leave = app.transport.followed_threads.count(userShareKey(principal))
    const stop = () => {
      unsubscribe()
      leave()
    }
    const followed: FollowedThread = { stop, pending_frames: null, is_stopped: false }
    this.#threads.set(thread_id, followed)
    if (!missed) return
    followed.pending_frames = []
    this.#pump(followed, () => this.#catchUp(thread_id, followed, missed))
  }

  /** Resolves when all frames so far are sent. */
  async whenFinished(): Promise<void> {
    await Promise.all(this.#pumps)
  }

  #unfollow(thread_id: string): void {
    const followed = this.#forget(thread_id)
    if (followed) followed.is_stopped = true
  }

  #forget(thread_id: string): FollowedThread | undefined {
    const followed = this.#threads.get(thread_id)
    this.#threads.delete(thread_id)
    followed?.stop()
    return followed
  }

  #deliver(thread_id: string, followed: FollowedThread, frame: ChatFrame, crowded: boolean): void {
    if (followed.is_stopped || this.#connection.closed.aborted) return
    // This is the last frame of the thread. Waiting frames are still sent.
    if (frame.type === 'resource_change') this.#forget(thread_id)
    if (followed.pending_frames) return enqueue(followed.pending_frames, frame)
    const { app, congested } = this.#connection
    const mustWait = crowded && app.schedulers.reading.isTurnUsed
    if (!congested && !mustWait && !this.#connection.isLarge(frame)) return this.#connection.send(frame, true)
    followed.pending_frames = [frame]
    this.#pump(followed, mustWait ? () => this.#waitForTurn(followed) : async () => {})
    if (congested) app.log.debug({ thread_id }, 'a follower of a chat thread does not read')
  }

  #pump(followed: FollowedThread, before: () => Promise<void>): void {
    const pump = before()
      .then(() => this.#drain(followed))
      .catch((err) => this.#connection.app.log.error({ err }, 'following a chat thread failed'))
      .finally(() => this.#pumps.delete(pump))
    this.#pumps.add(pump)
  }

  async #catchUp(
    thread_id: string,
    followed: FollowedThread,
    { owner, after, until, so_far }: MissedMessages,
  ): Promise<void> {
    let seen = after
    while (seen < until && !followed.is_stopped && !this.#connection.closed.aborted) {
      const rows = this.#connection.app.chat.messages(owner, thread_id, seen, PAGE_SIZE)
      // The thread was deleted meanwhile, or all its messages are sent.
      if (rows.length === 0) break
      for (const row of rows) {
        if (row.sequence > until) break
        await this.#waitForCapacity(followed)
        if (followed.is_stopped) return
        await this.#send(followed, createMessageFrame(thread_id, row))
      }
      seen = rows.at(-1)!.sequence
      if (seen < until) await this.#connection.app.schedulers.reading.turn(userShareKey(owner))
    }
    for (const frame of so_far) {
      await this.#waitForCapacity(followed)
      if (!followed.is_stopped) await this.#send(followed, frame)
    }
  }

  async #drain(followed: FollowedThread): Promise<void> {
    while (!followed.is_stopped && followed.pending_frames) {
      await this.#waitForCapacity(followed)
      const next = followed.pending_frames.shift()
      // In the same turn of the event loop, so that the next frame is sent at once.
      if (next === undefined) followed.pending_frames = null
      else if (!followed.is_stopped) await this.#send(followed, next)
    }
  }

  /** Sends a small frame at once. A long message is first encoded in time slices. */
  #send(followed: FollowedThread, frame: ChatFrame): Promise<void> | null {
    if (this.#connection.isLarge(frame)) return this.#sendLarge(followed, frame)
    this.#connection.send(frame)
    return null
  }

  async #sendLarge(followed: FollowedThread, frame: ChatFrame): Promise<void> {
    const release = await this.#connection.holdLarge(frame)
    try {
      const send = await this.#connection.encodeLarge(frame)
      await this.#waitForCapacity(followed)
      if (!followed.is_stopped) send()
    } finally {
      release()
    }
  }

  /** Other followers of the thread may have used all of this turn. */
  async #waitForTurn(followed: FollowedThread): Promise<void> {
    const { app, principal, closed } = this.#connection
    while (app.schedulers.reading.isTurnUsed && !followed.is_stopped && !closed.aborted)
      await app.schedulers.reading.turn(userShareKey(principal))
  }

  /** Checked again right before sending: other waiters may have filled the buffer. */
  async #waitForCapacity(followed: FollowedThread): Promise<void> {
    const { closed } = this.#connection
    while (this.#connection.congested && !followed.is_stopped && !closed.aborted) await this.#connection.drained()
  }
}

/** Merges a chunk into the chunk that it continues. */
function enqueue(waiting: ChatFrame[], frame: ChatFrame): void {
  const last = waiting.at(-1)
  if (last && isContinuation(last, frame)) {
    const { content, done } = frame as ChatChunkFrame
    const before = last as ChatChunkFrame
    waiting[waiting.length - 1] = { ...before, content: before.content + content, done }
  } else waiting.push(frame)
}

function isContinuation(last: ChatFrame, frame: ChatFrame): boolean {
  if (last.type !== 'chunk' || frame.type !== 'chunk') return false
  const { turn_id, sequence, thinking, offset, content } = last
  const next = offset + content.length
  return (
    frame.turn_id === turn_id && frame.sequence === sequence && frame.thinking === thinking && frame.offset === next
  )
}
