// The jobs that one connection is subscribed to: every event of each, in its order, from where the client is. They come through the one way to
// follow a job, so that nothing is lost or doubled between what is replayed and what is live.
import type { JobEventFrame } from '../../../generated/types.ts'
import type { Principal } from '../../access/principal.ts'
import { userShareKey } from '../../db/owner-scope.ts'
import { isDamagedDataError, ServiceError, toServiceError } from '../../errors.ts'
import { LazyEvent } from '../../events/lazy-event.ts'
import type { EventBody } from '../../events/types.ts'
import { type EventJobFields, isEventItem, type JobEventItem } from '../../jobs/history/event-serializer.ts'
import { ChurnMap } from '../../shared/churn-map.ts'
import { AsyncMutex, holdLazyEvent } from '../frames/large-frames.ts'
import { type SocketOutlet, stopOnClose } from './followers.ts'
import { awaitHistoryRecovery } from './history-recovery.ts'

/** The most jobs that one connection is subscribed to at a time. */
export const MAX_SUBSCRIPTIONS = 1_000
/** How long events are sent in one turn of the event loop, in milliseconds. */
const TURN_MS = 5

/** What a subscription keeps of a job: its row holds the whole result, and a client may be slow. */
export type SubscribedJob = EventJobFields & { readonly key: number }

interface SubscriberOutlet extends SocketOutlet {
  readonly principal: Principal
}

interface PreparedSubscription {
  readonly job: SubscribedJob
  readonly after: number
  /** Leaves its place among all that are followed. */
  readonly release: () => void
}

export class JobSubscriptions {
  readonly #connection: SubscriberOutlet
  readonly #running = new ChurnMap<number, AbortController>()
  readonly #pumps = new Set<Promise<void>>()
  /** By reply: what begins when it was sent. Each has its place already. */
  readonly #prepared = new Map<object, PreparedSubscription>()
  readonly #large = new AsyncMutex()
  #waiting: Promise<void> | null = null
  #turn_ends = 0

