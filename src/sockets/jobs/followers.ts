// The jobs that a connection follows: a loop over the history of each, with the detail that the job was submitted with.
import type { Principal } from '../../access/principal.ts'
import type { AppContext } from '../../context.ts'
import { userShareKey } from '../../db/owner-scope.ts'
import type { JobTable } from '../../db/tables/jobs.ts'
import { toServiceError } from '../../errors.ts'
import type { FeedItem, JobFeed } from '../../events/job-feed.ts'
import { LazyEvent } from '../../events/lazy-event.ts'
import type { JobFrame } from '../../events/types.ts'
import { JobFrames } from '../../jobs/history/job-frames.ts'
import type { JobOptions } from '../../jobs/service.ts'
import { ChurnMap } from '../../shared/churn-map.ts'
import { forEachSteps, type TimeSliceScheduler } from '../../shared/time-slices.ts'
import { toCommandError } from '../command-errors.ts'
import { AsyncMutex, type FrameSender, holdLazyEvent } from '../frames/large-frames.ts'
import { StoredJobFrames } from './frames.ts'
import { awaitHistoryRecovery } from './history-recovery.ts'

type FollowDetail = JobOptions['event_detail'] | 'ending'

/** Frames about the work of nodes. */
const WORK_FRAMES = ['node_update', 'node_progress', 'edge_update', 'tool_call_update', 'tool_result_update'] as const

const FRAMES_BEFORE_END: ReadonlySet<JobFrame['type']> = new Set([
  ...WORK_FRAMES,
  'output_update',
  'chunk',
  'log_update',
])

