// Who may run now and who waits: limits over all jobs, per user and per workflow, first come first served within them. Users share the places of
// those who wait.
import { ServiceError } from '../errors.ts'
import { hasRoom } from '../shares.ts'

/** With fewer places there are no shares: one user may take them all. */
const FEWEST_SHARED = 8
/** So many jobs are told their places in one turn, and the next ones after a pause: thousands may wait, and each may be followed. */
const TOLD_AT_ONCE = 32
const TELLING_PAUSE_MS = 20

/** What decides whether a job may run now. */
interface Claim {
  readonly user: string
  /** The workflow within its owner. */
  readonly workflow: string
  /** True: waits while another job of its workflow runs. */
  readonly exclusive: boolean
}

/** What the queue needs to know of a job. */
export interface Contender extends Claim {
  /** Called once when the job may run. */
  admit(): void
  /** Called when its place in the queue has changed: 1 for the next. */
  moved(position: number): void
}

/** What a job would meet now: a slot, a place in the queue, or none. */
export type Outlook = 'start' | 'wait' | 'full'

export interface QueueLimits {
  readonly running: number
  readonly running_per_user: number
  readonly running_per_workflow: number
  readonly waiting: number
}

export class Queue {
  readonly #limits: QueueLimits
  readonly #users = new Map<string, number>()
  readonly #workflows = new Map<string, number>()
  #running = 0
  #waiting: Contender[] = []
  /** The same jobs: most that end have not waited, and a long queue is not looked through for each of them. */
  readonly #queued = new WeakSet<Contender>()
  /** Those of the waiting jobs that `open` has not let in. */
  readonly #restored = new Set<Contender>()
  /** How many wait, by workflow. */
  readonly #waitingOf = new Map<string, number>()
  /** How many wait, by user. */
  readonly #waitingUsers = new Map<string, number>()
  /** From here on places are to be told; infinite where all are. */
  #untold = Number.POSITIVE_INFINITY
  /** The first place that has changed behind the back of those who are told now. */
  #changed = Number.POSITIVE_INFINITY
  #telling: NodeJS.Timeout | null = null
  #closed = false
  #admitting = false
  #again = false

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
  take(job: Contender): boolean {
    return !this.#waitingOf.has(job.workflow) && this.#occupy(job)
  }

