// The jobs that one connection is subscribed to: every event of each, in its order, from where the client is. They come through the one way to
// follow a job, so that nothing is lost or doubled between what is replayed and what is live.
import type { JobEventFrame } from '../../generated/types.ts'
import type { Principal } from '../access/principal.ts'
import { userKey } from '../db/scope.ts'
import { isDamage, ServiceError, toServiceError } from '../errors.ts'
import { LazyEvent } from '../events/lazy-event.ts'
import type { EventBody } from '../events/types.ts'
import { type EventItem, type EventJob, isEvent } from '../jobs/event-text.ts'
import { ShiftingMap } from '../shifting-map.ts'
import { type Outlet, whenClosed } from './followers.ts'
import { historyGoesOn } from './history-goes-on.ts'
import { heldEvent, OneAtATime } from './large-frames.ts'

/** The most jobs that one connection is subscribed to at a time. */
export const MAX_SUBSCRIPTIONS = 1_000
/** How long events are sent in one turn of the event loop, in milliseconds. */
const TURN_MS = 5

/** What a subscription keeps of a job: its row holds the whole result, and a client may be slow. */
export type SubscribedJob = EventJob & { readonly key: number }

interface Subscriber extends Outlet {
  readonly principal: Principal
}

interface Prepared {
  readonly job: SubscribedJob
  readonly after: number
  /** Leaves its place among all that are followed. */
  readonly leave: () => void
}

export class Subscriptions {
  readonly #connection: Subscriber
  readonly #running = new ShiftingMap<number, AbortController>()
  readonly #pumps = new Set<Promise<void>>()
  /** By reply: what begins when it was sent. Each has its place already. */
  readonly #prepared = new Map<object, Prepared>()
  readonly #large = new OneAtATime()
  #waiting: Promise<void> | null = null
  #turn_ends = 0

  constructor(connection: Subscriber) {
    this.#connection = connection
    whenClosed(
      connection,
      () => this.#running.values(),
      (stop) => stop.abort(),
    )
  }

