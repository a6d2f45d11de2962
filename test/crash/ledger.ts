// What the harness has asked for and been promised, over all lives of the server.
import type { JobSnapshot, RunResult } from '../../generated/types.ts'
import type { Counter } from './counter.ts'
import type { Evidence, Fault, Killed, SocketTape } from './evidence.ts'
import { Recording } from './followers/recording.ts'
import type { KindName } from './graphs.ts'
import type { Random } from './random.ts'
import type { Work } from './work.ts'

/** `run` waits for the result, `http` runs in the background, `socket` sends `run_job`, `retry` tries another job again. */
export type Door = 'run' | 'http' | 'socket' | 'retry'

export class TrackedJob {
  readonly work: Work
  door: Door
  readonly random: Random
  readonly retry_of: TrackedJob | null
  readonly submitted_at = Date.now()
  /** Chosen by the harness where the door lets it, else known with the acknowledgement. */
  job_id: string | null
  acknowledged = false
  /** Whether its submission was refused in words that say that nothing is stored. */
  refused = false
  /** Whether an error named it: it may be stored. */
  named = false
  readonly sse = new Recording('an SSE follower')
  readonly polled: Recording | null
  /** Whether a second socket watches. */
  readonly watched: boolean
  readonly sockets: SocketTape[] = []
  result: RunResult | null = null
  readonly seen: JobSnapshot[] = []
  readonly pushed: string[] = []
  readonly maybe_pushed: string[] = []
  input_ended = false
  answered = false
  /** For how many lives of the server it is left waiting. */
  patience: number
  cancel_wanted: boolean
  cancelled = false
  /** Whether it is tried again where it fails. */
  readonly retriable: boolean
  /** When it was asked to be tried again. */
  retried_at: number | null = null
  shadowed = false
  readonly kills: Killed[] = []
  /** Whether a disk was full while it lived. */
  short = false
  /** Whether later kills are none of its business. */
  settled = false

  constructor(work: Work, door: Door, random: Random, retry_of: TrackedJob | null = null) {
    this.work = work
    this.door = door
    this.random = random
    this.retry_of = retry_of
    this.job_id = door === 'socket' ? work.label : null
    this.polled = door !== 'run' && random.chance(0.3) ? new Recording('a polling follower') : null
    this.watched = random.chance(0.4)
    this.patience = random.int(0, 2)
    this.retriable = random.chance(0.7)
    this.cancel_wanted = work.doomed
  }

  get ended(): boolean {
    return this.door === 'run' ? this.acknowledged : this.sse.ended
  }

  /** Whether all that follow it have seen its end. */
  get seenOff(): boolean {
    return this.ended && (this.polled?.ended ?? true)
  }
}

/** How long a request that was sent before an interruption may be on its way to the witness, in milliseconds. */
const ON_THE_WAY_MS = 500

export class Ledger {
  readonly jobs: TrackedJob[] = []
  readonly complaints: string[] = []
  /** Submissions without an answer, through doors that choose the id; refusals; and errors that named a job. */
  lost = 0
  refusals = 0
  named = 0
  /** Cancellations that were acknowledged in the moment of a kill. */
  cut_cancellations = 0
  /** How often the disk was full for a while, how often a server was killed meanwhile, and how many jobs that interrupted. */
  full_disks = 0
  killed_full = 0
  interrupted = 0
  /** Whether the disk is full, or was, in this life of the server. */
  short = false
  /** How many of those without an answer were counted before this life, and how many stored jobs nobody had been told of. */
  #lost_before = 0
  #strangers_before = 0
  readonly counter: Counter
  /** Ids of the stored workflows. */
  readonly workflows = new Map<KindName, string>()
  #labels = 0

  constructor(counter: Counter) {
    this.counter = counter
  }

  /** Takes up a job that is about to be submitted, or was. */
  track(job: TrackedJob): void {
    job.short = this.short
    this.jobs.push(job)
  }

  newLabel(): string {
    return `j${++this.#labels}`
  }

  /** Ways that a run has to take, besides those that its jobs show. */
  get ways(): Readonly<
    Record<'submission refused by a server that stops' | 'kill at an acknowledged cancellation', number>
  > {
    return {
      'submission refused by a server that stops': this.refusals,
      'kill at an acknowledged cancellation': this.cut_cancellations,
    }
  }

  /**
   * Holds what a server left against what it had answered: a job that is stored though its submission was refused is one that a client runs twice.
   */
  judgeRefusals(stored: ReadonlySet<string>): void {
    for (const job of this.jobs) {
      if (job.refused && stored.has(job.job_id!)) this.complain(`${job.job_id} was refused, and is stored all the same`)
      if (job.refused) job.refused = false
      if (!job.named) continue
      job.named = false
      if (stored.has(job.job_id!)) job.acknowledged = true
      else job.job_id = null
    }
    const known = new Set(this.jobs.map(({ job_id }) => job_id))
    const strangers = [...stored].filter((id) => !known.has(id)).length
    const [came, lost] = [strangers - this.#strangers_before, this.lost - this.#lost_before]
    if (came > lost)
      this.complain(`${came} jobs are stored that nobody was told of, and ${lost} submissions had no answer`)
    this.#strangers_before = strangers
    this.#lost_before = this.lost
  }

  /** A disk is full from now on. */
  runShort(): void {
    this.full_disks++
    this.short = true
    for (const job of this.jobs) job.short ||= !job.settled
  }

  /**
   * Takes from a server's log which jobs it interrupted because it could not write their histories: they go on from what is stored, as after a kill.
   */
  interrupt(log: readonly string[]): void {
    for (const line of log) {
      if (!line.includes('"msg":"the history of a job could not be written"')) continue
      const { time, job_id } = JSON.parse(line) as { time: number | string; job_id: string }
      const at = new Date(time).getTime()
      this.interrupted++
      this.jobs.find((job) => job.job_id === job_id)?.kills.push({ at, until: at + ON_THE_WAY_MS, status: 'running' })
    }
  }

  complain(what: string): void {
    this.complaints.push(what)
  }

  /** Jobs that are known to be there and have not been seen to end. */
  get living(): TrackedJob[] {
    return this.jobs.filter((job) => job.acknowledged && !job.ended)
  }

  /** What is known of a job. */
  evidence(job: TrackedJob, end: Pick<Evidence, 'snapshot' | 'log' | 'saved'>): Evidence {
    const { work, sse, polled } = job
    const until = job.retried_at ?? Number.POSITIVE_INFINITY
    const recordings = [sse, ...(polled ? [polled] : [])].filter(() => job.door !== 'run')
    return {
      ...end,
      job_id: job.job_id!,
      work,
      acknowledged: job.acknowledged,
      result: job.result,
      seen: job.seen,
      tapes: recordings.map(({ follower, events }) => ({ follower, events, whole: job.acknowledged })),
      sockets: job.sockets,
      calls: this.counter.of(work.label).filter(({ begun_at }) => begun_at >= job.submitted_at && begun_at < until),
      pushed: job.pushed,
      maybe_pushed: job.maybe_pushed,
      kills: job.kills,
      cancelled: job.cancelled,
      cancel_wanted: job.cancel_wanted,
      retry_of: null,
      shadowed: job.shadowed,
      short: job.short,
    }
  }

  /** Events that are not what the contract says. */
  invalid(): Fault[] {
    return this.jobs.flatMap(({ job_id, sse, polled }) =>
      [...sse.invalid, ...(polled?.invalid ?? [])].map((what): Fault => ({ kind: 'contradiction', job_id, what })),
    )
  }
}