  constructor(connection: SubscriberOutlet) {
    this.#connection = connection
    stopOnClose(
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
    if (!this.#hasCapacity(job.key)) {
      const message = `A socket is subscribed to ${MAX_SUBSCRIPTIONS} jobs at the most: let some end, or open another one.`
      throw new ServiceError('RATE_LIMITED', { message })
    }
    const { app, principal } = this.#connection
    const owner = userShareKey(principal)
    if (!this.#running.has(job.key)) app.followed.requireCapacity(owner)
    this.#prepared.set(reply, { job, after, release: app.followed.count(owner) })
  }

  /** The reply of a command was sent. */
  beginAfterReply(reply: unknown): void {
    const prepared = this.#prepared.get(reply as object)
    if (!prepared) return
    this.#prepared.delete(reply as object)
    this.#begin(prepared)
  }

  /** The reply of a command was not sent, and will not be: what was to begin then does not. */
  discard(reply: unknown): void {
    this.#prepared.get(reply as object)?.release()
    this.#prepared.delete(reply as object)
  }

  /** A job that is followed already needs no place. */
  #hasCapacity(key: number): boolean {
    const taken = new Set([...this.#prepared.values()].map(({ job }) => job.key))
    if (taken.has(key) || this.#running.has(key)) return true
    const begun = [...taken].filter((one) => this.#running.has(one)).length
    return this.#running.size + taken.size - begun < MAX_SUBSCRIPTIONS
  }

  /** Resolves when everything is told of the jobs that are followed now. */
  async whenFinished(): Promise<void> {
    await Promise.all(this.#pumps)
  }

  #begin({ job, after, release: leave }: PreparedSubscription): void {
    this.#running.get(job.key)?.abort()
    const stop = new AbortController()
    this.#running.set(job.key, stop)
    if (this.#connection.closed.aborted) stop.abort()
    const pump = this.#pump(job, after, stop.signal)
      .catch((thrown) => this.#reportFailure(job, thrown))
      .finally(() => {
        if (this.#running.get(job.key) === stop) this.#running.delete(job.key)
        this.#pumps.delete(pump)
        leave()
      })
    this.#pumps.add(pump)
  }

  /** No more events of the job can be told: the subscription is over, which the client cannot see otherwise. */
  #reportFailure({ id: job_id }: SubscribedJob, thrown: unknown): void {
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
          while (app.reading.isTurnUsed && !signal.aborted) await this.#waitForCapacity()
          if (!isEventItem(item)) continue
          const isLarge = this.#isLarge(job, item)
          // Looked at again right before it is sent: others that waited as well may have taken the room. Large ones stand in a line, and wait there.
          while (!isLarge && this.#isBlocked && !signal.aborted) await this.#waitForCapacity()
          // Whoever replaced this subscription tells the event.
          if (signal.aborted) return
          await this.#deliver(job, item, isLarge, signal)
          if (signal.aborted) return
          seen = item.sequence
        }
        return
      } catch (thrown) {
        if (isDamagedDataError(thrown)) throw thrown
        const error = toServiceError(thrown)
        app.log.warn(
          { err: error.cause ?? error, job_id: job.id },
          'the history of a job that is subscribed to broke off',
        )
      }
    } while ((await awaitHistoryRecovery(app, { ...this.#connection.principal, id: job.id }, signal)) === true)
  }

  /** Whether it takes long to make or to encode. */
  #isLarge(job: SubscribedJob, item: JobEventItem): boolean {
    const { event } = item
    return event instanceof LazyEvent ? event.isLarge : this.#connection.isLarge(createJobEventFrame(job, item))
  }

  /** Whether another event has to wait: for the peer, or until others had their turn. */
  get #isBlocked(): boolean {
    return this.#connection.congested || performance.now() >= this.#turn_ends
  }

  /** Waits once, with all that wait: they go on in the order in which they came, so that every job gets its turn. Events are never dropped. */
  #waitForCapacity(): Promise<void> {
    this.#waiting ??= this.#nextTurn().finally(() => {
      this.#waiting = null
    })
    return this.#waiting
  }

  async #nextTurn(): Promise<void> {
    if (this.#connection.congested) await this.#connection.drained()
    else await this.#connection.app.reading.turn(userShareKey(this.#connection.principal))
    this.#turn_ends = performance.now() + TURN_MS
  }

  async #deliver(job: SubscribedJob, item: JobEventItem, isLarge: boolean, signal: AbortSignal): Promise<void> {
    const release = holdLazyEvent(this.#connection, item.event)
    const leave = isLarge ? await this.#large.acquire() : null
    try {
      while (leave && this.#connection.congested && !signal.aborted) await this.#connection.drained()
      if (!signal.aborted) await this.#send(job, item, signal)
    } finally {
      leave?.()
      release?.()
    }
  }

  async #send(job: SubscribedJob, item: JobEventItem, signal: AbortSignal): Promise<void> {
    const connection = this.#connection
    let release: (() => void) | null = null
    try {
      if (item.event instanceof LazyEvent)
        await item.event.prepareBody(connection.app.slices, userShareKey(connection.principal))
      const frame = createJobEventFrame(job, item)
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
const framesByItem = new WeakMap<JobEventItem, JobEventFrame>()

function createJobEventFrame(job: SubscribedJob, item: JobEventItem): JobEventFrame {
  const known = framesByItem.get(item)
  if (known) return known
  const { id: job_id, workflow_id, workspace_id } = job
  const { sequence, timestamp, event } = item
  const of = { sequence, job_id, workflow_id, workspace_id, timestamp }
  const frame = { type: 'job_event', job_id, event: { ...of, ...eventBodyOf(event) } } as JobEventFrame
  framesByItem.set(item, frame)
  return frame
}

function eventBodyOf(event: EventBody): EventBody {
  return event instanceof LazyEvent ? event.body : event
}