  /**
   * Follows a job from the event `after` on as soon as `reply` was sent, in place of what was followed of it before.
   * @throws RATE_LIMITED where the connection has as many subscriptions as it may have, or its user follows as many jobs as it may
   */
  prepare(reply: object, job: SubscribedJob, after: number): void {
    if (!this.#hasPlace(job.key)) {
      const message = `A socket is subscribed to ${MAX_SUBSCRIPTIONS} jobs at the most: let some end, or open another one.`
      throw new ServiceError('RATE_LIMITED', { message })
    }
    const { app, principal } = this.#connection
    const owner = userKey(principal)
    if (!this.#running.has(job.key)) app.followed.requirePlace(owner)
    this.#prepared.set(reply, { job, after, leave: app.followed.count(owner) })
  }

  /** The reply of a command was sent. */
  replied(reply: unknown): void {
    const prepared = this.#prepared.get(reply as object)
    if (!prepared) return
    this.#prepared.delete(reply as object)
    this.#begin(prepared)
  }

  /** The reply of a command was not sent, and will not be: what was to begin then does not. */
  unsent(reply: unknown): void {
    this.#prepared.get(reply as object)?.leave()
    this.#prepared.delete(reply as object)
  }

  /** A job that is followed already needs no place. */
  #hasPlace(key: number): boolean {
    const taken = new Set([...this.#prepared.values()].map(({ job }) => job.key))
    if (taken.has(key) || this.#running.has(key)) return true
    const begun = [...taken].filter((one) => this.#running.has(one)).length
    return this.#running.size + taken.size - begun < MAX_SUBSCRIPTIONS
  }

  /** Resolves when everything is told of the jobs that are followed now. */
  async finished(): Promise<void> {
    await Promise.all(this.#pumps)
  }

  #begin({ job, after, leave }: Prepared): void {
    this.#running.get(job.key)?.abort()
    const stop = new AbortController()
    this.#running.set(job.key, stop)
    if (this.#connection.closed.aborted) stop.abort()
    const pump = this.#pump(job, after, stop.signal)
      .catch((thrown) => this.#failed(job, thrown))
      .finally(() => {
        if (this.#running.get(job.key) === stop) this.#running.delete(job.key)
        this.#pumps.delete(pump)
        leave()
      })
    this.#pumps.add(pump)
  }

  /** No more events of the job can be told: the subscription is over, which the client cannot see otherwise. */
  #failed({ id: job_id }: SubscribedJob, thrown: unknown): void {
    const { code, publicMessage: message, cause } = toServiceError(thrown)
    this.#connection.app.log.error({ err: cause ?? thrown, job_id }, 'a subscription failed')
    this.#connection.send({ error: 'unavailable', code, message, job_id })
  }

  async #pump(job: SubscribedJob, after: number, signal: AbortSignal): Promise<void> {
    const { app } = this.#connection
    let seen = after
    do {
      try {
        for await (const item of app.events.follow(job.key, seen, signal)) {
          // Hundreds of sockets may be subscribed to the same job, of which they look at more than they are told.
          while (app.reading.isTurnUsed && !signal.aborted) await this.#room()
          if (!isEvent(item)) continue
          const isLarge = this.#isLarge(job, item)
          // Looked at again right before it is sent: others that waited as well may have taken the room. Large ones stand in a line, and wait there.
          while (!isLarge && this.#full && !signal.aborted) await this.#room()
          // Whoever replaced this subscription tells the event.
          if (signal.aborted) return
          await this.#tell(job, item, isLarge, signal)
          if (signal.aborted) return
          seen = item.sequence
        }
        return
      } catch (thrown) {
        if (isDamage(thrown)) throw thrown
        const error = toServiceError(thrown)
        app.log.warn(
          { err: error.cause ?? error, job_id: job.id },
          'the history of a job that is subscribed to broke off',
        )
      }
    } while ((await historyGoesOn(app, { ...this.#connection.principal, id: job.id }, signal)) === true)
  }

  /** Whether it takes long to make or to encode. */
  #isLarge(job: SubscribedJob, item: EventItem): boolean {
    const { event } = item
    return event instanceof LazyEvent ? event.isLarge : this.#connection.isLarge(frameOf(job, item))
  }

  /** Whether another event has to wait: for the peer, or until others had their turn. */
  get #full(): boolean {
    return this.#connection.congested || performance.now() >= this.#turn_ends
  }

  /** Waits once, with all that wait: they go on in the order in which they came, so that every job gets its turn. Events are never dropped. */
  #room(): Promise<void> {
    this.#waiting ??= this.#nextTurn().finally(() => {
      this.#waiting = null
    })
    return this.#waiting
  }

  async #nextTurn(): Promise<void> {
    if (this.#connection.congested) await this.#connection.drained()
    else await this.#connection.app.reading.turn(userKey(this.#connection.principal))
    this.#turn_ends = performance.now() + TURN_MS
  }

  async #tell(job: SubscribedJob, item: EventItem, isLarge: boolean, signal: AbortSignal): Promise<void> {
    const release = heldEvent(this.#connection, item.event)
    const leave = isLarge ? await this.#large.enter() : null
    try {
      while (leave && this.#connection.congested && !signal.aborted) await this.#connection.drained()
      if (!signal.aborted) await this.#send(job, item, signal)
    } finally {
      leave?.()
      release?.()
    }
  }

  async #send(job: SubscribedJob, item: EventItem, signal: AbortSignal): Promise<void> {
    const connection = this.#connection
    let release: (() => void) | null = null
    try {
      if (item.event instanceof LazyEvent) await item.event.make(connection.app.slices, userKey(connection.principal))
      const frame = frameOf(job, item)
      if (!connection.isLarge(frame)) return connection.send(frame, true)
      release = await connection.holdLarge(frame)
      const send = await connection.encodeLarge(frame)
      while (connection.congested && !signal.aborted) await connection.drained()
      if (!signal.aborted) send()
    } catch (err) {
      // The client sees the gap, and takes a snapshot.
      this.#connection.app.log.error({ err, job_id: job.id }, 'an event could not be encoded')
    } finally {
      release?.()
    }
  }
}

/** By item: its frame, the same object for every socket, so that it is encoded once for all. It lives as long as its item. */
const frames = new WeakMap<EventItem, JobEventFrame>()

function frameOf(job: SubscribedJob, item: EventItem): JobEventFrame {
  const known = frames.get(item)
  if (known) return known
  const { id: job_id, workflow_id, workspace_id } = job
  const { sequence, timestamp, event } = item
  const of = { sequence, job_id, workflow_id, workspace_id, timestamp }
  const frame = { type: 'job_event', job_id, event: { ...of, ...bodyOf(event) } } as JobEventFrame
  frames.set(item, frame)
  return frame
}

function bodyOf(event: EventBody): EventBody {
  return event instanceof LazyEvent ? event.body : event
}
