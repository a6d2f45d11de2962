// One job that this process holds. It changes states by the table of state-machine.ts, and stages every change with its event. The queue decides when a
// job runs, the engine executes the run, and the writer stores the changes. Inputs, outputs and the journal are components of their own.
import type { JobStatus } from '../../generated/types.ts'
import type { JobTable } from '../db/tables/jobs.ts'
import type { Plan } from '../engine/compile/compiler.ts'
import { isDamagedDataError, ServiceError } from '../errors.ts'
import type { JobFeed } from '../events/job-feed.ts'
import type { EventBody } from '../events/types.ts'
import { type ActiveJobComponents, type ActiveJobParts, createComponents } from './active-job-components.ts'
import type { AdditionalWrite } from './commit/commit-range.ts'
import type { JobWriter } from './commit/job-writer.ts'
import { JobFrames } from './history/job-frames.ts'
import type { JobTimestamps } from './history/job-timestamps.ts'
import { terminateJob } from './history/terminal-event.ts'
import type { JobContext } from './job-context.ts'
import {
  CANCELLED_BEFORE_START_ENDING,
  CANCELLED_ENDING,
  createDamagedEnding,
  createInterruptedEnding,
  type JobEnding,
  WAITS_TOO_LARGE,
} from './job-endings.ts'
import type { ActiveJournal } from './journal/active-journal.ts'
import type { JournalEntry } from './journal/entry.ts'
import type { JobJournal } from './journal/job-journal.ts'
import type { JobOutputs } from './outputs/job-outputs.ts'
import { classifyWriteFailure, type HistoryWriteFailure, logWriteFailure } from './recovery/write-failure.ts'
import type { InputRouter } from './run/input-router.ts'
import type { JobAdmission } from './run/job-admission.ts'
import type { JobInputs } from './run/job-inputs.ts'
import { JobRun, type RunSuspension } from './run/job-run.ts'
import { isTerminal, type JobTrigger, nextStatus, requireNextStatus, toPublicStatus } from './state-machine.ts'
import { areWaitsTooLarge, clearWaits, setWaits } from './waits/stored-waits.ts'

type StatusEvent = Extract<EventBody, { type: 'job_status' }>

/** The holder of a job, which is told when the job needs less. */
export interface ActiveJobHost {
  queuePosition(job: ActiveJob): number
  /** Called when the run of the job has ended, so that its slot is free. */
  onReleased(job: ActiveJob): void
  /** Whether a failed write of the job's history has not been logged yet. */
  isFirstWriteFailure(job_key: number): boolean
  /** Called when the job leaves this process: its end or suspension is committed, or its history could not be written. */
  onDetached(job: ActiveJob, loss: HistoryWriteFailure | null): void
}

export class ActiveJob {
  readonly row: JobTable
  readonly plan: Plan
  readonly graph_bytes: number
  readonly user: string
  readonly admission: JobAdmission
  readonly outputs: JobOutputs
  readonly #context: JobContext
  readonly #host: ActiveJobHost
  readonly #components: ActiveJobComponents
  readonly #timestamps: JobTimestamps
  readonly #writer: JobWriter
  readonly #journal: ActiveJournal
  readonly #inputs: InputRouter
  #run: JobRun | null = null
  #isDetached = false

