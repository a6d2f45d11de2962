// The actions in one life of the server: followers continue, interrupted requests are repeated, and new jobs are submitted.

import { PATIENCE_MS as TEST_PATIENCE_MS } from '../helpers/patience.ts'
import { attend } from './attend.ts'
import type { Deck } from './deck.ts'
import { followByPolling } from './followers/polling.ts'
import { followOverSse } from './followers/sse.ts'
import type { KindName } from './graphs.ts'
import { type Ledger, TrackedJob } from './ledger.ts'
import type { Life } from './life.ts'
import type { Random } from './random.ts'
import { openSocket, type WatchingSocket } from './sockets.ts'
import { stopUnderLoad } from './stopping.ts'
import { cancelAndKill, strike } from './strike.ts'
import { retry, submit } from './submit.ts'

/** The number of jobs that should run or wait in the queue. */
const CROWD = 18
/** The fewest acknowledgements between two kills. */
const LEAST_ACKNOWLEDGED = 3
/** The longest wait for acknowledgements, in milliseconds. */
const PATIENCE_MS = 20_000
/** The longest wait for a job that is to be cancelled, in milliseconds. */
const BEGIN_MS = 2_500
/** The delay before a stream of events is requested again, in milliseconds. */
const FOLLOW_AGAIN_MS = 100
/** How many of its chances to submit a job the crowd uses on a full disk. */
const TRIES_ON_FULL_DISK = 0.1
/** How long a disk is full, in milliseconds. */
const FULL_MS = [500, 3_000] as const
/** How often the kill comes during that time. */
const KILLED_FULL = 0.5

export class Scene {
  readonly #life: Life
  readonly #ledger: Ledger
  readonly #deck: Deck
  readonly #first: WatchingSocket
  readonly #second: WatchingSocket
  #acknowledged = 0
  /** Submissions under way. */
  #pending = 0
  #hurried = false

  private constructor(life: Life, deck: Deck, first: WatchingSocket, second: WatchingSocket) {
    this.#life = life
    this.#ledger = life.ledger
    this.#deck = deck
    this.#first = first
    this.#second = second
  }

  static async set(life: Life, deck: Deck): Promise<Scene> {
    const first = await openSocket('the first socket', life, 'binary')
    const second = await openSocket('the second socket', life, 'text')
    return new Scene(life, deck, first, second)
  }

  /** Continues with the jobs of earlier lives. `hurried`: nothing is delayed any more. */
  open(hurried: boolean): void {
    this.#hurried = hurried
    for (const job of this.#ledger.jobs) {
      if (job.acknowledged && !job.seenOff) this.#watch(job, true)
      if (!job.acknowledged && job.door === 'socket') this.#submit(job)
    }
  }