/** Frames that are dropped at each level of detail; all others pass. `ending` is for a client that waits only for the end. */
const DROPPED_FRAMES: Readonly<Record<FollowDetail, ReadonlySet<JobFrame['type']>>> = {
  full: new Set(),
  outputs: new Set(WORK_FRAMES),
  terminal: FRAMES_BEFORE_END,
  ending: FRAMES_BEFORE_END,
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

/** Jobs whose reported sequence a connection remembers. For an older job everything is sent again. */
const MAX_REMEMBERED_JOBS = 1_000

/** Follows that are stopped in one step, after a socket has closed. */
const STOPPED_AT_ONCE = 16

/** The socket that sends the frames. */
export interface SocketOutlet extends FrameSender {
  readonly app: AppContext
  readonly principal: Principal
}

interface ClosingSocket extends Pick<FrameSender, 'closed' | 'reader'> {
  readonly app: { readonly schedulers: { readonly reading: Pick<TimeSliceScheduler, 'run'> } }
}

/** Stops all follows of a socket when it closes, in steps: a socket may follow very many jobs. */
export function stopOnClose<T>(
  { app, closed, reader }: ClosingSocket,
  running: () => Iterable<T>,
  stop: (one: T) => void,
): void {
  const stopAll = () => void app.schedulers.reading.run(reader.owner, forEachSteps(running(), stop, STOPPED_AT_ONCE))
  closed.addEventListener('abort', stopAll)
}

export class JobFollowers {
  readonly #connection: SocketOutlet
  readonly #running = new ChurnMap<number, { stop: AbortController; job_id: string }>()
  readonly #pumps = new Set<Promise<void>>()
  /** Jobs whose frames are held back, by id. */
  readonly #heldJobs = new ChurnMap<string, Promise<void>>()
  readonly #large = new AsyncMutex()
  /** By job, the last sequence whose outputs were sent at a reconnect. */
  readonly #reportedSequences = new Map<number, number>()

  constructor(connection: SocketOutlet) {
    this.#connection = connection
    stopOnClose(
      connection,
      () => this.#running.values(),
      ({ stop }) => stop.abort(),
    )
  }

  /** @throws RATE_LIMITED if the job is not followed yet, and no more jobs may be */
  requireCapacity(row: JobTable): void {
    if (!this.#running.has(row.key)) this.#connection.app.transport.followed_jobs.requireCapacity(userShareKey(row))
  }

  /** Whether this connection will get the end of the caller's job of this id. */
  isFollowing(job_id: string): boolean {
    return [...this.#running.values()].some((running) => running.job_id === job_id)
  }

  /** Holds back frames of a job until the returned function is called, so that an answer comes first. */
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

  /** Sends the frames of a job after the event `after`, until the job ends. Replaces an earlier loop for this job. */
  follow(row: JobTable, after: number, { detail = submittedDetail(row), feed }: FollowOptions = {}): void {
    this.stop(row.key)
    const stop = new AbortController()
    this.#running.set(row.key, { stop, job_id: row.id })
    const { app, closed } = this.#connection
    if (closed.aborted) stop.abort()
    const leave = app.transport.followed_jobs.count(userShareKey(row))
    const pump = this.#followWithRecovery(row, detail, { after, feed, signal: stop.signal })
      .catch((thrown) => this.#reportFailure(row, thrown))
      .finally(() => {
        if (this.#running.get(row.key)?.stop === stop) this.#running.delete(row.key)
        this.#pumps.delete(pump)
        leave()
      })
    this.#pumps.add(pump)
  }

  /** Resolves when all jobs that are followed now have ended, and their frames are sent. */
  async whenFinished(): Promise<void> {
    await Promise.all(this.#pumps)
  }

  /** The rest of the history cannot be read, so the client gets a failed job. */
  #reportFailure({ id: job_id, workflow_id }: JobTable, thrown: unknown): void {
    const error = toCommandError(this.#connection, thrown)
    this.#connection.app.log.error({ err: error.cause ?? error, job_id }, 'a follower failed')
    this.#connection.send(new JobFrames(job_id, workflow_id).failedCommand(error))
  }

  stop(job_key: number): void {
    this.#running.get(job_key)?.stop.abort()
    this.#running.delete(job_key)
  }

  /** What a frame has to wait for: an answer about the job, or a peer that has not read enough. */
  #findBlocker(job_id: string): Promise<void> | null {
    const held = this.#heldJobs.get(job_id)
    if (held) return held
    return this.#connection.congested ? this.#connection.drained() : null
  }

  /** Follows a job on when its history could not be written for a while: the job lives, so no frame may end it. */
  async #followWithRecovery(row: JobTable, detail: FollowDetail, { after, feed, signal }: FollowState): Promise<void> {
    const { app } = this.#connection
    const progress = { seen: after }
    for (let own = feed; ; own = undefined) {
      try {
        return await this.#pump(
          row,
          detail,
          app.runs.events.follow(row.key, progress.seen, signal, own),
          progress,
          signal,
        )
      } catch (thrown) {
        if (toServiceError(thrown).code !== 'SERVICE_UNAVAILABLE') throw thrown
        // The writer has logged the cause; here there would be a line for each socket and second.
        app.log.debug({ job_id: row.id }, 'reading the history of a followed job failed')
        const hasRecovered = await awaitHistoryRecovery(app, row, signal)
        if (hasRecovered === 'unknown') return
        if (!hasRecovered) throw thrown
      }
    }
  }

  /** Encodes a large frame when there is capacity, and sends it. Returns false if the loop was stopped. */
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
    const { reading } = connection.app.schedulers
    const storedFrames = new StoredJobFrames(row, connection.app.runs)
    for await (const item of items) {
      // Hundreds of sockets may follow the same job, and look at all its items.
      while (reading.isTurnUsed && !signal.aborted) await reading.turn(userShareKey(row))
      const release = holdLazyEvent(connection, item.event)
      try {
        if (!item.frame && item.event instanceof LazyEvent)
          await item.event.prepareBody(connection.app.schedulers.slices, userShareKey(row))
        // A frame from a stored event takes names and types from the graph.
        const preparing = item.frame ? null : connection.app.runs.jobs.preparePlan(row)
        if (preparing) await preparing
        const frame = item.frame ?? (item.event && storedFrames.ofEvent(item.event, item.sequence!))
        if (frame && isFrameIncluded(frame, detail) && !(connection.congested && isProvisional(item))) {
          // If the loop was replaced, the newer loop sends this item.
          if (connection.isLarge(frame)) {
            if (!(await this.#sendLarge(row.id, frame, signal))) return
          } else {
            // Checked again right before sending: other waiters may have filled the buffer.
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