  constructor(parts: ActiveJobParts, context: JobContext, host: ActiveJobHost) {
    this.row = parts.row
    this.plan = parts.plan
    this.graph_bytes = parts.graph_bytes
    this.#context = context
    this.#host = host
    this.#components = createComponents(parts, context, {
      isActive: () => this.#isActive,
      run: () => this.#run,
      start: () => this.start(),
      release: () => host.onReleased(this),
      onCommitted: () => this.#onCommitted(),
      onCommandsRefused: () => this.#onCommandsRefused(),
      onWriteFailed: (cause) => this.#onWriteFailed(cause),
    })
    const { user, admission, outputs, timestamps, writer, journal, inputs } = this.#components
    this.user = user
    this.admission = admission
    this.outputs = outputs
    this.#timestamps = timestamps
    this.#writer = writer
    this.#journal = journal
    this.#inputs = inputs
  }

  /** @throws SERVICE_UNAVAILABLE where the journal cannot be read now: the job leaves the process, and is continued later */
  get journal(): JobJournal {
    return this.#journal.current
  }

  get feed(): JobFeed {
    return this.#writer.feed
  }

  get status(): JobStatus {
    return toPublicStatus(this.row.status)
  }

  get terminal(): boolean {
    return isTerminal(this.row.status)
  }

  /** Whether the job has left this process without having ended, for example since it is suspended. */
  get isDetached(): boolean {
    return this.#isDetached && !this.terminal
  }

  get #isActive(): boolean {
    return !this.#isDetached && !this.#writer.isClosed
  }

  /** The number of frames that a follower from the start would have received. */
  get message_count(): number {
    return this.#writer.message_count
  }

  /** Accepts inputs for the job, running or queued; null where the job cannot run any more. */
  get inputs(): JobInputs | null {
    return this.#inputs.open()
  }

  /** Resolves when the first event is committed, so that the job survives a crash. */
  accepted(): Promise<void> {
    return this.#writer.whenAccepted()
  }

  /** Resolves when the end or suspension of the job is committed. */
  settled(): Promise<void> {
    return this.#writer.whenSettled()
  }

  /** Resolves when all changes so far are committed. */
  flushed(): Promise<void> {
    return this.#writer.whenWritten()
  }

  /** Writes a further row in the next transaction of the job. */
  write(extra: AdditionalWrite): void {
    this.#writer.write(extra)
  }

  /** Stages a journal entry for the next commit. */
  remember(entry: JournalEntry): void {
    this.#journal.remember(entry)
  }

  // — state changes —

  #changeState(trigger: JobTrigger): void {
    this.row.status = requireNextStatus(this.row.status, trigger)
    this.row.updated_at = this.#timestamps.next()
  }

  #appendStatus(status: StatusEvent['status'], more: Partial<StatusEvent> = {}): void {
    const event: StatusEvent = { type: 'job_status', status, queue_position: null, message: null, ...more }
    this.#writer.append(event, new JobFrames(this.row.id, this.row.workflow_id).jobStatus(event))
  }

  /** Records that the job is admitted. */
  accept(): void {
    this.#appendStatus('accepted')
  }

  /** Records that the job waits for capacity. */
  enqueue(): void {
    clearWaits(this.row)
    this.#changeState('queue')
    this.#appendStatus('queued', { queue_position: this.#host.queuePosition(this) })
  }

  /** Records that the job is recovered after an earlier process. `orderly`: that process was asked to stop. */
  recover(message: string, orderly: boolean): void {
    this.row.attempt++
    this.#changeState('recover')
    if (!orderly) this.#journal.rememberRecovery()
    this.#appendStatus('recovering', { message })
  }

  /** Starts or resumes the run. A graph whose nodes are all synchronous has ended when this returns. */
  start(): void {
    const { row } = this
    if (!this.#canContinue()) return this.#host.onReleased(this)
    row.started_at ??= this.#timestamps.next()
    clearWaits(row)
    this.#changeState(nextStatus(row.status, 'resume') === null ? 'start' : 'resume')
    this.#appendStatus('running')
    const run = new JobRun({ ...this.#components, onEnded: (end) => this.#onRunEnded(end) })
    this.#run = run
    this.#inputs.beginRun(run.execution)
    run.start()
  }

  /** Reads the journal and the published history. False: they cannot be read, and the job has ended or is continued later. */
  #canContinue(): boolean {
    try {
      const { fault } = this.journal
      if (fault === null) this.#journal.loadPublished()
      else this.end(createInterruptedEnding(fault))
      return fault === null
    } catch (cause) {
      if (isDamagedDataError(cause)) this.endDamaged(true)
      else this.#writer.fail(cause)
      return false
    }
  }

  #onRunEnded(end: JobEnding | RunSuspension): void {
    if (this.#isActive) {
      if ('waiting' in end) this.#suspend(this.#run!, end)
      else this.#finishOrFail(end)
    }
    this.#host.onReleased(this)
  }

  #suspend({ deadline, recorder }: JobRun, { waiting }: RunSuspension): void {
    const { row, outputs } = this
    if (row.status === 'cancel_requested') return this.#finish(CANCELLED_ENDING)
    if (areWaitsTooLarge(waiting)) return this.#finishOrFail(WAITS_TOO_LARGE)
    setWaits(row, waiting, (value) => outputs.redact(value), deadline)
    if (deadline !== null) this.#context.deadlines.set(row.key, deadline)
    this.#run = null
    this.#inputs.endRun()
    outputs.holdBack(recorder)
    this.#isDetached = true
    this.#changeState('suspend')
    this.#appendStatus('suspended')
  }

  /**
   * Cancels the job: at once where nothing runs, else when its firings have settled. It resolves when the cancellation is stored, and does nothing for a job
   * that has ended or was cancelled before. @throws SERVICE_UNAVAILABLE where it cannot be stored: the job continues
   */
  cancel(): Promise<void> {
    if (!this.#isCancellable) return this.flushed()
    const { deadlines } = this.#context
    let before: { messages: number; deadline: number | undefined }
    return this.#writer.command({
      journalEntry: () => null,
      stage: () => {
        before = { messages: this.#writer.message_count, deadline: deadlines.get(this.row.key) }
        if (this.#isCancellable) this.#requestCancellation()
      },
      apply: () => {
        if (this.row.status === 'cancel_requested') this.#run?.abort()
      },
      rollBack: () => {
        if (before === undefined) return
        this.#writer.message_count = before.messages
        if (before.deadline !== undefined) deadlines.set(this.row.key, before.deadline)
      },
    })
  }

  get #isCancellable(): boolean {
    return this.row.status !== 'cancel_requested' && nextStatus(this.row.status, 'cancel') !== null
  }

  #requestCancellation(): void {
    this.outputs.publishHeldBack()
    if (nextStatus(this.row.status, 'cancel') === 'cancelled') return this.#finish(CANCELLED_BEFORE_START_ENDING)
    clearWaits(this.row)
    this.#changeState('cancel')
    this.#appendStatus('cancel_requested')
    if (!this.#run) this.#finish(CANCELLED_ENDING)
  }

  /** Ends a job that is not running. */
  end(ending: JobEnding): void {
    this.outputs.publishHeldBack()
    this.#finish(this.row.status === 'cancel_requested' ? CANCELLED_ENDING : ending)
  }

  /** Ends a job that is not running because its stored data is damaged. `retryable`: a retry does not need the damaged data. */
  endDamaged(retryable: boolean): void {
    this.#context.log.error({ job_id: this.row.id }, 'stored data of a job is damaged: the job ends')
    this.feed.canTrim = false
    this.end(createDamagedEnding(retryable))
  }

  #finishOrFail(ending: JobEnding): void {
    const before = { ...this.row }
    try {
      this.#finish(ending)
    } catch (cause) {
      // The result may be longer than a string can be, for example. Nothing of it was staged.
      Object.assign(this.row, before)
      this.#finish(this.outputs.createUnwritableEnding(cause))
    }
  }

  #finish(ending: JobEnding): void {
    const { row, outputs } = this
    this.#context.deadlines.delete(row.key)
    const sequence = this.feed.sequence + 1
    const { event, frame } = terminateJob({ row, outputs, sequence, now: this.#timestamps.next() }, ending)
    this.#writer.append(event, frame)
  }

  // — leaving the process —

  /**
   * Releases the job from a process that stops, or has no room; the job continues in the next process, or later. Uncommitted changes are lost. It does
   * nothing for a job whose history could not be written, since that job has left already.
   */
  detach(): void {
    if (this.#isDetached || this.#writer.hasEnded || this.#writer.isClosed) return
    this.#isDetached = true
    this.#writer.close(new ServiceError('SERVICE_UNAVAILABLE'))
    this.#run?.stop()
    this.#leave(null)
  }

  #leave(loss: HistoryWriteFailure | null): void {
    this.#journal.releaseMemory()
    this.#host.onDetached(this, loss)
  }

  #onCommitted(): void {
    if (this.#writer.hasEnded) this.#leave(null)
    else if (!this.#isDetached) this.admission.unloadJournal()
    else if (this.#writer.isClean) this.#leaveSuspended()
  }

  /** Detaches a suspended job again whose commands could not be stored. */
  #onCommandsRefused(): void {
    if (this.row.status !== 'paused' || this.#isDetached || this.#run) return
    this.#isDetached = true
    this.#leaveSuspended()
  }

  #leaveSuspended(): void {
    this.#writer.suspend()
    this.#leave(null)
  }

  #onWriteFailed(cause: unknown): void {
    logWriteFailure(this.#context, this.row, cause, () => this.#host.isFirstWriteFailure(this.row.key))
    this.#run?.stop()
    this.#leave(classifyWriteFailure(cause, this.#writer.canEndOnly(cause)))
    this.admission.continue()
  }
}
