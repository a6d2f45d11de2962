// One job while it lives: its row, its history, its execution. It moves through states by the table, writes every change with its event
// in one transaction, and tells whoever waits when that is committed. Who may run when is the service's business.
import type { JobStatus } from '../../generated/types.ts'
import { keepGraph } from '../db/graphs.ts'
import { insertJob, updateJob } from '../db/jobs.ts'
import type { JobTable } from '../db/schema.ts'
import { scopedKey } from '../db/scope.ts'
import type { Tx } from '../db/store.ts'
import type { Execution, Outcome } from '../engine/execution.ts'
import type { Plan } from '../engine/plan.ts'
import type { NodeServices } from '../engine/services.ts'
import { newRun } from '../engine/sub-workflow.ts'
import { ServiceError } from '../errors.ts'
import type { Feed } from '../events/feed.ts'
import type { EventLog } from '../events/log.ts'
import type { EventBody, JobFrame } from '../events/types.ts'
import { jsonText } from '../json.ts'
import type { Log } from '../log.ts'
import type { Platform } from '../platform.ts'
import type { CompiledGraph } from '../workflows/plans.ts'
import { EarlyInputs, type Inlet } from './early-inputs.ts'
import {
  CANCELLED,
  CANCELLED_BEFORE_START,
  type Ending,
  endingOf,
  interrupted,
  timedOut,
  UNWRITABLE,
  unwritable,
} from './endings.ts'
import { buildManifest, outputValues } from './manifest.ts'
import type { Contender } from './queue.ts'
import { recorder } from './recorder.ts'
import { snapshotOf } from './snapshot.ts'
import { isTerminal, next, publicStatus, socketStatus, type Trigger } from './states.ts'
import { Waiters } from './waiters.ts'

export interface ActiveJobParts {
  row: JobTable
  compiled: CompiledGraph
  plan: Plan
  params: Readonly<Record<string, unknown>>
  exclusive: boolean
  /** Seconds, or null for no limit. */
  timeout_seconds: number | null
  /** Whether the row is in the database already. */
  stored: boolean
  /** Whether its submitter will follow it from the start. */
  watched: boolean
  /** Whether values may be sent to its streamed inputs while it runs; otherwise they end at once. */
  fed: boolean
}

/** What a job needs of its surroundings. */
export interface JobHost {
  readonly events: EventLog
  readonly platform: Platform
  readonly log: Log
  /** Finds the plan of a workflow that a node of this job calls. */
  loadPlan(row: JobTable, workflow_id: string): Promise<Plan>
  /** What the nodes of a user's jobs may use. */
  servicesOf(user_id: string): NodeServices
  /** The job may run: its turn has come. */
  admitted(job: ActiveJob): void
  /** Nothing of the job runs any more. */
  released(job: ActiveJob): void
  /** The job's last event is committed, or its history could not be written. */
  gone(job: ActiveJob): void
  position(job: ActiveJob): number
}

export class ActiveJob implements Contender {
  readonly row: JobTable
  readonly plan: Plan
  readonly params: Readonly<Record<string, unknown>>
  readonly feed: Feed
  readonly user: string
  readonly workflow: string
  readonly exclusive: boolean
  readonly #compiled: CompiledGraph
  readonly #host: JobHost
  readonly #waiters: Waiters
  readonly #abort = new AbortController()
  readonly #timeout_seconds: number | null
  readonly #fed: boolean
  #execution: Execution | null = null
  #early: EarlyInputs | null = null
  #timer: NodeJS.Timeout | null = null
  #committing = false
  #stored: boolean
  #messages = 0
  #lost: ServiceError | null = null
  #forced: Ending | null = null
  #unwritable: Ending | null = null

  constructor(parts: ActiveJobParts, host: JobHost) {
    const { row } = parts
    this.row = row
    this.plan = parts.plan
    this.params = parts.params
    this.exclusive = parts.exclusive
    this.user = scopedKey(row)
    this.workflow = scopedKey(row, row.workflow_id)
    this.#timeout_seconds = parts.timeout_seconds
    this.#fed = parts.fed
    this.#compiled = parts.compiled
    this.#stored = parts.stored
    this.#host = host
    this.feed = host.events.open(row.key, row.last_sequence, parts.watched)
    this.#waiters = new Waiters(this.feed)
  }