  /** What a job like this would meet. It takes nothing. */
  outlook(job: Claim): Outlook {
    if (!this.#waitingOf.has(job.workflow) && this.#fits(job)) return 'start'
    return this.#hasPlace(job) ? 'wait' : 'full'
  }

  /** @throws QUEUE_FULL where a job like this would find no place now */
  requirePlace(job: Claim): void {
    if (this.outlook(job) === 'full') throw full()
  }

  /** Puts a job at the end. @throws QUEUE_FULL where there is no place, or the user has its share of them */
  wait(job: Contender): void {
    if (!this.#hasPlace(job)) throw full()
    this.#append(job)
  }

  #hasPlace({ user }: Claim): boolean {
    const { length } = this.#waiting
    const { waiting } = this.#limits
    if (waiting < FEWEST_SHARED) return length < waiting
    return hasRoom(waiting, length, this.#waitingUsers.get(user) ?? 0, 1)
  }

  #append(job: Contender): void {
    this.#waiting.push(job)
    this.#queued.add(job)
    add(this.#waitingOf, job.workflow, 1)
    add(this.#waitingUsers, job.user, 1)
  }

  /** The place of a waiting job, 1 for the next; 0 when it doesn't wait. */
  position(job: Contender): number {
    // From the end: each job is told its place when it joins.
    return this.#queued.has(job) ? this.#waiting.lastIndexOf(job) + 1 : 0
  }

  /** Takes a waiting job out; tells whether it was there. Those that only waited behind it are admitted. */
  leave(job: Contender): boolean {
    if (!this.#queued.has(job)) return false
    const at = this.#waiting.indexOf(job)
    this.#remove(at)
    this.#admitWaiting(at)
    return true
  }

  /**
   * Puts jobs of an earlier process at the end, beyond the limit if need be: they were accepted long ago. None of them is admitted before `open`, whoever
   * leaves meanwhile: what was found of them is not stored yet.
   */
  restore(jobs: readonly Contender[]): void {
    for (const job of jobs) {
      this.#append(job)
      this.#restored.add(job)
    }
  }

  /** Admits those of the restored jobs who fit; all of them unless some are given. */
  open(jobs: Iterable<Contender> = [...this.#restored]): void {
    for (const job of jobs) this.#restored.delete(job)
    this.#admitWaiting(0)
  }

  /** Admits nobody from now on. */
  close(): void {
    this.#closed = true
  }

  /** Gives back the slot of a job that has ended, and admits whoever fits now. */
  release(job: Contender): void {
    this.#running--
    add(this.#users, job.user, -1)
    add(this.#workflows, job.workflow, -1)
    if (this.#waiting.length > 0) this.#admitWaiting()
  }

  /** Places from `changed` on have moved already. */
  #admitWaiting(changed = Number.POSITIVE_INFINITY): void {
    this.#again = true
    // A job that ends in the moment it is admitted gives its slot back in here: that asks for another round, it does not nest one.
    if (this.#admitting || this.#closed) return
    this.#admitting = true
    let first = changed
    try {
      while (this.#again) {
        this.#again = false
        first = Math.min(first, this.#admitRound())
      }
    } finally {
      // One that cannot be admitted must not keep all others waiting for ever.
      this.#admitting = false
    }
    this.#announce(first)
  }

  /** Admits whoever fits, in order; gives the first place that became free. */
  #admitRound(): number {
    let first = Number.POSITIVE_INFINITY
    const blocked = new Set<string>()
    for (let at = 0; at < this.#waiting.length && this.#running < this.#limits.running; ) {
      const job = this.#waiting[at]!
      if (blocked.has(job.workflow) || this.#restored.has(job) || !this.#occupy(job)) {
        blocked.add(job.workflow)
        at++
        continue
      }
      this.#remove(at)
      first = Math.min(first, at)
      job.admit()
    }
    return first
  }

  #remove(at: number): void {
    const [job] = this.#waiting.splice(at, 1)
    this.#queued.delete(job!)
    this.#restored.delete(job!)
    add(this.#waitingOf, job!.workflow, -1)
    add(this.#waitingUsers, job!.user, -1)
  }

  /** Places that change while others are told wait for the end of that: who is at the end of a long queue is told as well. */
  #announce(from: number): void {
    this.#changed = Math.min(this.#changed, from)
    if (this.#telling === null) this.#tell()
  }

  #tell(): void {
    this.#telling = null
    if (this.#untold === Number.POSITIVE_INFINITY) {
      this.#untold = this.#changed
      this.#changed = Number.POSITIVE_INFINITY
    }
    const end = Math.min(this.#untold + TOLD_AT_ONCE, this.#waiting.length)
    for (let at = this.#untold; at < end; at++) this.#waiting[at]?.moved(at + 1)
    this.#untold = end < this.#waiting.length ? end : Number.POSITIVE_INFINITY
    if (Math.min(this.#untold, this.#changed) === Number.POSITIVE_INFINITY || this.#closed) return
    this.#telling = setTimeout(() => this.#tell(), TELLING_PAUSE_MS).unref()
  }

  #occupy(job: Contender): boolean {
    if (!this.#fits(job)) return false
    this.#running++
    add(this.#users, job.user, 1)
    add(this.#workflows, job.workflow, 1)
    return true
  }

  #fits(job: Claim): boolean {
    const ofWorkflow = this.#workflows.get(job.workflow) ?? 0
    return (
      this.#running < this.#limits.running &&
      (this.#users.get(job.user) ?? 0) < this.#limits.running_per_user &&
      ofWorkflow < (job.exclusive ? 1 : this.#limits.running_per_workflow)
    )
  }
}

function full(): ServiceError {
  return new ServiceError('QUEUE_FULL', { headers: { 'Retry-After': '5' } })
}

function add(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}
