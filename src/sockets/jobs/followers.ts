// The jobs that one connection watches: a loop over the job's history for each, with the detail that the job was submitted with.
import type { AppContext } from '../../context.ts'
import { userShareKey } from '../../db/owner-scope.ts'
import type { JobTable } from '../../db/schema.ts'
import { toServiceError } from '../../errors.ts'
import type { FeedItem, JobFeed } from '../../events/job-feed.ts'
import { LazyEvent } from '../../events/lazy-event.ts'
import type { JobFrame } from '../../events/types.ts'
import { buildFailedUpdateFrame } from '../../jobs/history/job-update-frame.ts'
import type { JobOptions } from '../../jobs/service.ts'
import { ChurnMap } from '../../shared/churn-map.ts'
import { forEachSteps } from '../../shared/time-slices.ts'
import { AsyncMutex, type FrameSender, holdLazyEvent } from '../frames/large-frames.ts'
import { createEventFrame } from './frames.ts'
import { awaitHistoryRecovery } from './history-recovery.ts'

type FollowDetail = JobOptions['event_detail'] | 'ending'

/** What a node does with its tools. */
const TOOL_FRAMES = ['tool_call_update', 'tool_result_update'] as const

/** Frames that pass at each level of detail; what is not named here passes always. `ending` is for one who only waits for the end. */
const DROPPED_FRAMES: Readonly<Record<FollowDetail, ReadonlySet<JobFrame['type']>>> = {
  full: new Set(),
  outputs: new Set(['node_update', 'node_progress', 'edge_update', ...TOOL_FRAMES]),
  terminal: new Set([
    'node_update',
    'node_progress',
    'edge_update',
    'output_update',
    'chunk',
    'log_update',
    ...TOOL_FRAMES,
  ]),
  ending: new Set([
    'node_update',
    'node_progress',
    'edge_update',
    'output_update',
    'chunk',
    'log_update',
    ...TOOL_FRAMES,
  ]),
}

interface FollowOptions {
  detail?: FollowDetail
  /** The feed of a job that this connection has just started. */
  feed?: JobFeed
}

interface FollowState {
  readonly after: number
  readonly feed: JobFeed | undefined
  readonly signal: AbortSignal
}

/** Of how many jobs a connection remembers what it was told; an older one is told everything again. */
const MAX_REMEMBERED_JOBS = 1_000

/** How many are let go of in one step, when a socket has closed. */
const STOPPED_AT_ONCE = 16

/** The socket that frames go to. */
export interface SocketOutlet extends FrameSender {
  readonly app: AppContext
}

/** Stops all that a socket follows when it has closed, in steps: each by itself takes little, and one socket may follow very many. */
export function stopOnClose<T>(
  { app, closed, reader }: SocketOutlet,
  running: () => Iterable<T>,
  stop: (one: T) => void,
): void {
  const stopAll = () => void app.reading.run(reader.owner, forEachSteps(running(), stop, STOPPED_AT_ONCE))
  closed.addEventListener('abort', stopAll)
}

export class JobFollowers {
  readonly #connection: SocketOutlet
  readonly #running = new ChurnMap<number, { stop: AbortController; job_id: string }>()
  readonly #pumps = new Set<Promise<void>>()
  /** By id: jobs of which nothing is told for a moment. */
  readonly #heldJobs = new ChurnMap<string, Promise<void>>()
  readonly #large = new AsyncMutex()
  /** By job: the last sequence whose outputs this connection was told when it came back. */
  readonly #reportedSequences = new Map<number, number>()

  constructor(connection: SocketOutlet) {
    this.#connection = connection
    stopOnClose(
      connection,
      () => this.#running.values(),
      ({ stop }) => stop.abort(),
    )
  }

