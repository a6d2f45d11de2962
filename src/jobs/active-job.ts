// One job that this process holds. It changes states by the table of state-machine.ts, and stages every change with its event. The queue decides when a
// job runs, the engine executes the run, and the writer stores the changes.
import type { JobStatus, ResultManifest } from '../../generated/types.ts'
import { type OwnerScope, ownerScopeKey, userShareKey } from '../db/owner-scope.ts'
import type { JobTable } from '../db/schema.ts'
import type { Plan } from '../engine/compile/compiler.ts'
import type { FiringHistory, WaitingFiring } from '../engine/durability/journal.ts'
import type { ModelUsage, NodeServices, ReserveCost } from '../engine/node-api/node-services.ts'
import type { InputValues } from '../engine/node-api/node-type.ts'
import type { Execution, InputsInTransit, RunOutcome } from '../engine/runtime/execution.ts'
import { resolvePropertyUpdates } from '../engine/runtime/property-updates.ts'
import type { ProcessMemoryAccount } from '../engine/runtime/run/memory-account.ts'
import type { RunError } from '../engine/runtime/run/observer.ts'
import { isDamagedDataError, ServiceError, toServiceError } from '../errors.ts'
import type { JobFeed } from '../events/job-feed.ts'
import type { EventLog } from '../events/log.ts'
import type { EventBody, EventFrame, JobFrame } from '../events/types.ts'
import { type Log, logFailure } from '../log.ts'
import { MemoryUnavailableError } from '../payloads/fair-memory-account.ts'
import type { Platform } from '../platform.ts'
import type { TimeSliceScheduler } from '../shared/time-slices.ts'
import type { CompiledWorkflowGraph } from '../workflows/plan-cache.ts'
import type { ActiveJobCommand } from './commit/command-queue.ts'
import type { AdditionalWrite } from './commit/commit-range.ts'
import { writeResultParts, writeRowsEarly } from './commit/early-writes.ts'
import { JobWriter } from './commit/job-writer.ts'
import { JobTimestamps } from './history/job-timestamps.ts'
import { buildJobUpdateFrame } from './history/job-update-frame.ts'
import { PublishedHistory } from './history/published-history.ts'
import { terminateJob } from './history/terminal-event.ts'
import {
  CANCELLED_BEFORE_START_ENDING,
  CANCELLED_ENDING,
  createDamagedEnding,
  createInterruptedEnding,
  createTimedOutEnding,
  createUnwritableResultEnding,
  createUnwritableValueEnding,
  type JobEnding,
  toJobEnding,
  WAITS_TOO_LARGE,
} from './job-endings.ts'
import type { JournalEntry } from './journal/entry.ts'
import type { JobJournal } from './journal/job-journal.ts'
import { type JournalLoader, UNREADABLE_JOURNAL } from './journal/loader.ts'
import type { RunJournalHost } from './journal/run-journal.ts'
import { isLargeResult, LargeValuePreparer, type ResultValues } from './outputs/large-value-preparer.ts'
import { OutputPublication, type OutputPublisher, type PublishedOutputValue } from './outputs/publication.ts'
import { buildResultManifest } from './outputs/result-manifest.ts'
import type { QueueableJob } from './queue.ts'
import { TransientFileError, toTransientFault } from './recovery/transient-faults.ts'
import type { UnreadableJobs } from './recovery/unreadable-jobs.ts'
import type { RedactingTextStream } from './run/chunk-redactor.ts'
import { InputCounts, type InputReceiver, JobInputs, type JobInputsHost } from './run/job-inputs.ts'
import { JobRun } from './run/job-run.ts'
import { type JobModelUsage, meterModelServices } from './run/model-usage.ts'
import { QueuedJobInputs } from './run/queued-job-inputs.ts'
import { createRunRecorder, type RunRecorder } from './run/recorder.ts'
import { isTerminal, type JobTrigger, nextStatus, requireNextStatus, toPublicStatus } from './state-machine.ts'
import { parseStoredOptions, resolveDeadline, type StoredOptions } from './submission/stored-options.ts'
import { LazyValue } from './values/lazy-value.ts'
import type { SteadyClock } from './waits/steady-clock.ts'
import { areWaitsTooLarge, findEarliestWake, toStoredWaits } from './waits/stored-waits.ts'

