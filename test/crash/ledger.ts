// All requests of the harness and their acknowledgements, over all lives of the server.
import type { JobSnapshot, RunResult } from '../../generated/types.ts'
import type { Counter } from './counter.ts'
import type { Evidence, Fault, Killed, SocketTape } from './evidence.ts'
import { Recording } from './followers/recording.ts'
import type { KindName } from './graphs.ts'
import type { Random } from './random.ts'
import type { Work } from './work.ts'

/** `run` waits for the result, `http` runs in the background, `socket` sends `run_job`, `retry` retries another job. */
export type Door = 'run' | 'http' | 'socket' | 'retry'

export class TrackedJob {
  readonly work: Work
  door: Door
  readonly random: Random
  readonly retry_of: TrackedJob | null
  readonly submitted_at = Date.now()
  /** The harness chooses the id where the transport allows it. Otherwise it learns the id from the acknowledgement. */
  job_id: string | null
  acknowledged = false
  /** Whether the answer refused the submission, which means that nothing is stored. */
  refused = false
  /** Whether an error named the job, which may then be stored. */
  named = false
  readonly sse = new Recording('an SSE follower')
  readonly polled: Recording | null
  /** Whether a second socket follows the job. */
  readonly watched: boolean
  readonly sockets: SocketTape[] = []
  result: RunResult | null = null
  readonly seen: JobSnapshot[] = []
  readonly pushed: string[] = []
  readonly maybe_pushed: string[] = []
  input_ended = false
  answered = false
  /** For how many lives of the server the job is left waiting. */
  patience: number
  cancel_wanted: boolean
  cancelled = false
  /** Whether the job is retried where it fails. */
  readonly retriable: boolean
  /** When its retry was requested. */
  retried_at: number | null = null
  shadowed = false
  readonly kills: Killed[] = []
  /** Whether a disk was full during its life. */
  short = false
  /** Whether later kills cannot affect it. */
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

  /** Whether all followers have seen its end. */
  get seenOff(): boolean {
    return this.ended && (this.polled?.ended ?? true)
  }
}

/** How long a request from before an interruption may take to reach the witness, in milliseconds. */
const ON_THE_WAY_MS = 500

export class Ledger {
  readonly jobs: TrackedJob[] = []
  readonly complaints: string[] = []
  /** Submissions without an answer over transports with chosen ids, refusals, and errors that named a job. */
  lost = 0
  refusals = 0
  named = 0
  /** Cancellations that were acknowledged at the moment of a kill. */
  cut_cancellations = 0
  /** How often the disk was full, how often a server was killed meanwhile, and how many jobs that interrupted. */
  full_disks = 0
  killed_full = 0
  interrupted = 0
  /** Whether the disk is or was full in this life of the server. */
  short = false
  /** Unanswered submissions before this life, and stored jobs that no answer named. */
  #lost_before = 0
  #strangers_before = 0
  readonly counter: Counter
  /** The ids of the stored workflows. */
  readonly workflows = new Map<KindName, string>()
  #labels = 0

  constructor(counter: Counter) {
    this.counter = counter
  }

  /** Adds a job before or after its submission. */
  track(job: TrackedJob): void {
    job.short = this.short
    this.jobs.push(job)
  }

  newLabel(): string {
    return `j${++this.#labels}`
  }

  /** Paths that a run has to take, besides those of its jobs. */
  get ways(): Readonly<
    Record<'submission refused by a server that stops' | 'kill at an acknowledged cancellation', number>
  > {
    return {
      'submission refused by a server that stops': this.refusals,
      'kill at an acknowledged cancellation': this.cut_cancellations,
    }
  }

  /** Compares a server's data with its answers. A stored job whose submission was refused is one that a client would run twice. */
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

  /** Records that a disk is full from now on. */
  runShort(): void {
    this.full_disks++
    this.short = true
    for (const job of this.jobs) job.short ||= !job.settled
  }

  /**
   * Reads from a server's log which jobs it interrupted because it could not write
   * their histories. They continue from their stored data, as after a kill.
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

  /** Jobs that are known to exist and have not been seen to end. */
  get living(): TrackedJob[] {
    return this.jobs.filter((job) => job.acknowledged && !job.ended)
  }

  /** Returns the evidence of a job. */
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

  /** Events that do not match the contract. */
  invalid(): Fault[] {
    return this.jobs.flatMap(({ job_id, sse, polled }) =>
      [...sse.invalid, ...(polled?.invalid ?? [])].map((what): Fault => ({ kind: 'contradiction', job_id, what })),
    )
  }
}
