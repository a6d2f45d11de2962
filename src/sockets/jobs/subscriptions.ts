// The job subscriptions of a connection: all events of each job in order, from the client's position. They use the job's feed, so that no event is
// lost or doubled between replay and live events.
import { userShareKey } from '../../db/owner-scope.ts'
import { isDamagedDataError, ServiceError, toServiceError } from '../../errors.ts'
import { LazyEvent } from '../../events/lazy-event.ts'
import {
  createJobEventFrame,
  type EventJobFields,
  isEventItem,
  type JobEventItem,
} from '../../jobs/history/event-serializer.ts'
import { ChurnMap } from '../../shared/churn-map.ts'
import { toCommandError } from '../command-errors.ts'
import { AsyncMutex, holdLazyEvent } from '../frames/large-frames.ts'
import { type SocketOutlet, stopOnClose } from './followers.ts'
import { awaitHistoryRecovery } from './history-recovery.ts'

/** Jobs that a connection can be subscribed to at a time. */
export const MAX_SUBSCRIPTIONS = 1_000
/** Milliseconds of sending in one turn of the event loop. */
const TURN_MS = 5

/** The fields of a job that a subscription keeps. The row has the whole result, and a client may be slow. */
export type SubscribedJob = EventJobFields & { readonly key: number }

interface PreparedSubscription {
  readonly job: SubscribedJob
  readonly after: number
  /** Releases the subscription's place in the limit on followed jobs. */
  readonly release: () => void
}

export class JobSubscriptions {
  readonly #connection: SocketOutlet
  readonly #running = new ChurnMap<number, AbortController>()
  readonly #pumps = new Set<Promise<void>>()
  /** Subscriptions that begin when their reply is sent, by reply. Each has its place already. */
  readonly #prepared = new Map<object, PreparedSubscription>()
  readonly #large = new AsyncMutex()
  #waiting: Promise<void> | null = null
  #turn_ends = 0

  constructor(connection: SocketOutlet) {
    this.#connection = connection
    stopOnClose(
      connection,
      () => this.#running.values(),
      (stop) => stop.abort(),
    )
  }

