// The threads that one connection follows: first what it missed, then what happens, each in its order. A slow peer gets fewer, longer pieces of a
// message, and every stored message; so does one of hundreds that follow the same thread.
import type { ChatChunkFrame } from '../../generated/types.ts'
import type { Principal } from '../access/principal.ts'
import { type ChatFrame, messageFrame } from '../chat/frames.ts'
import { type Scope, userKey } from '../db/scope.ts'
import { type Outlet, whenClosed } from './followers.ts'

/** Of how many threads a connection may hear at a time; the one that it followed first goes first. */
const MOST_FOLLOWED = 1_000
/** How many messages are read at once. */
const PAGE = 50

interface ChatOutlet extends Outlet {
  readonly principal: Principal
}

interface Followed {
  readonly stop: () => void
  /** What waits to be told. Null: nothing does, and nothing has to. */
  waiting: ChatFrame[] | null
  stopped: boolean
}

/** What has to be told before what happens from now on. */
export interface Missed {
  /** Whose thread it is. */
  readonly owner: Scope
  /** Stored messages behind the first and up to the second of these sequences. */
  readonly after: number
  readonly until: number
  /** Of the turn that is under way. */
  readonly so_far: readonly ChatFrame[]
}

export class ChatFollowers {
  readonly #connection: ChatOutlet
  readonly #followed = new Map<string, Followed>()
  readonly #pumps = new Set<Promise<void>>()

  constructor(connection: ChatOutlet) {
    this.#connection = connection
    whenClosed(
      connection,
      () => this.#followed.keys(),
      (thread_id) => this.#leave(thread_id),
    )
  }

  follows(thread_id: string): boolean {
    return this.#followed.has(thread_id)
  }

  /** @throws RATE_LIMITED where a thread is not followed yet, and no more may be */
  requirePlace(thread_id: string): void {
    const { app, principal } = this.#connection
    if (!this.follows(thread_id)) app.followed_threads.requirePlace(userKey(principal))
  }

  /** Tells what happens in a thread from now on, where it does not already; with `missed`, that first, in place of what was followed before. */
  follow(thread_id: string, missed: Missed | null = null): void {
    const { app, principal, closed } = this.#connection
    if (closed.aborted || (missed === null && this.follows(thread_id))) return
    this.#leave(thread_id)
    for (const first of this.#followed.keys()) {
      if (this.#followed.size < MOST_FOLLOWED) break
      this.#leave(first)
    }
    const deafen = app.chat.turns.follow(thread_id, (frame, crowded) => this.#tell(thread_id, followed, frame, crowded))
    const leave = app.followed_threads.count(userKey(principal))
    const stop = () => {
      deafen()
      leave()
    }
    const followed: Followed = { stop, waiting: null, stopped: false }
    this.#followed.set(thread_id, followed)
    if (!missed) return
    followed.waiting = []
    this.#pump(followed, () => this.#catchUp(thread_id, followed, missed))
  }

  /** Resolves when everything is told of what has happened. */
  async finished(): Promise<void> {
    await Promise.all(this.#pumps)
  }

  #leave(thread_id: string): void {
    const followed = this.#forget(thread_id)
    if (followed) followed.stopped = true
  }

  #forget(thread_id: string): Followed | undefined {
    const followed = this.#followed.get(thread_id)
    this.#followed.delete(thread_id)
    followed?.stop()
    return followed
  }

  #tell(thread_id: string, followed: Followed, frame: ChatFrame, crowded: boolean): void {
    if (followed.stopped || this.#connection.closed.aborted) return
    // Nothing comes behind it. What waits is told all the same.
    if (frame.type === 'resource_change') this.#forget(thread_id)
    if (followed.waiting) return enqueue(followed.waiting, frame)
    const { app, congested } = this.#connection
    const late = crowded && app.reading.isTurnUsed
    if (!congested && !late && !this.#connection.isLarge(frame)) return this.#connection.send(frame, true)
    followed.waiting = [frame]
    this.#pump(followed, late ? () => this.#time(followed) : async () => {})
    if (congested) app.log.debug({ thread_id }, 'a follower of a chat does not read')
  }

  #pump(followed: Followed, before: () => Promise<void>): void {
    const pump = before()
      .then(() => this.#drain(followed))
      .catch((err) => this.#connection.app.log.error({ err }, 'a chat could not be followed'))
      .finally(() => this.#pumps.delete(pump))
    this.#pumps.add(pump)
  }

  async #catchUp(thread_id: string, followed: Followed, { owner, after, until, so_far }: Missed): Promise<void> {
    let seen = after
    while (seen < until && !followed.stopped && !this.#connection.closed.aborted) {
      const rows = this.#connection.app.chat.messages(owner, thread_id, seen, PAGE)
      // Deleted meanwhile, or told to its end.
      if (rows.length === 0) break
      for (const row of rows) {
        if (row.sequence > until) break
        await this.#room(followed)
        if (followed.stopped) return
        await this.#send(followed, messageFrame(thread_id, row))
      }
      seen = rows.at(-1)!.sequence
      if (seen < until) await this.#connection.app.reading.turn(userKey(owner))
    }
    for (const frame of so_far) {
      await this.#room(followed)
      if (!followed.stopped) await this.#send(followed, frame)
    }
  }

  async #drain(followed: Followed): Promise<void> {
    while (!followed.stopped && followed.waiting) {
      await this.#room(followed)
      const next = followed.waiting.shift()
      // In the same turn of the event loop: what happens next is told at once.
      if (next === undefined) followed.waiting = null
      else if (!followed.stopped) await this.#send(followed, next)
    }
  }

  /** Sends a small frame at once. A long message is encoded in time slices before. */
  #send(followed: Followed, frame: ChatFrame): Promise<void> | null {
    if (this.#connection.isLarge(frame)) return this.#sendLarge(followed, frame)
    this.#connection.send(frame)
    return null
  }

  async #sendLarge(followed: Followed, frame: ChatFrame): Promise<void> {
    const release = await this.#connection.holdLarge(frame)
    try {
      const send = await this.#connection.encodeLarge(frame)
      await this.#room(followed)
      if (!followed.stopped) send()
    } finally {
      release()
    }
  }

  /** Others who are told at the same time may have had all of this turn. */
  async #time(followed: Followed): Promise<void> {
    const { app, principal, closed } = this.#connection
    while (app.reading.isTurnUsed && !followed.stopped && !closed.aborted) await app.reading.turn(userKey(principal))
  }

  /** Looked at again right before a frame is sent: others that waited as well may have taken the room. */
  async #room(followed: Followed): Promise<void> {
    const { closed } = this.#connection
    while (this.#connection.congested && !followed.stopped && !closed.aborted) await this.#connection.drained()
  }
}

/** A piece that continues the one before becomes part of it. */
function enqueue(waiting: ChatFrame[], frame: ChatFrame): void {
  const last = waiting.at(-1)
  if (last && continues(last, frame)) {
    const { content, done } = frame as ChatChunkFrame
    const before = last as ChatChunkFrame
    waiting[waiting.length - 1] = { ...before, content: before.content + content, done }
  } else waiting.push(frame)
}

function continues(last: ChatFrame, frame: ChatFrame): boolean {
  if (last.type !== 'chunk' || frame.type !== 'chunk') return false
  const { turn_id, sequence, thinking, offset, content } = last
  const next = offset + content.length
  return (
    frame.turn_id === turn_id && frame.sequence === sequence && frame.thinking === thinking && frame.offset === next
  )
}