  get status(): JobStatus {
    return publicStatus(this.row.status)
  }

  get terminal(): boolean {
    return isTerminal(this.row.status)
  }

  /** How many frames a follower of the whole job would have got. */
  get message_count(): number {
    return this.#messages
  }

  /** Takes what is sent to the job, whether it runs already or waits for its turn; null after the end. */
  get inlet(): Inlet | null {
    if (this.terminal || this.#lost) return null
    if (this.#execution) return this.#execution
    this.#early ??= new EarlyInputs(this.plan, this.params, this.#fed)
    return this.#early
  }

  /** Records that the job is admitted. */
  accept(): void {
    this.append({ type: 'job_status', status: 'accepted', queue_position: null, message: null }, null)
  }

  /** Records that the job waits for capacity. */
  enqueue(): void {
    this.#move('queue')
    const queue_position = this.#host.position(this)
    this.append(
      { type: 'job_status', status: 'queued', queue_position, message: null },
      this.#jobFrame({ queue_position }),
    )
  }

  /** The queue gave it a slot. */
  admit(): void {
    this.#host.admitted(this)
  }

  /** Its place in the queue has changed: said, not stored. */
  moved(queue_position: number): void {
    this.provisional(() => this.#jobFrame({ queue_position }))
  }

  /** Begins to execute. A graph whose nodes are all synchronous has ended when this returns. */
  start(): void {
    this.row.started_at = this.#host.platform.timestamp()
    this.#move('start')
    this.append({ type: 'job_status', status: 'running', queue_position: null, message: null }, this.#jobFrame({}))
    if (this.#timeout_seconds !== null) this.#armTimer(this.#timeout_seconds)
    const execution = this.#execute()
    this.#execution = execution
    if (!this.#fed) for (const input of this.plan.inputs) if (input.stream) execution.endInput(input.name)
    if (execution.outcome) this.#ended(execution.outcome)
    else void execution.done.then((outcome) => this.#ended(outcome))
  }

  /** What was sent while the job waited is there before the first node fires. */
  #execute(): Execution {
    const run = newRun(this.plan, {
      params: this.params as Record<string, unknown>,
      signal: this.#abort.signal,
      observer: recorder(this, this.#host.log),
      services: this.#host.servicesOf(this.row.user_id),
      loadPlan: (workflow_id) => this.#host.loadPlan(this.row, workflow_id),
    })
    this.#early?.applyTo(run)
    this.#early = null
    run.start()
    return run
  }

  /** Asks it to end: at once where it only waits, else as soon as its firings have settled. Without effect on one that has ended. */
  cancel(): void {
    if (this.row.status === 'cancel_requested' || next(this.row.status, 'cancel') === null) return
    if (next(this.row.status, 'cancel') === 'cancelled') return this.#finish(CANCELLED_BEFORE_START)
    this.#move('cancel')
    this.append({ type: 'job_status', status: 'cancel_requested', queue_position: null, message: null }, null)
    this.#abort.abort()
  }

  /** Ends it as failed whatever it does, because the server stops; as cancelled where that was asked for before. */
  interrupt(message: string): void {
    if (this.terminal) return
    const ending = this.row.status === 'cancel_requested' ? CANCELLED : interrupted(message)
    this.#forced = ending
    if (this.#execution === null) this.#finish(ending)
    else this.#abort.abort()
  }

  /** Stages a durable event, to be committed in this turn of the event loop together with the row. */
  append(event: EventBody, frame: JobFrame | null): void {
    this.feed.append(event, frame, this.#host.platform.timestamp())
    if (frame) this.#messages++
    this.#commitSoon()
  }

  /** A value of an output cannot be stored: the job fails there, whatever else its run says. */
  unwritable(node_id: string, output_name: string): void {
    this.#unwritable ??= unwritable(node_id, output_name)
  }

  /** Adds a frame that is only for those who watch now. */
  provisional(frame: () => JobFrame): void {
    this.#messages++
    if (this.feed.followed) this.feed.provisional(frame(), this.#host.platform.timestamp())
  }

  /** Resolves when the first event is committed: the job will not be lost any more. */
  accepted(): Promise<void> {
    return this.#waiters.until(1)
  }

  /** Resolves when the terminal event is committed. */
  settled(): Promise<void> {
    return this.#waiters.until(null)
  }

  /** Resolves when everything that has happened so far is committed. */
  flushed(): Promise<void> {
    return this.#waiters.until(this.feed.sequence)
  }

  #move(trigger: Trigger): void {
    const to = next(this.row.status, trigger)
    if (to === null) throw new Error(`a job that is ${this.row.status} cannot ${trigger}`)
    this.row.status = to
    this.row.updated_at = this.#host.platform.timestamp()
  }

  #armTimer(seconds: number): void {
    // A timer holds at most 2^31-1 ms; a longer limit is beyond any run of this process.
    const ms = Math.min(seconds * 1000, 2_147_483_647)
    this.#timer = setTimeout(() => {
      if (this.row.status === 'cancel_requested') return
      this.#forced = timedOut(seconds)
      this.#abort.abort()
    }, ms)
  }

  #ended(outcome: Outcome): void {
    if (this.#timer) clearTimeout(this.#timer)
    const forced = this.#unwritable ?? (outcome.status === 'cancelled' ? this.#forced : null)
    if (this.#lost === null) this.#finishAs(forced ?? endingOf(outcome))
    this.#host.released(this)
  }

  #finishAs(ending: Ending): void {
    const before = { ...this.row }
    try {
      this.#finish(ending)
    } catch (cause) {
      // A result beyond what one text can hold, for example. Nothing of it has been staged.
      Object.assign(this.row, before)
      this.#host.log.error({ err: cause, job_id: this.row.id }, 'the result of a job could not be written')
      this.#finish(UNWRITABLE)
    }
  }

  #finish({ trigger, error, outputs }: Ending): void {
    const now = this.#host.platform.timestamp()
    const { row } = this
    const result = outputs && jsonText(buildManifest(row, outputValues(this.plan, outputs), this.params, now))
    this.#move(trigger)
    row.finished_at = now
    row.error = error && JSON.stringify(error)
    row.result = result
    // The snapshot inside the event counts the event itself.
    row.last_sequence = this.feed.sequence + 1
    const snapshot = snapshotOf(row, () => this.#host.position(this))
    const frame = this.#jobFrame({
      ...(error ? { error: error.message } : {}),
      ...(outputs ? { result: { outputs } } : {}),
      duration: duration(row),
    })
    this.append({ type: 'job_terminal', status: snapshot.status, snapshot } as EventBody, frame)
  }

  #jobFrame(more: object): JobFrame {
    const { id: job_id, workflow_id, status } = this.row
    return { type: 'job_update', status: socketStatus(status), job_id, workflow_id, ...more } as JobFrame
  }

  #commitSoon(): void {
    if (this.#committing || this.#lost !== null) return
    this.#committing = true
    this.#host.events.commit(
      this.feed,
      (tx, last_sequence) => this.#writeRow(tx, last_sequence),
      (error) => this.#committed(error),
    )
  }

  #writeRow(tx: Tx, last_sequence: number): void {
    // Only what was staged before this moment is written; what comes later asks for a commit of its own.
    this.#committing = false
    this.row.last_sequence = last_sequence
    if (this.#stored) {
      if (!updateJob(tx, this.row)) throw new Error(`job ${this.row.key} is no longer this attempt's`)
      return
    }
    keepGraph(tx, this.#compiled.sha256, this.#compiled.body)
    insertJob(tx, this.row)
  }

  #committed(error: unknown): void {
    if (error !== null) return this.#lose(error)
    this.#stored = true
    this.#waiters.wake()
    if (this.feed.ended) this.#host.gone(this)
  }

  /** The history cannot be written: nothing that is not stored may be believed, so the job stops here. */
  #lose(cause: unknown): void {
    if (this.#lost !== null) return
    const lost = new ServiceError('SERVICE_UNAVAILABLE', { cause })
    this.#lost = lost
    this.#host.log.error({ err: cause, job_id: this.row.id }, 'the history of a job could not be written')
    this.#abort.abort()
    this.#host.events.abandon(this.feed)
    this.#waiters.lose(lost)
    this.#host.gone(this)
  }
}

/** Seconds from start to end; 0 for a job that never started. */
export function duration(row: JobTable): number {
  if (row.started_at === null || row.finished_at === null) return 0
  return (Date.parse(row.finished_at) - Date.parse(row.started_at)) / 1000
}
