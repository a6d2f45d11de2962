// One job, whichever door it came through: its events as they happen, its result, its state, its cancellation.
import type { JobEvent, JobSnapshot, JobStatus, ResultManifest } from '../../../generated/types.ts'
import { raceAbort } from '../abortable-waits.ts'
import type { BackgroundTasks } from '../background-tasks.ts'
import { JobError } from '../errors.ts'
import { JobHistory, type SequenceRange } from './history.ts'
import type { JobTransport } from './transport.ts'

export interface AttachOptions {
  /** The last sequence that the caller has; events after it are given. Absent: 0, all of them. */
  after_sequence?: number
}

export interface WaitOptions {
  /** Aborting it gives up the wait; the job runs on. */
  signal?: AbortSignal
  /** True: aborting the wait cancels the job as well. The wait ends at once; the cancellation goes on in the background, within `times.cancel_ms`. */
  cancel_on_abort?: boolean
}

/** What a `Job` is made of. */
export interface JobParts {
  readonly job_id: string
  readonly getTransport: (signal?: AbortSignal) => Promise<JobTransport>
  readonly backgroundTasks: BackgroundTasks
  /** Aborted when the client is closed. */
  readonly closeSignal: AbortSignal
  readonly after_sequence?: number
  readonly status?: JobStatus
}

/**
 * A run of a workflow. It is followed while somebody iterates over it or waits for its result. Each iteration gives the whole history from
 * where the job was attached, in order, without gaps and each event once, and ends with the job.
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

  /** The state as far as it is known here; null before anything is. `snapshot()` asks the server. */
  get status(): JobStatus | null {
    return this.#history.status
  }

  /** The last sequence that has come: a later client may attach after it. */
  get last_sequence(): number {
    return this.#history.last_sequence
  }

  /** Ranges of events that could not be had, because they are past their retention. */
  get missed(): readonly SequenceRange[] {
    return this.#history.missingRanges
  }

  /**
   * The result of the completed job. Following begins when this is first read, and lasts to the end of the job.
   * Rejects with a `JobError` for a job that failed or was cancelled, with a `ServiceError` where it cannot be followed.
   */
  get result(): Promise<ResultManifest> {
    if (!this.#result) {
      this.#result = this.wait()
      // Who only iterates need not handle it as well.
      this.#result.catch(() => {})
    }
    return this.#result
  }

  /** As `result`, and given up when `signal` is aborted. */
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

  /** The events, from the first that this job has. @throws ServiceError where the job cannot be followed to its end */
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
   * Asks for the job to end; doing so again changes nothing. The snapshot given back is final only where its status is terminal: what runs
   * may still complete before the cancellation takes effect.
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

  /** Follows the job as long as anybody wants it. */
  #follow(): () => void {
    this.#followers++
    if (!this.#following && !this.#history.isComplete) this.#startFollowing()
    let left = false
    return () => {
      if (left) return
      left = true
      // Who goes from one way of reading to another does not lose the connection in between; what is left of a job that has ended is on its way.
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
        // Somebody may have come while the last one left.
        if (following.signal.aborted && !this.#closeSignal.aborted && this.#followers > 0) this.#startFollowing()
      })
  }
}

function resultOrThrow(snapshot: JobSnapshot): ResultManifest {
  if (snapshot.status !== 'completed') throw new JobError(snapshot)
  return snapshot.result
}