export interface ActiveJobParts {
  row: JobTable
  /** The graph to store with the row; null where both are stored already. */
  unstored: CompiledWorkflowGraph | null
  plan: Plan
  /** About how much memory the compiled graph takes. */
  graph_bytes: number
  /** The journal; null: it is read when it is needed, since a job may wait for long. */
  journal: JobJournal | null
  /** The published history, where it was read with the journal. */
  publishedHistory?: PublishedHistory | null
  /** Whether the submitter will follow the job from the start. */
  hasFollower: boolean
}

/** How lasting a failed write of the history is. `for_now`: a later write may succeed. `damaged`: the job can still be ended. `for_good`: not even that. */
export type HistoryWriteFailure = 'for_now' | 'damaged' | 'for_good'

/** The services that a job uses. */
export interface ActiveJobHost {
  readonly events: EventLog
  readonly platform: Platform
  readonly steady: SteadyClock
  readonly deadlines: Map<number, number>
  readonly log: Log
  /** Runs long work in time slices of the owners. */
  readonly slices: TimeSliceScheduler
  /** The publisher that redacts and stores the values of an owner's jobs. */
  publisherOf(owner: OwnerScope): OutputPublisher
  /** Loads the plan of a called workflow, and its graph as JSON text. `pinned` is the graph that the job called before. */
  loadPlan(row: JobTable, workflow_id: string, pinned: string | null): Promise<{ plan: Plan; body: string }>
  /** The approximate memory of a called plan, in bytes; 0 for a small plan. */
  bytesOf(plan: Plan): number
  /** The most bytes of values that a job may hold at once. */
  readonly memory_limit: number
  /** The account that the runs of all jobs share. */
  readonly shared_memory: ProcessMemoryAccount
  /** The services for the nodes of an owner's jobs. */
  servicesOf(job: JobTable): NodeServices
  /** Reserves the cost of model calls within the job's budget, given what it has spent; null: the job has no budget. */
  budgetOf(spending: () => JobModelUsage): ReserveCost | null
  /** Loads the node statuses and output values that a job has published. */
  loadPublishedHistory(row: JobTable): PublishedHistory
  /** Loads the journals of stored jobs. */
  readonly journals: Pick<JournalLoader, 'prepare' | 'take' | 'of'>
  /** Called when the job may run. */
  onAdmitted(job: ActiveJob): void
  /** Called when the run of the job has ended, so that its slot is free. */
  onReleased(job: ActiveJob): void
  /** Whether a failed write of the job's history has not been logged yet. */
  isFirstWriteFailure(job_key: number): boolean
  /** The jobs that wait because a file cannot be read now. */
  readonly unreadableJobs: Pick<UnreadableJobs, 'failed'>
  /** Called when the job leaves this process: its end or suspension is committed, or its history could not be written. */
  onDetached(job: ActiveJob, loss: HistoryWriteFailure | null): void
  queuePosition(job: ActiveJob): number
}

export class ActiveJob implements QueueableJob, RunJournalHost, JobInputsHost {
  readonly row: JobTable
  readonly plan: Plan
  readonly graph_bytes: number
  readonly user: string
  readonly workflow: string
  readonly exclusive: boolean
  readonly #host: ActiveJobHost
  readonly #options: StoredOptions
  readonly #writer: JobWriter
  readonly #publisher: OutputPublisher
  readonly #publication: OutputPublication
  /** Null for most jobs, which have no large values. */
  #largeValuePreparer: LargeValuePreparer | null = null
  #loadedJournal: JobJournal | null = null
  #run: JobRun | null = null
  #recorder: RunRecorder | null = null
  /** The execution of the last run, which may be over. */
  #execution: Execution | null = null
  #queuedInputs: QueuedJobInputs | null = null
  readonly #inputCounts = new InputCounts()
  /** The job was admitted while it was not known whether a command is stored. */
  #isAdmitted = false
  /** The journal was loaded for the run, as far as it could be read. */
  #isJournalPrepared = false
  /** Null until it is read, for a job that has started before. */
  #publishedHistory: PublishedHistory | null = null
  /** Whether the job was recovered, and has recorded no entry since. */
  #isIdleSinceRecovery = false
  #forcedEnding: JobEnding | null = null
  /** An ending that overrides the outcome of the run. */
  #fatalEnding: JobEnding | null = null
  #isDetached = false
  /** The end of the time limit, by the steady clock; null: no limit. */
  #deadline: number | null = null
  readonly #timestamps: JobTimestamps