  /** Waits for a random time while the crowd is kept full. Returns the number of acknowledged submissions. */
  async play(random: Random): Promise<number> {
    const life = this.#life
    life.spawn('the crowd', async () => {
      await life.until(() => {
        // An immediate refusal makes room in the crowd at once.
        if (this.#missing() > 0 && (!life.short || random.chance(TRIES_ON_FULL_DISK))) this.#submit(this.#deck.draw())
        return false
      })
    })
    await life.pause(random.int(250, 1_500))
    const deadline = performance.now() + PATIENCE_MS
    await life.until(() => this.#acknowledged >= LEAST_ACKNOWLEDGED || performance.now() > deadline)
    if (this.#acknowledged < LEAST_ACKNOWLEDGED) throw new Error(`too little was acknowledged: ${this.#acknowledged}`)
    return this.#acknowledged
  }

  /**
   * Goes on while the disk has no room. Unless the kill is to come before, it then waits
   * for room and an acknowledgement. Returns which of the two happened.
   */
  async runShort(filled: Disposable, random: Random): Promise<string> {
    const life = this.#life
    this.#ledger.runShort()
    await life.pause(random.int(...FULL_MS))
    if (random.chance(KILLED_FULL)) {
      this.#ledger.killed_full++
      return 'while the disk is full'
    }
    filled[Symbol.dispose]()
    const [before, deadline] = [this.#acknowledged, performance.now() + TEST_PATIENCE_MS]
    await life.until(() => this.#acknowledged > before || performance.now() > deadline)
    if (this.#acknowledged === before) this.#ledger.complain('nothing was acknowledged after there was room again')
    return 'after the disk was full'
  }

  /** The number of jobs that the crowd lacks. Jobs that only wait for a client do not count. */
  #missing(): number {
    const busy = this.#ledger.living.filter(({ sse }) => sse.status !== 'suspended').length
    return CROWD - busy - this.#pending
  }

  /** Submits a job of this kind. */
  add(kind: KindName): TrackedJob {
    const job = this.#deck.make(kind)
    this.#submit(job)
    return job
  }

  /** Cancels a job right before the kill, which must come between the request and the job's end. It has three attempts. */
  async strike(data_dir: string): Promise<boolean> {
    const jobs = [this.add('burst'), this.add('burst'), this.add('burst')]
    for (const job of jobs) if (await strike(this.#life, job, data_dir)) return true
    return false
  }

  /** Makes the server stop while jobs are submitted. Returns the time of the signal. */
  stop(random: Random): Promise<number> {
    return stopUnderLoad(this.#life, this.#deck, this.#first, random)
  }

  /** Cancels a running job, and kills the server at its acknowledgement. Returns the time, or null without an acknowledgement. */
  async killAtCancellation(random: Random): Promise<number | null> {
    const job = this.add('burst')
    const patience = performance.now() + BEGIN_MS
    const begun = () => job.acknowledged && this.#ledger.counter.of(job.work.label).length > 0
    await this.#life.until(() => begun() || performance.now() > patience)
    return begun() ? cancelAndKill(this.#life, job, random.chance(0.6)) : null
  }

  /** Whether all followers have seen the end of all jobs. */
  get atRest(): boolean {
    return this.#ledger.jobs.every((job) => !job.acknowledged || this.#isOver(job))
  }

  /** Whether the sockets have seen it as well. */
  get told(): boolean {
    return this.#first.caughtUp && this.#second.caughtUp
  }

  #isOver(job: TrackedJob): boolean {
    return job.seenOff && (job.sse.status !== 'failed' || job.retried_at !== null || !this.#triesAgain(job))
  }

  /** Closes the sockets after the server has ended or is finished. */
  async clear(): Promise<void> {
    await this.#life.retire()
    for (const socket of [this.#first, this.#second]) await socket.finish(this.#ledger, this.#hurried)
  }

  #submit(job: TrackedJob): void {
    this.#life.spawn(`the submission of ${job.work.label}`, () => this.#submitted(job))
  }

  async #submitted(job: TrackedJob): Promise<void> {
    this.#pending++
    await submit(this.#life, job, this.#first).finally(() => this.#pending--)
    if (!job.acknowledged) return
    this.#acknowledged++
    if (job.door !== 'run') this.#watch(job, job.door !== 'socket')
  }

  /** Follows a job over every transport, and runs the other clients' actions. */
  #watch(job: TrackedJob, reconnect: boolean): void {
    const life = this.#life
    if (life.over) return
    const { job_id, sse, polled } = job
    life.spawn(`the SSE follower of ${job_id}`, async () => {
      const wrong = await this.#follow(job)
      if (wrong) life.complain(`${job_id}: ${wrong}`)
      if (sse.status === 'failed' && !life.over) await this.#tryAgain(job)
    })
    if (polled) life.spawn(`the polling follower of ${job_id}`, () => followByPolling(life, job_id!, polled))
    if (reconnect && job.door === 'socket') this.#first.reconnect(job)
    if (job.watched) this.#second.reconnect(job)
    attend(life, job, this.#first, this.#hurried)
  }

  /** Follows to the end. A server that cannot write the history of a job ends its event streams, so they are requested again. */
  async #follow({ job_id, sse }: TrackedJob): Promise<string | null> {
    const life = this.#life
    for (;;) {
      const wrong = sse.ended ? null : await followOverSse(life.follow_url, job_id!, sse, life.signal)
      if (wrong === null || !life.short) return wrong
      await life.pause(FOLLOW_AGAIN_MS)
    }
  }

  #triesAgain(job: TrackedJob): boolean {
    return !job.cancel_wanted && job.retriable
  }

  async #tryAgain(job: TrackedJob): Promise<void> {
    if (!this.#triesAgain(job) || job.retried_at !== null) return
    job.retried_at = Date.now()
    const next = new TrackedJob(job.work, 'retry', job.random.fork('retry'), job)
    next.job_id = await retry(this.#life, job)
    if (next.job_id === null) {
      job.shadowed = true
      return
    }
    next.acknowledged = true
    this.#ledger.track(next)
    this.#watch(next, true)
  }
}
