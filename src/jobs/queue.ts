// The queue decides which jobs run and which wait. Limits hold over all jobs, per user and per workflow; within them the first job comes first. Users share
// the places of waiting jobs. A position counts the user's own jobs alone: a position among all jobs would tell how many jobs of others wait.
import { ServiceError } from '../errors.ts'
import { isWithinFairShare } from '../shared/fair-share.ts'
import { PositionAnnouncer, type PositionedJob } from './queue-positions.ts'

/** With fewer places there are no shares: a single user may take all. */
const MIN_SHARED_PLACES = 8

/** The fields of a job that decide whether it may run. */
interface SlotClaim {
  readonly user: string
  /** The workflow within its owner. */
  readonly workflow: string
  /** True: the job waits while another job of its workflow runs. */
  readonly exclusive: boolean
}

/** A job, as the queue handles it. */
export interface QueueableJob extends SlotClaim, PositionedJob {
  /** Called once when the job may run. */
  admit(): void
}

/** Whether a job would get a slot, a place in the queue, or neither. */
export type AdmissionForecast = 'start' | 'wait' | 'full'

export interface QueueLimits {
  readonly running: number
  readonly running_per_user: number
  readonly running_per_workflow: number
  readonly waiting: number
}

export class JobQueue {
  readonly #limits: QueueLimits
  readonly #runningByUser = new Map<string, number>()
  readonly #runningByWorkflow = new Map<string, number>()
  #running = 0
  #waiting: QueueableJob[] = []
  /** The same jobs as a set: most jobs end without having waited, and need no search through a long queue. */
  readonly #queued = new WeakSet<QueueableJob>()
  /** Waiting jobs that `admitRestored` has not released yet. */
  readonly #restored = new Set<QueueableJob>()
  /** Waiting jobs by workflow. */
  readonly #waitingByWorkflow = new Map<string, number>()
  /** Waiting jobs by user, in order. */
  readonly #waitingByUser = new Map<string, QueueableJob[]>()
  readonly #announcer = new PositionAnnouncer((user) => this.#waitingOf(user))
  #isClosed = false
  #isAdmitting = false
  #needsAnotherRound = false

  constructor(limits: QueueLimits) {
    this.#limits = limits
  }