  constructor(parts: ActiveJobParts, host: ActiveJobHost) {
    const { row } = parts
    this.row = row
    this.plan = parts.plan
    this.graph_bytes = parts.graph_bytes
    this.#options = parseStoredOptions(row)
    this.exclusive = !this.#options.concurrent
    this.user = userShareKey(row)
    this.workflow = ownerScopeKey(row, row.workflow_id)
    if (parts.journal) this.#keepJournal(parts.journal)
    this.#publishedHistory = parts.publishedHistory ?? null
    this.#host = host
    this.#timestamps = new JobTimestamps(row, host.platform)
    this.#publisher = host.publisherOf(row)
    this.#publication = new OutputPublication(row, parts.plan, this.#publisher)
    const job = this
    const journal = {
      get loaded() {
        return job.#loadedJournal
      },
      get writable() {
        return job.#loadedJournal ?? job.journal
      },
    }
    this.#writer = new JobWriter({
      events: host.events,
      row,
      unstored: parts.unstored,
      hasFollower: parts.hasFollower,
      timestamps: this.#timestamps,
      journal: () => journal,
      onCommitted: () => this.#onCommitted(),
      onCommandsRefused: () => this.#onCommandsRefused(),
      onCommandsDecided: () => this.#onCommandsDecided(),
      onWriteFailed: (cause) => this.#onWriteFailed(cause),
    })
  }

  /** @throws SERVICE_UNAVAILABLE where the journal cannot be read now: the job leaves the process, and is continued later */
  get journal(): JobJournal {
    if (this.#loadedJournal && !this.#loadedJournal.isUnloaded) return this.#loadedJournal
    return this.#keepJournal(this.#readJournal())
  }

  #keepJournal(stored: JobJournal): JobJournal {
    if (this.#loadedJournal === null) this.#inputCounts.addEarlierChanges(stored.inputs.updates_weight)
    this.#loadedJournal ??= stored
    if (this.#loadedJournal.isUnloaded) this.#loadedJournal.reload(stored)
    return this.#loadedJournal
  }

  #readJournal(): JobJournal {
    try {
      return this.#host.journals.of(this.row)
    } catch (cause) {
      this.#writer.fail(cause)
      throw cause
    }
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

  /** The number of frames that a follower from the start would have received. */
  get message_count(): number {
    return this.#writer.message_count
  }

  /** Accepts inputs for the job, running or queued; null where the job cannot run any more. */
  get inputs(): JobInputs | null {
    const receiver = this.receiver()
    return receiver && new JobInputs(this, this.#inputCounts, receiver)
  }

  receiver(): InputReceiver | null {
    if (this.#isDetached || this.terminal || this.#writer.isClosed) return null
    return this.#run?.execution ?? this.#openQueuedInputs()
  }

  underway(name: string): InputsInTransit {
    return this.#run ? this.#inputCounts.of(name) : this.#inputCounts.total(name)
  }

  changeable(node_id: string, properties: Record<string, unknown>): InputValues | null {
    return this.#run
      ? resolvePropertyUpdates(this.plan, node_id, properties)
      : this.#openQueuedInputs().changeable(node_id, properties)
  }

  countBegunFirings(node_id: string): number {
    return this.#execution?.updateProperties(node_id, {}) ?? 0
  }

  command(command: ActiveJobCommand): Promise<void> {
    return this.#writer.command(command)
  }

  #openQueuedInputs(): QueuedJobInputs {
    this.#queuedInputs ??= this.#createQueuedInputs()
    return this.#queuedInputs
  }

  #createQueuedInputs(): QueuedJobInputs {
    const { params, inputs } = this.journal
    return new QueuedJobInputs(this.plan, params, this.#options.fed, inputs.values, this.row.started_at !== null)
  }

  // — the journal of the run —

  recallFailure(scope: string): RunError | null {
    return this.journal.failures.get(scope) ?? null
  }

  /**
   * Where the file of a large value is lost the job ends, since results that depend on the value might come out differently. Where the file cannot be
   * read for now, the job continues later.
   */
  recall(firing: string): FiringHistory | null {
    try {
      return this.journal.recall(firing, (value) => this.#readLazyValue(value))
    } catch (cause) {
      throw this.#onUnreadableJournal(cause)
    }
  }

  #readLazyValue(value: LazyValue): unknown {
    try {
      return LazyValue.resolve(value)
    } catch (cause) {
      throw this.#onUnreadableJournal(cause)
    }
  }

  #onUnreadableJournal(cause: unknown): unknown {
    const transientFault = toTransientFault(cause)
    if (transientFault) {
      this.#writer.fail(transientFault)
      return transientFault
    }
    this.#host.log.error({ err: cause, job_id: this.row.id }, 'what a job remembers cannot be read')
    this.#fatalEnding ??= createInterruptedEnding(UNREADABLE_JOURNAL)
    return cause
  }

  /** Reads the large values of a firing before `recall`; null: none is in a file. `recall` reports values that cannot be read. */
  prepareRecall(firing: string): Promise<void> | null {
    const steps = this.journal.readSteps(firing)
    return (
      steps &&
      this.#host.slices.run(this.user, steps).then(
        () => {},
        () => {},
      )
    )
  }

  remember(entry: JournalEntry): void {
    this.#isIdleSinceRecovery = false
    this.#writer.recordEntry(entry)
    if (entry[0] === 'wait' && entry[2].until !== null) this.#run?.scheduleDelayEnd(entry[1], entry[2].until, this)
  }

  rememberDurably(entry: JournalEntry): Promise<void> {
    this.remember(entry)
    return this.#writer.whenWritten()
  }

  remembered(): Promise<void> | null {
    return this.#writer.whenJournalWritten()
  }

  backlog(): Promise<void> | null {
    return this.#writer.backlog()
  }

  /** Writes a further row in the next transaction of the job. */
  write(extra: AdditionalWrite): void {
    this.#writer.write(extra)
  }

  // — state changes —

  /** Records that the job is admitted. */
  accept(): void {
    this.#appendStatus('accepted', null, null)
  }

  /** Records that the job waits for capacity. */
  enqueue(): void {
    this.#clearWaits()
    this.#changeState('queue')
    const queue_position = this.#host.queuePosition(this)
    this.#appendStatus('queued', queue_position, buildJobUpdateFrame(this.row, { queue_position }))
  }

  /** Records that the job is recovered after an earlier process. `orderly`: that process was asked to stop. */
  recover(message: string, orderly: boolean): void {
    this.row.attempt++
    this.#changeState('recover')
    if (!orderly) {
      this.remember(['recovery'])
      this.#isIdleSinceRecovery = true
    }
    this.#appendStatus('recovering', null, null, message)
  }

  /** Called when the queue gives the job a slot. */
  admit(): void {
    if (this.#writer.isDeciding) {
      this.#isAdmitted = true
      return
    }
    const isKnown = this.#isJournalPrepared || (this.#loadedJournal !== null && !this.#loadedJournal.isUnloaded)
    const reading = isKnown ? null : this.#host.journals.prepare(this.row)
    if (reading) void this.#admitAfter(reading)
    else this.#host.onAdmitted(this)
  }

  /** Admits the job once its large journal is read. The job may have ended meanwhile, or left the process. */
  async #admitAfter(reading: Promise<Disposable>): Promise<void> {
    try {
      using _ = await reading
      const read = this.#host.journals.take(this.row)
      if (read) {
        this.#keepJournal(read.journal)
        this.#publishedHistory ??= read.publishedHistory
      }
      this.#isJournalPrepared = true
    } catch (cause) {
      // There is no memory for the journal now: the job continues later.
      if (!this.terminal) this.#writer.fail(cause)
    }
    this.#isAdmitted = true
    if (this.#writer.isClosed || !this.#writer.isDeciding) this.#onCommandsDecided()
  }

  /**
   * Unloads the large journal of a queued job, which then exists in the database alone. Inputs that come before the start are checked without the
   * journal.
   */
  #unloadJournal(): void {
    const known = this.#loadedJournal
    if (!known || known.isSmall || known.isUnloaded || this.row.status !== 'queued') return
    if (this.#isAdmitted || this.#isJournalPrepared || this.#isDetached || !this.#writer.isIdle) return
    this.#openQueuedInputs()
    known.unload()
  }

  /** Stops counting the memory of the journal: the job leaves this process. */
  releaseMemory(): void {
    this.#loadedJournal?.releaseMemory()
  }

  /** Sends the new queue position, which is not stored. A recovering job is shown as running while it waits, and has no position. */
  onPositionChanged(queue_position: number): void {
    if (this.row.status !== 'recovering') this.provisional(() => buildJobUpdateFrame(this.row, { queue_position }))
  }

  /** Starts or resumes the run. A graph whose nodes are all synchronous has ended when this returns. */
  start(): void {
    const { row } = this
    if (!this.#canContinue()) {
      this.#host.onReleased(this)
      return
    }
    row.started_at ??= this.#timestamps.next()
    this.#clearWaits()
    this.#changeState(nextStatus(row.status, 'resume') === null ? 'start' : 'resume')
    this.#appendStatus('running', null, buildJobUpdateFrame(this.row))
    this.#queuedInputs = null
    const run = this.#createRun()
    this.#run = run
    this.#execution = run.execution
    run.start()
  }

  /** Reads the journal and the published history. False: they cannot be read, and the job has ended or is continued later. */
  #canContinue(): boolean {
    try {
      const { fault } = this.journal
      if (fault !== null) {
        this.end(createInterruptedEnding(fault))
        return false
      }
      this.#publishedHistory ??=
        this.row.started_at === null ? PublishedHistory.createEmpty() : this.#host.loadPublishedHistory(this.row)
      return true
    } catch (cause) {
      if (isDamagedDataError(cause)) this.endDamaged(true)
      else this.#writer.fail(cause)
      return false
    }
  }

  #createRun(): JobRun {
    const { row, journal } = this
    this.#deadline = resolveDeadline(row, this.#host, this.#options)
    this.#host.deadlines.delete(row.key)
    this.#recorder = createRunRecorder(this, this.#host.log)
    return new JobRun({
      plan: this.plan,
      jobJournal: journal,
      seed: row.seed,
      observer: this.#recorder,
      services: meterModelServices(
        this.#host.servicesOf(row),
        (use) => this.#recordModelUse(use),
        this.#host.budgetOf(() => journal.spending),
      ),
      memory_limit: this.#host.memory_limit,
      shared_memory: this.#host.shared_memory,
      journalHost: this,
      readInput: (value) => this.#readLazyValue(value),
      acceptsStreamInput: this.#options.fed,
      deadline: this.#deadline,
      now: () => this.#host.platform.now(),
      steady: () => this.#host.steady.now(),
      loadPlan: (workflow_id) => this.#loadPlan(workflow_id),
      bytesOf: (plan) => this.#host.bytesOf(plan),
      onDeadline: () => this.#onDeadline(),
      onEnded: (outcome) => this.#onRunEnded(outcome),
    })
  }

  /** Records model usage; after the end it comes too late for the result. */
  #recordModelUse(use: ModelUsage): void {
    if (!this.#isDetached && !this.terminal) this.remember(['use', use])
  }

  /** Later calls of a workflow use the graph of the first call, even where the workflow has changed. */
  async #loadPlan(workflow_id: string): Promise<Plan> {
    const pinned = await this.#readPinnedGraph(workflow_id)
    const { plan, body } = await this.#loadPlanOrPostpone(workflow_id, pinned)
    if (pinned !== null) return plan
    // A concurrent call has pinned its graph first.
    if (this.journal.graphs.has(workflow_id)) return this.#loadPlan(workflow_id)
    this.remember(['graph', workflow_id, body])
    return plan
  }

  /** Loads a plan. Where there is no memory for it now, or it cannot be read, the job continues later. */
  async #loadPlanOrPostpone(workflow_id: string, pinned: string | null): Promise<{ plan: Plan; body: string }> {
    try {
      return await this.#host.loadPlan(this.row, workflow_id, pinned)
    } catch (cause) {
      const transientFault = toTransientFault(cause)
      if (transientFault) this.#writer.fail(transientFault)
      throw cause
    }
  }

  /** The text of the graph that the job called before, or null. @throws Error where the file of a large graph cannot be read */
  async #readPinnedGraph(workflow_id: string): Promise<string | null> {
    const kept = this.journal.graphs.get(workflow_id) ?? null
    if (kept === null || typeof kept === 'string') return kept
    try {
      return await this.#host.slices.run(this.user, LazyValue.resolveSteps<string | LazyValue>(kept))
    } catch (cause) {
      throw this.#onUnreadableJournal(cause)
    }
  }

  /**
   * Cancels the job: at once where nothing runs, else when its firings have settled. It resolves when the cancellation is stored, and does nothing for a job
   * that has ended or was cancelled before. @throws SERVICE_UNAVAILABLE where it cannot be stored: the job continues
   */
  cancel(): Promise<void> {
    if (!this.#isCancellable) return this.flushed()
    let before: { messages: number; deadline: number | undefined }
    return this.#writer.command({
      journalEntry: () => null,
      stage: () => {
        before = { messages: this.#writer.message_count, deadline: this.#host.deadlines.get(this.row.key) }
        if (this.#isCancellable) this.#requestCancellation()
      },
      apply: () => {
        if (this.row.status === 'cancel_requested') this.#run?.abort()
      },
      rollBack: () => {
        if (before === undefined) return
        this.#writer.message_count = before.messages
        if (before.deadline !== undefined) this.#host.deadlines.set(this.row.key, before.deadline)
      },
    })
  }

  get #isCancellable(): boolean {
    return this.row.status !== 'cancel_requested' && nextStatus(this.row.status, 'cancel') !== null
  }

  #requestCancellation(): void {
    this.#publishHeldOutputs()
    if (nextStatus(this.row.status, 'cancel') === 'cancelled') return this.#finish(CANCELLED_BEFORE_START_ENDING)
    this.#clearWaits()
    this.#changeState('cancel')
    this.#appendStatus('cancel_requested', null, null)
    if (!this.#run) this.#finish(CANCELLED_ENDING)
  }

  /** Ends a job that is not running. */
  end(ending: JobEnding): void {
    this.#publishHeldOutputs()
    this.#finish(this.row.status === 'cancel_requested' ? CANCELLED_ENDING : ending)
  }

  /** Ends a job that is not running because its stored data is damaged. `retryable`: a retry does not need the damaged data. */
  endDamaged(retryable: boolean): void {
    this.#host.log.error({ job_id: this.row.id }, 'stored data of a job is damaged: the job ends')
    this.feed.canTrim = false
    this.end(createDamagedEnding(retryable))
  }

  /**
   * Releases the job from a process that stops, or has no room; the job continues in the next process, or later. Uncommitted changes are lost. It does
   * nothing for a job whose history could not be written, since that job has left already.
   */
  detach(): void {
    if (this.#isDetached || this.#writer.hasEnded || this.#writer.isClosed) return
    this.#isDetached = true
    this.#writer.close(new ServiceError('SERVICE_UNAVAILABLE'))
    this.#run?.abort()
    this.#run?.stopTimers()
    this.#host.onDetached(this, null)
  }

  #onDeadline(): void {
    if (this.row.status === 'cancel_requested') return
    this.#forcedEnding = createTimedOutEnding(this.#options.timeout_seconds!)
    this.#run?.abort()
  }

  #onRunEnded(outcome: RunOutcome): void {
    const continues = !this.#isDetached && !this.#writer.isClosed
    if (continues && (outcome.status !== 'suspended' || this.row.status === 'cancel_requested'))
      this.#recorder?.settle()
    const completes = continues && outcome.status === 'completed' && !this.#fatalEnding
    if (completes && isLargeResult(this.#publication, this.journal.params))
      void this.#awaitPreparedResult(this.#openLargeValuePreparer().prepareResult(this.journal.params)).then(() =>
        this.#applyOutcome(outcome),
      )
    else this.#applyOutcome(outcome)
  }

  /** Waits for a prepared result. A result that is too large fails the job. */
  async #awaitPreparedResult(preparing: Promise<void>): Promise<void> {
    try {
      await preparing
      // Events staged before get a commit of their own: together with a large result, both would take twice as long.
      await this.#writer.whenWritten().catch(() => {})
    } catch (cause) {
      // The job has left this process, and continues later. A failed write was logged already.
      if (this.#writer.isClosed) return
      this.#logUnwrittenResult(cause)
      this.#fatalEnding ??= createUnwritableResultEnding(cause)
    }
  }

  #applyOutcome(outcome: RunOutcome): void {
    if (!this.#isDetached && !this.#writer.isClosed) {
      const forced = this.#fatalEnding ?? (outcome.status === 'cancelled' ? this.#forcedEnding : null)
      if (forced) this.#finishOrFail(forced)
      else if (outcome.status === 'suspended') this.#suspend(outcome.waiting)
      else this.#finishOrFail(toJobEnding(outcome))
    }
    this.#host.onReleased(this)
  }

  #suspend(waiting: readonly WaitingFiring[]): void {
    const { row } = this
    if (row.status === 'cancel_requested') return this.#finish(CANCELLED_ENDING)
    if (areWaitsTooLarge(waiting)) return this.#finishOrFail(WAITS_TOO_LARGE)
    const stored = toStoredWaits(waiting, (value) => this.#publisher.redact(value))
    const wakes = [findEarliestWake(stored), this.#deadline].filter((time) => time !== null)
    if (this.#deadline !== null) this.#host.deadlines.set(row.key, this.#deadline)
    row.waiting = JSON.stringify(stored)
    row.wake_at = wakes.length === 0 ? null : Math.ceil(Math.min(...wakes))
    this.#run = null
    const heldOutputs = this.#recorder!.takeRemainingOutputs()
    if (heldOutputs.length > 0 || this.journal.suspendedOutputs.length > 0) this.remember(['rest', heldOutputs])
    this.#isDetached = true
    this.#changeState('suspend')
    this.#appendStatus('suspended', null, buildJobUpdateFrame(this.row))
  }

  /** Publishes the output values that the run held back, where a suspended job ends without being resumed. */
  #publishHeldOutputs(): void {
    if (this.row.status !== 'paused') return
    for (const [event, frame] of this.journal.suspendedOutputs) this.append(event, frame)
  }

  #clearWaits(): void {
    this.row.waiting = null
    this.row.wake_at = null
  }

  #finishOrFail(ending: JobEnding): void {
    const before = { ...this.row }
    try {
      this.#finish(ending)
    } catch (cause) {
      // The result may be longer than a string can be, for example. Nothing of it was staged.
      Object.assign(this.row, before)
      this.#logUnwrittenResult(cause)
      this.#finish(createUnwritableResultEnding(cause))
    }
  }

  #logUnwrittenResult(cause: unknown): void {
    this.#host.log.error({ err: cause, job_id: this.row.id }, 'the result of a job could not be written')
  }

  #finish(ending: JobEnding): void {
    const { row, plan } = this
    this.#host.deadlines.delete(row.key)
    const { event, frame } = terminateJob(
      {
        row,
        plan,
        publication: this.#publication,
        publisher: this.#publisher,
        journal: () => this.journal,
        ready: this.#largeValuePreparer?.result ?? null,
        sequence: this.feed.sequence + 1,
        now: this.#timestamps.next(),
      },
      ending,
    )
    this.append(event, frame)
  }

  #changeState(trigger: JobTrigger): void {
    this.row.status = requireNextStatus(this.row.status, trigger)
    this.row.updated_at = this.#timestamps.next()
  }

  // — events and frames —

  /** Stages a durable event, which is committed in this turn of the event loop together with the row. */
  append(event: EventBody, frame: EventFrame | null): void {
    this.#writer.append(event, frame)
  }

  /** Sends a frame to the current followers only. */
  provisional(frame: () => JobFrame): void {
    this.#writer.provisional(frame)
  }

  /** Whether this status of a node was published before an interruption. */
  toldNode(node_id: string, status: string): boolean {
    return this.#publishedHistory?.hasNodeStatus(node_id, status) === true
  }

  /** Adds a value of an output, and returns the values that can be shown now and are not published yet. */
  publish(node_id: string, output_name: string, value: unknown): PublishedOutputValue[] {
    const published = this.#storeOrPostpone(() =>
      this.#publication.add(node_id, output_name, value, this.#largeValuePreparer?.take(output_name)),
    )
    for (const extra of published.flatMap(({ extras }) => extras)) this.write(extra)
    return this.#withoutPublished(output_name, published)
  }

  /** Whether even a small value of this output must be prepared for `publish`. */
  holdsMuch(output_name: string): boolean {
    return this.#publication.holdsMuch(output_name)
  }

  /** Prepares a large value of an output for `publish`. */
  preparePublish(node_id: string, output_name: string, value: unknown): Promise<void> {
    return this.#openLargeValuePreparer().prepare(node_id, output_name, value)
  }

  #openLargeValuePreparer(): LargeValuePreparer {
    const { row, plan, user: owner } = this
    const { slices } = this.#host
    this.#largeValuePreparer ??= new LargeValuePreparer({
      plan,
      publication: this.#publication,
      publisher: this.#publisher,
      slices,
      owner,
      writeEarly: (extras) => writeRowsEarly(this.#writer, row, extras),
      manifest: (large) => this.#buildManifest(large),
      writeResult: (parts) => writeResultParts(this.#writer, row, parts),
    })
    return this.#largeValuePreparer
  }

  #buildManifest(large: ResultValues): ResultManifest {
    const { row, plan } = this
    const { spending } = this.journal
    return buildResultManifest({
      row,
      plan,
      publication: this.#publication,
      spending,
      ...large,
      completed_at: this.#timestamps.next(),
    })
  }

  /** Returns the values held back of an output that gets no further value. */
  publishRest(output_name: string, whole: boolean): PublishedOutputValue[] {
    return this.#withoutPublished(output_name, this.#publication.end(output_name, whole))
  }

  #withoutPublished(output_name: string, published: readonly PublishedOutputValue[]): PublishedOutputValue[] {
    const unpublished = published.filter(() => !this.#publishedHistory?.takeOutput(output_name))
    if (unpublished.length > 0 && this.#isIdleSinceRecovery) this.remember(['told'])
    return unpublished
  }

  /** Runs `store`. Where the disk cannot be written, the job stops here and continues when there is space. */
  #storeOrPostpone<T>(store: () => T): T {
    try {
      return store()
    } catch (error) {
      if (isSystemError(error)) this.#writer.fail(error)
      throw error
    }
  }

  redact<T>(value: T): T {
    return this.#publisher.redact(value)
  }

  /** `redact` for large values: in time slices where it takes long, and at once otherwise. */
  redactLarge<T>(value: T): T | Promise<T> {
    return this.#host.slices.doNow(this.user, this.#publisher.redactSteps(value))
  }

  redactMessage(text: string): string {
    return this.#publisher.redactMessage(text)
  }

  textStream(): RedactingTextStream {
    return this.#publisher.textStream()
  }

  /** A value of an output cannot be stored, so the job fails whatever the outcome of its run is. */
  unwritable(node_id: string, output_name: string, cause: unknown): void {
    this.#fatalEnding ??= createUnwritableValueEnding(node_id, output_name, cause)
  }

  #appendStatus(
    status: Extract<EventBody, { type: 'job_status' }>['status'],
    queue_position: number | null,
    frame: EventFrame | null,
    message: string | null = null,
  ): void {
    this.append({ type: 'job_status', status, queue_position, message }, frame)
  }

  /** The outputs of a large result whose JSON texts are cached; null: the job has no large result. */
  get large_outputs(): Readonly<Record<string, unknown>> | null {
    return this.row.result === null ? null : (this.#largeValuePreparer?.result?.outputs ?? null)
  }

  // — commits —

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

  /** Whether the job has left this process without having ended, for example since it is suspended. */
  get isDetached(): boolean {
    return this.#isDetached && !this.terminal
  }

  #onCommitted(): void {
    if (this.#writer.hasEnded) this.#host.onDetached(this, null)
    else if (this.#isDetached && this.#writer.isClean) {
      this.#writer.suspend()
      this.#host.onDetached(this, null)
    } else this.#unloadJournal()
  }

  /** Detaches a suspended job again whose commands could not be stored. */
  #onCommandsRefused(): void {
    if (this.row.status !== 'paused' || this.#isDetached || this.#run) return
    this.#isDetached = true
    this.#writer.suspend()
    this.#host.onDetached(this, null)
  }

  /** Admits the job where the queue gave it a slot meanwhile. */
  #onCommandsDecided(): void {
    if (!this.#isAdmitted) return
    this.#isAdmitted = false
    if (this.terminal || this.#writer.isClosed) this.#host.onReleased(this)
    else this.admit()
  }

  #onWriteFailed(cause: unknown): void {
    const { key, id: job_id } = this.row
    if (cause instanceof TransientFileError) this.#host.unreadableJobs.failed(this.row, cause)
    else if (cause instanceof MemoryUnavailableError) this.#host.log.info({ job_id }, 'a job waits for memory')
    else if (this.#host.isFirstWriteFailure(key))
      logFailure(this.#host.log, toServiceError(cause), { job_id }, 'the history of a job could not be written')
    this.#run?.abort()
    this.#run?.stopTimers()
    const hopeless = isDamagedDataError(cause) ? 'for_good' : 'for_now'
    this.#host.onDetached(this, this.#writer.canEndOnly(cause) ? 'damaged' : hopeless)
    this.#onCommandsDecided()
  }
}

/** Whether the error is one of the file system, as Node throws them. */
function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'errno' in error && 'syscall' in error
}
