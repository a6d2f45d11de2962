// The queue decides which jobs run and which wait. Limits hold over all jobs, per user and per workflow; within them the first job comes first. Users share
// the places of waiting jobs.
import { ServiceError } from '../errors.ts'
import { isWithinFairShare } from '../shared/fair-share.ts'

/** With fewer places there are no shares: a single user may take all. */
const MIN_SHARED_PLACES = 8
/** So many jobs get their new position in one turn, and the next ones after a pause: thousands may wait, and each may have followers. */
const ANNOUNCED_AT_ONCE = 32
const ANNOUNCE_PAUSE_MS = 20

/** The fields of a job that decide whether it may run. */
interface SlotClaim {
  readonly user: string
  /** The workflow within its owner. */
  readonly workflow: string
  /** True: the job waits while another job of its workflow runs. */
  readonly exclusive: boolean
}

/** A job, as the queue handles it. */
export interface QueueableJob extends SlotClaim {
  /** Called once when the job may run. */
  admit(): void
  /** Called when the queue position has changed; 1 is next. */
  onPositionChanged(position: number): void
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
  /** Waiting jobs by user. */
  readonly #waitingByUser = new Map<string, number>()
  /** The first index whose position must still be announced; infinite where none is left. */
  #nextToAnnounce = Number.POSITIVE_INFINITY
  /** The first index that has changed during the announcement under way. */
  #firstChanged = Number.POSITIVE_INFINITY
  #announceTimer: NodeJS.Timeout | null = null
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
    return isWithinFairShare(waiting, length, this.#waitingByUser.get(user) ?? 0, 1)
  }

  #append(job: QueueableJob): void {
    this.#waiting.push(job)
    this.#queued.add(job)
    addToCount(this.#waitingByWorkflow, job.workflow, 1)
    addToCount(this.#waitingByUser, job.user, 1)
  }

  /** The position of a waiting job, 1 for the next; 0 for any other job. */
  position(job: QueueableJob): number {
    // The search starts at the end, since each job asks for its position when it joins.
    return this.#queued.has(job) ? this.#waiting.lastIndexOf(job) + 1 : 0
  }

  /** Removes a waiting job, and returns whether it was there. Jobs that waited only behind it are admitted. */
  remove(job: QueueableJob): boolean {
    if (!this.#queued.has(job)) return false
    const at = this.#waiting.indexOf(job)
    this.#removeAt(at)
    this.#admitWaiting(at)
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
    this.#admitWaiting(0)
  }

  /** Admits no more jobs. */
  close(): void {
    this.#isClosed = true
  }

  /** Frees the slot of a job, and admits waiting jobs that fit now. */
  release(job: QueueableJob): void {
    this.#running--
    addToCount(this.#runningByUser, job.user, -1)
    addToCount(this.#runningByWorkflow, job.workflow, -1)
    if (this.#waiting.length > 0) this.#admitWaiting()
  }

  /** Positions from `changed` on have moved already. */
  #admitWaiting(changed = Number.POSITIVE_INFINITY): void {
    this.#needsAnotherRound = true
    // A job that ends during its admission releases its slot in here, which requests another round instead of a nested one.
    if (this.#isAdmitting || this.#isClosed) return
    this.#isAdmitting = true
    let first = changed
    try {
      while (this.#needsAnotherRound) {
        this.#needsAnotherRound = false
        first = Math.min(first, this.#admitRound())
      }
    } finally {
      // A job whose admission throws must not block all others.
      this.#isAdmitting = false
    }
    this.#announce(first)
  }

  /** Admits jobs that fit, in order, and returns the first index that became free. */
  #admitRound(): number {
    let first = Number.POSITIVE_INFINITY
    const blocked = new Set<string>()
    for (let at = 0; at < this.#waiting.length && this.#running < this.#limits.running; ) {
      const job = this.#waiting[at]!
      if (blocked.has(job.workflow) || this.#restored.has(job) || !this.#tryOccupySlot(job)) {
        blocked.add(job.workflow)
        at++
        continue
      }
      this.#removeAt(at)
      first = Math.min(first, at)
      job.admit()
    }
    return first
  }

  #removeAt(at: number): void {
    const [job] = this.#waiting.splice(at, 1)
    this.#queued.delete(job!)
    this.#restored.delete(job!)
    addToCount(this.#waitingByWorkflow, job!.workflow, -1)
    addToCount(this.#waitingByUser, job!.user, -1)
  }

  /** Changes during an announcement wait for its end, so that the end of a long queue is announced as well. */
  #announce(from: number): void {
    this.#firstChanged = Math.min(this.#firstChanged, from)
    if (this.#announceTimer === null) this.#announceSome()
  }

  #announceSome(): void {
    this.#announceTimer = null
    if (this.#nextToAnnounce === Number.POSITIVE_INFINITY) {
      this.#nextToAnnounce = this.#firstChanged
      this.#firstChanged = Number.POSITIVE_INFINITY
    }
    const end = Math.min(this.#nextToAnnounce + ANNOUNCED_AT_ONCE, this.#waiting.length)
    for (let at = this.#nextToAnnounce; at < end; at++) this.#waiting[at]?.onPositionChanged(at + 1)
    this.#nextToAnnounce = end < this.#waiting.length ? end : Number.POSITIVE_INFINITY
    if (Math.min(this.#nextToAnnounce, this.#firstChanged) === Number.POSITIVE_INFINITY || this.#isClosed) return
    this.#announceTimer = setTimeout(() => this.#announceSome(), ANNOUNCE_PAUSE_MS).unref()
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