  get running(): number {
    return this.#running
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** Takes a slot if there is one and no job of the workflow waits. The caller then starts the job. */
  tryTakeSlot(job: QueueableJob): boolean {
    return !this.#waitingByWorkflow.has(job.workflow) && this.#tryOccupySlot(job)
  }

  /** Predicts the outcome for a job, without reserving anything. */
  forecastAdmission(job: SlotClaim): AdmissionForecast {
    if (!this.#waitingByWorkflow.has(job.workflow) && this.#fits(job)) return 'start'
    return this.#hasCapacity(job) ? 'wait' : 'full'
  }

  /** @throws QUEUE_FULL where a job would get neither a slot nor a place */
  requireCapacity(job: SlotClaim): void {
    if (this.forecastAdmission(job) === 'full') throw createQueueFullError()
  }

  /** Puts a job at the end. @throws QUEUE_FULL where no place is free, or the user has its share */
  enqueue(job: QueueableJob): void {
    if (!this.#hasCapacity(job)) throw createQueueFullError()
    this.#append(job)
  }

  #hasCapacity({ user }: SlotClaim): boolean {
    const { length } = this.#waiting
    const { waiting } = this.#limits
    if (waiting < MIN_SHARED_PLACES) return length < waiting
    return isWithinFairShare(waiting, length, this.#waitingOf(user).length, 1)
  }

  #append(job: QueueableJob): void {
    this.#waiting.push(job)
    this.#queued.add(job)
    addToCount(this.#waitingByWorkflow, job.workflow, 1)
    const own = this.#waitingByUser.get(job.user)
    if (own) own.push(job)
    else this.#waitingByUser.set(job.user, [job])
  }

  #waitingOf(user: string): readonly QueueableJob[] {
    return this.#waitingByUser.get(user) ?? []
  }

  /** The position among the waiting jobs of its user, 1 for the first; 0 for a job that does not wait. */
  position(job: QueueableJob): number {
    // The search starts at the end, since each job asks for its position when it joins.
    return this.#queued.has(job) ? this.#waitingOf(job.user).lastIndexOf(job) + 1 : 0
  }

  /** Removes a waiting job, and returns whether it was there. Jobs that waited only behind it are admitted. */
  remove(job: QueueableJob): boolean {
    if (!this.#queued.has(job)) return false
    this.#removeAt(this.#waiting.indexOf(job))
    this.#admitWaiting()
    return true
  }

  /**
   * Puts jobs of an earlier process at the end, even beyond the limit, since they were accepted before. None of them is admitted before
   * `admitRestored`: their recovery is not stored yet.
   */
  restore(jobs: readonly QueueableJob[]): void {
    for (const job of jobs) {
      this.#append(job)
      this.#restored.add(job)
    }
  }

  /** Releases restored jobs, all by default, and admits those that fit. */
  admitRestored(jobs: Iterable<QueueableJob> = [...this.#restored]): void {
    for (const job of jobs) this.#restored.delete(job)
    this.#admitWaiting()
  }

  /** Admits no more jobs. */
  close(): void {
    this.#isClosed = true
    this.#announcer.close()
  }

  /** Frees the slot of a job, and admits waiting jobs that fit now. */
  release(job: QueueableJob): void {
    this.#running--
    addToCount(this.#runningByUser, job.user, -1)
    addToCount(this.#runningByWorkflow, job.workflow, -1)
    if (this.#waiting.length > 0) this.#admitWaiting()
  }

  #admitWaiting(): void {
    this.#needsAnotherRound = true
    // A job that ends during its admission releases its slot in here, which requests another round instead of a nested one.
    if (this.#isAdmitting || this.#isClosed) return
    this.#isAdmitting = true
    try {
      while (this.#needsAnotherRound) {
        this.#needsAnotherRound = false
        this.#admitRound()
      }
    } finally {
      // A job whose admission throws must not block all others.
      this.#isAdmitting = false
    }
    this.#announcer.announce()
  }

  /** Admits jobs that fit, in order. */
  #admitRound(): void {
    const blocked = new Set<string>()
    for (let at = 0; at < this.#waiting.length && this.#running < this.#limits.running; ) {
      const job = this.#waiting[at]!
      if (blocked.has(job.workflow) || this.#restored.has(job) || !this.#tryOccupySlot(job)) {
        blocked.add(job.workflow)
        at++
        continue
      }
      this.#removeAt(at)
      job.admit()
    }
  }

  #removeAt(at: number): void {
    const job = this.#waiting.splice(at, 1)[0]!
    this.#queued.delete(job)
    this.#restored.delete(job)
    addToCount(this.#waitingByWorkflow, job.workflow, -1)
    const own = this.#waitingByUser.get(job.user)!
    const place = own.indexOf(job)
    own.splice(place, 1)
    if (own.length === 0) this.#waitingByUser.delete(job.user)
    else this.#announcer.markChanged(job.user, place)
  }

  #tryOccupySlot(job: QueueableJob): boolean {
    if (!this.#fits(job)) return false
    this.#running++
    addToCount(this.#runningByUser, job.user, 1)
    addToCount(this.#runningByWorkflow, job.workflow, 1)
    return true
  }

  #fits(job: SlotClaim): boolean {
    const ofWorkflow = this.#runningByWorkflow.get(job.workflow) ?? 0
    return (
      this.#running < this.#limits.running &&
      (this.#runningByUser.get(job.user) ?? 0) < this.#limits.running_per_user &&
      ofWorkflow < (job.exclusive ? 1 : this.#limits.running_per_workflow)
    )
  }
}

function createQueueFullError(): ServiceError {
  return new ServiceError('QUEUE_FULL', { headers: { 'Retry-After': '5' } })
}

function addToCount(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}
