// Who may run now and who waits: limits over all jobs, per user and per workflow, first come first served within them. Users share the places of
// those who wait.
import { ServiceError } from '../errors.ts'
import { isWithinFairShare } from '../shared/fair-share.ts'

/** With fewer places there are no shares: one user may take them all. */
const MIN_SHARED_PLACES = 8
/** So many jobs are told their places in one turn, and the next ones after a pause: thousands may wait, and each may be followed. */
const ANNOUNCED_AT_ONCE = 32
const ANNOUNCE_PAUSE_MS = 20

/** What decides whether a job may run now. */
interface SlotClaim {
  readonly user: string
  /** The workflow within its owner. */
  readonly workflow: string
  /** True: waits while another job of its workflow runs. */
  readonly exclusive: boolean
}

/** What the queue needs to know of a job. */
export interface QueueableJob extends SlotClaim {
  /** Called once when the job may run. */
  admit(): void
  /** Called when its place in the queue has changed: 1 for the next. */
  onPositionChanged(position: number): void
}

/** What a job would meet now: a slot, a place in the queue, or none. */
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
  /** The same jobs: most that end have not waited, and a long queue is not looked through for each of them. */
  readonly #queued = new WeakSet<QueueableJob>()
  /** Those of the waiting jobs that `open` has not let in. */
  readonly #restored = new Set<QueueableJob>()
  /** How many wait, by workflow. */
  readonly #waitingByWorkflow = new Map<string, number>()
  /** How many wait, by user. */
  readonly #waitingByUser = new Map<string, number>()
  /** From here on places are to be told; infinite where all are. */
  #nextToAnnounce = Number.POSITIVE_INFINITY
  /** The first place that has changed behind the back of those who are told now. */
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

  /** Takes a slot at once if there is one and nobody of its workflow waits already; the caller then starts the job itself. */
  tryTakeSlot(job: QueueableJob): boolean {
    return !this.#waitingByWorkflow.has(job.workflow) && this.#tryOccupySlot(job)
  }

  /** What a job like this would meet. It takes nothing. */
  forecastAdmission(job: SlotClaim): AdmissionForecast {
    if (!this.#waitingByWorkflow.has(job.workflow) && this.#fits(job)) return 'start'
    return this.#hasCapacity(job) ? 'wait' : 'full'
  }

  /** @throws QUEUE_FULL where a job like this would find no place now */
  requireCapacity(job: SlotClaim): void {
    if (this.forecastAdmission(job) === 'full') throw createQueueFullError()
  }

  /** Puts a job at the end. @throws QUEUE_FULL where there is no place, or the user has its share of them */
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

  /** The place of a waiting job, 1 for the next; 0 when it doesn't wait. */
  position(job: QueueableJob): number {
    // From the end: each job is told its place when it joins.
    return this.#queued.has(job) ? this.#waiting.lastIndexOf(job) + 1 : 0
  }

  /** Takes a waiting job out; tells whether it was there. Those that only waited behind it are admitted. */
  remove(job: QueueableJob): boolean {
    if (!this.#queued.has(job)) return false
    const at = this.#waiting.indexOf(job)
    this.#removeAt(at)
    this.#admitWaiting(at)
    return true
  }

  /**
   * Puts jobs of an earlier process at the end, beyond the limit if need be: they were accepted long ago. None of them is admitted before `open`, whoever
   * leaves meanwhile: what was found of them is not stored yet.
   */
  restore(jobs: readonly QueueableJob[]): void {
    for (const job of jobs) {
      this.#append(job)
      this.#restored.add(job)
    }
  }

  /** Admits those of the restored jobs who fit; all of them unless some are given. */
  admitRestored(jobs: Iterable<QueueableJob> = [...this.#restored]): void {
    for (const job of jobs) this.#restored.delete(job)
    this.#admitWaiting(0)
  }

  /** Admits nobody from now on. */
  close(): void {
    this.#isClosed = true
  }

  /** Gives back the slot of a job that has ended, and admits whoever fits now. */
  release(job: QueueableJob): void {
    this.#running--
    addToCount(this.#runningByUser, job.user, -1)
    addToCount(this.#runningByWorkflow, job.workflow, -1)
    if (this.#waiting.length > 0) this.#admitWaiting()
  }

  /** Places from `changed` on have moved already. */
  #admitWaiting(changed = Number.POSITIVE_INFINITY): void {
    this.#needsAnotherRound = true
    // A job that ends in the moment it is admitted gives its slot back in here: that asks for another round, it does not nest one.
    if (this.#isAdmitting || this.#isClosed) return
    this.#isAdmitting = true
    let first = changed
    try {
      while (this.#needsAnotherRound) {
        this.#needsAnotherRound = false
        first = Math.min(first, this.#admitRound())
      }
    } finally {
      // One that cannot be admitted must not keep all others waiting for ever.
      this.#isAdmitting = false
    }
    this.#announce(first)
  }

  /** Admits whoever fits, in order; gives the first place that became free. */
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

  /** Places that change while others are told wait for the end of that: who is at the end of a long queue is told as well. */
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
