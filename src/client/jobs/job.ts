// One job over any transport: its events, its result, its state and its cancellation.
import type { JobEvent, JobSnapshot, JobStatus, ResultManifest } from '../../../generated/types.ts'
import { raceAbort } from '../abortable-waits.ts'
import type { BackgroundTasks } from '../background-tasks.ts'
import { JobError } from '../errors.ts'
import { JobHistory, type SequenceRange } from './history.ts'
import type { JobTransport } from './transport.ts'

export interface AttachOptions {
  /** The last sequence that the caller has. The job yields later events only. Absent: 0, so it yields all. */
  after_sequence?: number
}

export interface WaitOptions {
  /** Aborting it ends the wait. The job runs on. */
  signal?: AbortSignal
  /**
   * True: aborting the wait also cancels the job. The wait ends at once. The
   * cancellation goes on in the background, within `times.cancel_ms`.
   */
  cancel_on_abort?: boolean
}

/** The parts of a `Job`. */
export interface JobParts {
  readonly job_id: string
  readonly getTransport: (signal?: AbortSignal) => Promise<JobTransport>
  readonly backgroundTasks: BackgroundTasks
  /** Aborts when the client is closed. */
  readonly closeSignal: AbortSignal
  readonly after_sequence?: number
  readonly status?: JobStatus
}

/**
 * A run of a workflow. The client follows it while a caller iterates over it or waits for its result. Each iteration yields the whole
 * history since the job was attached, in order, without gaps and each event once. The iteration ends with the job.
 */
export class Job implements AsyncIterable<JobEvent> {
  readonly job_id: string
  readonly #getTransport: JobParts['getTransport']
  readonly #backgroundTasks: BackgroundTasks
  readonly #closeSignal: AbortSignal
  readonly #history: JobHistory
  #followers = 0
  #following: AbortController | null = null
  #result: Promise<ResultManifest> | null = null

  constructor({ job_id, getTransport, backgroundTasks, closeSignal, after_sequence, status }: JobParts) {
    this.job_id = job_id
    this.#backgroundTasks = backgroundTasks
    this.#getTransport = getTransport
    this.#closeSignal = closeSignal
    this.#history = new JobHistory(job_id, after_sequence)
    this.#history.status = status ?? null
  }

  /** The last known state; null before any is known. `snapshot()` asks the server. */
  get status(): JobStatus | null {
    return this.#history.status
  }

  /** The last sequence that has come. A later client may attach after it. */
  get last_sequence(): number {
    return this.#history.last_sequence
  }

  /** Ranges of events that were not available, because they are past their retention. */
  get missed(): readonly SequenceRange[] {
    return this.#history.missingRanges
  }

  /**
   * The result of the completed job. The first read starts following the job until its end. Rejects with a `JobError` where the job failed
   * or was cancelled, with a `ServiceError` where it cannot be followed.
   */
  get result(): Promise<ResultManifest> {
    if (!this.#result) {
      this.#result = this.wait()
      // A caller that only iterates does not have to handle the rejection.
      this.#result.catch(() => {})
    }
    return this.#result
  }

  /** Waits for `result`, until `signal` aborts. */
  async wait({ signal, cancel_on_abort = false }: WaitOptions = {}): Promise<ResultManifest> {
    const leave = this.#follow()
    try {
      return resultOrThrow(await raceAbort(this.#waitForEnd(), signal))
    } catch (error) {
      if (cancel_on_abort && signal?.aborted && this.#history.terminal === null)
        this.#backgroundTasks.run((limit) => this.cancel({ signal: limit }))
      throw error
    } finally {
      leave()
    }
  }

  [Symbol.asyncIterator](): AsyncGenerator<JobEvent, void, void> {
    return this.events()
  }

  /** Yields the events after the attach point. @throws ServiceError where the job cannot be followed to its end */
  async *events({ signal }: { signal?: AbortSignal } = {}): AsyncGenerator<JobEvent, void, void> {
    const leave = this.#follow()
    const { events, changed } = this.#history
    try {
      for (let at = 0; ; ) {
        signal?.throwIfAborted()
        const event = events[at]
        if (event) {
          at++
          yield event
        } else if (this.#history.isComplete) return
        else if (this.#history.failure) throw (this.#history.failure as { error: unknown }).error
        else await raceAbort(changed.waitForChange(), signal)
      }
    } finally {
      leave()
    }
  }

  /** Asks the server for the authoritative state. */
  async snapshot({ signal }: { signal?: AbortSignal } = {}): Promise<JobSnapshot> {
    const snapshot = await (await this.#getTransport(signal)).snapshot(this.job_id, signal)
    this.#history.applySnapshot(snapshot)
    return snapshot
  }

  /**
   * Requests the cancellation of the job. A repeated request has no effect. The returned snapshot is final only where its status is
   * terminal. Running nodes may still complete before the cancellation takes effect.
   */
  async cancel({ signal }: { signal?: AbortSignal } = {}): Promise<JobSnapshot> {
    const snapshot = await (await this.#getTransport(signal)).cancel(this.job_id, signal)
    this.#history.applySnapshot(snapshot)
    return snapshot
  }

  async #waitForEnd(): Promise<JobSnapshot> {
    const history = this.#history
    for (;;) {
      if (history.terminal) return history.terminal
      if (history.failure) throw (history.failure as { error: unknown }).error
      await history.changed.waitForChange()
    }
  }

  /** Follows the job as long as a caller needs it. */
  #follow(): () => void {
    this.#followers++
    if (!this.#following && !this.#history.isComplete) this.#startFollowing()
    let left = false
    return () => {
      if (left) return
      left = true
      // A caller that changes from iterating to waiting keeps the connection. For an ended job, the remaining events are still under way.
      if (--this.#followers === 0) setTimeout(() => this.#stopWhenUnfollowed(), 0)
    }
  }

  #stopWhenUnfollowed(): void {
    if (this.#followers === 0 && this.#history.terminal === null) this.#following?.abort()
  }

  #startFollowing(): void {
    const following = new AbortController()
    const end = () => following.abort(this.#closeSignal.reason)
    this.#following = following
    this.#history.failure = null
    this.#closeSignal.addEventListener('abort', end)
    if (this.#closeSignal.aborted) end()
    void (async () => {
      const door = await this.#getTransport(following.signal)
      await door.follow(this.job_id, this.#history, following.signal)
    })()
      .catch((error: unknown) => {
        if (this.#closeSignal.aborted || !following.signal.aborted) this.#history.fail(error)
      })
      .finally(() => {
        this.#closeSignal.removeEventListener('abort', end)
        this.#following = null
        // A new follower may have come while the last one left.
        if (following.signal.aborted && !this.#closeSignal.aborted && this.#followers > 0) this.#startFollowing()
      })
  }
}

function resultOrThrow(snapshot: JobSnapshot): ResultManifest {
  if (snapshot.status !== 'completed') throw new JobError(snapshot)
  return snapshot.result
}