  /**
   * Follows a job after the event `after` once `reply` is sent, replacing an earlier subscription to the job.
   * @throws RATE_LIMITED if the connection has as many subscriptions, or its user follows as many jobs, as is allowed
   */
  prepare(reply: object, job: SubscribedJob, after: number): void {
    if (!this.#hasCapacity(job.key)) {
      const message = `A socket can be subscribed to at most ${MAX_SUBSCRIPTIONS} jobs. Wait until some end, or open another socket.`
      throw new ServiceError('RATE_LIMITED', { message })
    }
    const { app, principal } = this.#connection
    const owner = userShareKey(principal)
    if (!this.#running.has(job.key)) app.transport.followed_jobs.requireCapacity(owner)
    this.#prepared.set(reply, { job, after, release: app.transport.followed_jobs.count(owner) })
  }

  /** Begins the prepared subscription, if any, once the reply of its command is sent. */
  beginAfterReply(reply: unknown): void {
    const prepared = this.#prepared.get(reply as object)
    if (!prepared) return
    this.#prepared.delete(reply as object)
    this.#begin(prepared)
  }

  /** Drops the prepared subscription, if any, since the reply of its command will not be sent. */
  discard(reply: unknown): void {
    this.#prepared.get(reply as object)?.release()
    this.#prepared.delete(reply as object)
  }

  /** A job that is followed already needs no further place. */
  #hasCapacity(key: number): boolean {
    const prepared = new Set([...this.#prepared.values()].map(({ job }) => job.key))
    if (prepared.has(key) || this.#running.has(key)) return true
    const replacing = [...prepared].filter((job_key) => this.#running.has(job_key)).length
    return this.#running.size + prepared.size - replacing < MAX_SUBSCRIPTIONS
  }

  /** Resolves when all events of the jobs that are followed now are sent. */
  async whenFinished(): Promise<void> {
    await Promise.all(this.#pumps)
  }

  #begin({ job, after, release }: PreparedSubscription): void {
    this.#running.get(job.key)?.abort()
    const stop = new AbortController()
    this.#running.set(job.key, stop)
    if (this.#connection.closed.aborted) stop.abort()
    const pump = this.#pump(job, after, stop.signal)
      .catch((thrown) => this.#reportFailure(job, thrown))
      .finally(() => {
        if (this.#running.get(job.key) === stop) this.#running.delete(job.key)
        this.#pumps.delete(pump)
        release()
      })
    this.#pumps.add(pump)
  }

  /** Ends a failed subscription with an error frame: the client could not notice otherwise. */
  #reportFailure({ id: job_id }: SubscribedJob, thrown: unknown): void {
    const { code, publicMessage: message, cause } = toCommandError(this.#connection, thrown)
    this.#connection.app.log.error({ err: cause ?? thrown, job_id }, 'a subscription failed')
    this.#connection.send({ error: 'unavailable', code, message, job_id })
  }

  async #pump(job: SubscribedJob, after: number, signal: AbortSignal): Promise<void> {
    const { app } = this.#connection
    let seen = after
    do {
      try {
        for await (const item of app.runs.events.follow(job.key, seen, signal)) {
          // Hundreds of sockets may be subscribed to the same job, and look at more items than they send.
          while (app.schedulers.reading.isTurnUsed && !signal.aborted) await this.#waitForCapacity()
          if (!isEventItem(item)) continue
          const isLarge = this.#isLarge(job, item)
          // Checked again right before sending: other waiters may have filled the buffer. Large events wait in `#deliver`.
          while (!isLarge && this.#isBlocked && !signal.aborted) await this.#waitForCapacity()
          // A newer subscription sends this event.
          if (signal.aborted) return
          await this.#deliver(job, item, isLarge, signal)
          if (signal.aborted) return
          seen = item.sequence
        }
        return
      } catch (thrown) {
        if (isDamagedDataError(thrown)) throw thrown
        const error = toServiceError(thrown)
        app.log.warn({ err: error.cause ?? error, job_id: job.id }, 'reading the history of a subscribed job failed')
      }
    } while ((await awaitHistoryRecovery(app, { ...this.#connection.principal, id: job.id }, signal)) === true)
  }

  /** Whether the event takes long to load or to encode. */
  #isLarge(job: SubscribedJob, item: JobEventItem): boolean {
    const { event } = item
    return event instanceof LazyEvent ? event.isLarge : this.#connection.isLarge(createJobEventFrame(job, item))
  }

  /** Whether the next event has to wait for the peer, or for the turns of others. */
  get #isBlocked(): boolean {
    return this.#connection.congested || performance.now() >= this.#turn_ends
  }

  /** Shares one wait among all subscriptions, which continue in their order, so that each job gets its turn. Events are never dropped. */
  #waitForCapacity(): Promise<void> {
    this.#waiting ??= this.#nextTurn().finally(() => {
      this.#waiting = null
    })
    return this.#waiting
  }

  async #nextTurn(): Promise<void> {
    if (this.#connection.congested) await this.#connection.drained()
    else await this.#connection.app.schedulers.reading.turn(userShareKey(this.#connection.principal))
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
        await item.event.prepareBody(connection.app.schedulers.slices, userShareKey(connection.principal))
      const frame = createJobEventFrame(job, item)
      if (!connection.isLarge(frame)) return connection.send(frame, true)
      release = await connection.holdLarge(frame)
      const send = await connection.encodeLarge(frame)
      while (connection.congested && !signal.aborted) await connection.drained()
      if (!signal.aborted) send()
    } catch (err) {
      // The client notices the gap, and requests a snapshot.
      this.#connection.app.log.error({ err, job_id: job.id }, 'an event could not be encoded')
    } finally {
      release?.()
    }
  }
}