  /** @throws RATE_LIMITED where a job is not followed yet, and no more may be */
  requireCapacity(row: JobTable): void {
    if (!this.#running.has(row.key)) this.#connection.app.followed.requireCapacity(userShareKey(row))
  }

  /** Whether this connection will be told of the end of the caller's job of this id. */
  isFollowing(job_id: string): boolean {
    return [...this.#running.values()].some((running) => running.job_id === job_id)
  }

  /** Holds back what is to be told of a job, until the returned function is called: an answer is to come first. */
  hold(job_id: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#heldJobs.set(job_id, promise)
    return () => {
      this.#heldJobs.delete(job_id)
      resolve()
    }
  }

  lastReportedSequence(job_key: number): number {
    return this.#reportedSequences.get(job_key) ?? 0
  }

  recordReported(job_key: number, sequence: number): void {
    this.#reportedSequences.delete(job_key)
    this.#reportedSequences.set(job_key, sequence)
    if (this.#reportedSequences.size > MAX_REMEMBERED_JOBS)
      this.#reportedSequences.delete(this.#reportedSequences.keys().next().value!)
  }

  /** Sends what happens to a job after the event `after`, until it ends. A loop that runs for this job already is replaced. */
  follow(row: JobTable, after: number, { detail = submittedDetail(row), feed }: FollowOptions = {}): void {
    this.stop(row.key)
    const stop = new AbortController()
    this.#running.set(row.key, { stop, job_id: row.id })
    const { app, closed } = this.#connection
    if (closed.aborted) stop.abort()
    const leave = app.followed.count(userShareKey(row))
    const pump = this.#followWithRecovery(row, detail, { after, feed, signal: stop.signal })
      .catch((thrown) => this.#reportFailure(row, thrown))
      .finally(() => {
        if (this.#running.get(row.key)?.stop === stop) this.#running.delete(row.key)
        this.#pumps.delete(pump)
        leave()
      })
    this.#pumps.add(pump)
  }

  /** Resolves when everything is told of the jobs that are followed now: all of them have ended. */
  async whenFinished(): Promise<void> {
    await Promise.all(this.#pumps)
  }

  /** The history cannot be told to its end: for whoever watches, the job has failed. */
  #reportFailure({ id: job_id, workflow_id }: JobTable, thrown: unknown): void {
    const { app } = this.#connection
    const error = toServiceError(thrown)
    app.log.error({ err: error.cause ?? error, job_id }, 'a follower failed')
    this.#connection.send(buildFailedUpdateFrame(job_id, workflow_id, error))
  }

  stop(job_key: number): void {
    this.#running.get(job_key)?.stop.abort()
    this.#running.delete(job_key)
  }

  /** What has to come first: an answer about the job, or the peer, which has not taken enough. */
  #findBlocker(job_id: string): Promise<void> | null {
    const held = this.#heldJobs.get(job_id)
    if (held) return held
    return this.#connection.congested ? this.#connection.drained() : null
  }

  /** A history that cannot be written for a while is followed on when it can be: the job lives, and nothing is told that ends it. */
  async #followWithRecovery(row: JobTable, detail: FollowDetail, { after, feed, signal }: FollowState): Promise<void> {
    const { app } = this.#connection
    const progress = { seen: after }
    for (let own = feed; ; own = undefined) {
      try {
        return await this.#pump(row, detail, app.events.follow(row.key, progress.seen, signal, own), progress, signal)
      } catch (thrown) {
        if (toServiceError(thrown).code !== 'SERVICE_UNAVAILABLE') throw thrown
        // The log has been told why by whoever could not write it; here it would be told once for each socket and second.
        app.log.debug({ job_id: row.id }, 'the history of a job that is followed broke off')
        const hasRecovered = await awaitHistoryRecovery(app, row, signal)
        if (hasRecovered === 'unknown') return
        if (!hasRecovered) throw thrown
      }
    }
  }

  /** Encodes a large frame when there is room for it, and sends it; false where that is not wanted any more. */
  async #sendLarge(job_id: string, frame: JobFrame, signal: AbortSignal): Promise<boolean> {
    const release = await this.#connection.holdLarge(frame)
    const leave = await this.#large.acquire()
    try {
      for (let wait = this.#findBlocker(job_id); wait && !signal.aborted; wait = this.#findBlocker(job_id)) await wait
      if (signal.aborted) return false
      const send = await this.#connection.encodeLarge(frame)
      for (let wait = this.#findBlocker(job_id); wait && !signal.aborted; wait = this.#findBlocker(job_id)) await wait
      if (signal.aborted) return false
      send()
      return true
    } finally {
      leave()
      release()
    }
  }

  async #pump(
    row: JobTable,
    detail: FollowDetail,
    items: AsyncIterable<FeedItem>,
    progress: { seen: number },
    signal: AbortSignal,
  ): Promise<void> {
    const connection = this.#connection
    const { reading } = connection.app
    for await (const item of items) {
      // Hundreds of sockets may follow the same job, and each is told all of it, or looks at all of it.
      while (reading.isTurnUsed && !signal.aborted) await reading.turn(userShareKey(row))
      const release = holdLazyEvent(connection, item.event)
      try {
        if (!item.frame && item.event instanceof LazyEvent)
          await item.event.prepareBody(connection.app.slices, userShareKey(row))
        // A frame that is made of a stored event takes names and types from the graph.
        const preparing = item.frame ? null : connection.app.jobs.preparePlan(row)
        if (preparing) await preparing
        const frame = item.frame ?? (item.event && createEventFrame(row, item.event, item.sequence!, connection.app))
        if (frame && isFrameIncluded(frame, detail) && !(connection.congested && isProvisional(item))) {
          // Whoever replaced this loop has told of the item already.
          if (connection.isLarge(frame)) {
            if (!(await this.#sendLarge(row.id, frame, signal))) return
          } else {
            // Looked at again right before it is sent: others that waited as well may have taken the room.
            for (let wait = this.#findBlocker(row.id); wait && !signal.aborted; wait = this.#findBlocker(row.id))
              await wait
            if (signal.aborted) return
            connection.send(frame, item.frame !== null)
          }
          if (isEndFrame(frame)) this.#running.delete(row.key)
        }
        progress.seen = item.sequence ?? progress.seen
      } finally {
        release?.()
      }
    }
  }
}

function submittedDetail(row: JobTable): FollowDetail {
  return (JSON.parse(row.options) as JobOptions).event_detail
}

function isProvisional(item: FeedItem): boolean {
  return item.sequence === null
}

function isFrameIncluded(frame: JobFrame, detail: FollowDetail): boolean {
  if (!DROPPED_FRAMES[detail].has(frame.type)) return detail !== 'ending' || isEndFrame(frame)
  return detail !== 'ending' && frame.type === 'node_update' && frame.status === 'error'
}

function isEndFrame(frame: JobFrame): boolean {
  return frame.type === 'job_update' && ['completed', 'failed', 'cancelled'].includes(frame.status)
}
