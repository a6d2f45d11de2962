// One job while this process has it: it moves through states by the table, and stages every change with its event. Who may run when is the
// service's business, what happens inside of a run the engine's, and writing it down the writer's.
import type { JobStatus, ResultManifest } from '../../generated/types.ts'
import type { JobTable } from '../db/schema.ts'
import { type Scope, scopedKey, userKey } from '../db/scope.ts'
import type { Execution, Outcome, Underway } from '../engine/execution.ts'
import type { SharedMemory } from '../engine/held-values.ts'
import type { Remembered, Waiting } from '../engine/journal.ts'
import type { Inputs } from '../engine/node-type.ts'
import type { RunError } from '../engine/observer.ts'
import type { Plan } from '../engine/plan.ts'
import type { Hold, ModelUse, NodeServices } from '../engine/services.ts'
import { changeable } from '../engine/updates.ts'
import { isDamage, ServiceError, toServiceError } from '../errors.ts'
import type { Feed } from '../events/feed.ts'
import type { EventLog } from '../events/log.ts'
import type { EventBody, EventFrame, JobFrame } from '../events/types.ts'
import { type Log, logFailure } from '../log.ts'
import { NoRoom } from '../payloads/memory-account.ts'
import type { Platform } from '../platform.ts'
import type { TimeSlices } from '../time-slices.ts'
import type { CompiledGraph } from '../workflows/plans.ts'
import type { Command } from './commands.ts'
import { EarlyInputs } from './early-inputs.ts'
import {
  ASKS_TOO_MUCH,
  CANCELLED,
  CANCELLED_BEFORE_START,
  damaged,
  type Ending,
  endingOf,
  interrupted,
  timedOut,
  unwritableResult,
  unwritableValue,
} from './endings.ts'
import type { Entry } from './entry.ts'
import type { JournalHost } from './firing-names.ts'
import { Inlet, type InletHost, InputCounts, type Receiver } from './inlet.ts'
import { jobFrame } from './job-frame.ts'
import { JobRun } from './job-run.ts'
import { isLargeResult, type LargeParts, LargeValues } from './large-values.ts'
import { Later } from './later.ts'
import { buildManifest } from './manifest.ts'
import { type Memories, UNREADABLE } from './memories.ts'
import type { JobMemory } from './memory.ts'
import { momentaryFault, UnreadableNow } from './momentary.ts'
import { Publication, type Published, type Publisher } from './publication.ts'
import type { Contender } from './queue.ts'
import { type Recorder, recorder } from './recorder.ts'
import { type Spending, telling } from './spending.ts'
import { isTerminal, moved, next, publicStatus, type Trigger } from './states.ts'
import type { SteadyClock } from './steady-clock.ts'
import { optionsOf, type StoredOptions, steadyDeadline } from './stored-options.ts'
import { terminate } from './terminal.ts'
import type { TextStream } from './text-chunks.ts'
import { Told } from './told.ts'
import type { UnreadableJobs } from './unreadable-jobs.ts'
import { asksTooMuch, soonest, storedWaiting } from './waiting.ts'
import { type Extra, JobWriter } from './writer.ts'

export interface ActiveJobParts {
  row: JobTable
  /** The graph, to be stored with the row; null: both are in the database already. */
  unstored: CompiledGraph | null
  plan: Plan
  /** About how much memory the compiled graph takes. */
  graph_bytes: number
  /** What it remembers; null: it is read when it is needed, since a job may wait for long. */
  memory: JobMemory | null
  /** What its history says, where that was read with it. */
  told?: Told | null
  /** Whether its submitter will follow it from the start. */
  watched: boolean
}

/** Why the history of a job could not be written: it may be later; it cannot, but the job can be ended; or not even that. */
export type Loss = 'for_now' | 'damaged' | 'for_good'

/** What a job needs of its surroundings. */
export interface JobHost {
  readonly events: EventLog
  readonly platform: Platform
  readonly steady: SteadyClock
  readonly deadlines: Map<number, number>
  readonly log: Log
  /** Does what is long for jobs in time slices of their owners. */
  readonly slices: TimeSlices
  /** What makes values of an owner's jobs fit to be shown. */
  publisherOf(owner: Scope): Publisher
  /** Finds the plan of a workflow that a node of this job calls, and its graph as JSON text; `pinned` is the graph that it called before. */
  loadPlan(row: JobTable, workflow_id: string, pinned: string | null): Promise<{ plan: Plan; body: string }>
  /** About how much memory a called plan takes, in bytes; 0 where that is small. */
  bytesOf(plan: Plan): number
  /** In bytes, of the values that a job holds at once. */
  readonly memory_limit: number
  /** What the runs of all jobs share. */
  readonly shared_memory: SharedMemory
  /** What the nodes of an owner's jobs may use. */
  servicesOf(job: JobTable): NodeServices
  /** What holds a job to what it may cost, by what it has spent so far; null: nothing does. */
  budgetOf(spending: () => Spending): Hold | null
  /** What the history of a job says already. */
  told(row: JobTable): Told
  /** Reads what stored jobs remember where that is much. */
  readonly memories: Pick<Memories, 'prepare' | 'take' | 'of'>
  /** The job may run: its turn has come. */
  admitted(job: ActiveJob): void
  /** Nothing of the job runs any more. */
  released(job: ActiveJob): void
  /** Whether the log has not heard yet that the history of the job could not be written. */
  isFirstLoss(job_key: number): boolean
  /** Jobs of which a file cannot be read now. */
  readonly unreadable: Pick<UnreadableJobs, 'failed'>
  /** This process has done with the job: its end, or that it waits, is committed; or its history could not be written. */
  gone(job: ActiveJob, loss: Loss | null): void
  position(job: ActiveJob): number
}

export class ActiveJob implements Contender, JournalHost, InletHost {
  readonly row: JobTable
  readonly plan: Plan
  readonly graph_bytes: number
  readonly user: string
  readonly workflow: string
  readonly exclusive: boolean
  readonly #host: JobHost
  readonly #options: StoredOptions
  readonly #writer: JobWriter
  readonly #publisher: Publisher
  readonly #publication: Publication
  /** Most jobs have none. */
  #large: LargeValues | null = null
  #known: JobMemory | null = null
  #run: JobRun | null = null
  #recorder: Recorder | null = null
  /** Of the last run, which may be over. */
  #execution: Execution | null = null
  #early: EarlyInputs | null = null
  readonly #counts = new InputCounts()
  /** Its turn has come while it was not known whether a command is stored. */
  #isAdmitted = false
  /** What it remembers was read for its turn, as far as it could be. */
  #isPrepared = false
  /** Null before it is read, where it has begun before. */
  #told: Told | null = null
  /** Whether it was interrupted, and has remembered nothing since. */
  #is_idle = false
  #messages = 0
  #forced: Ending | null = null
  /** What its run cannot go on from, whatever that says. */
  #broken: Ending | null = null
  #done = false
  /** When its time is over, by the steady clock; null: never. */
  #deadline: number | null = null
  /** What was said last of a time. */
  #last: string

  constructor(parts: ActiveJobParts, host: JobHost) {
    const { row } = parts
    this.row = row
    this.plan = parts.plan
    this.graph_bytes = parts.graph_bytes
    this.#options = optionsOf(row)
    this.exclusive = !this.#options.concurrent
    this.user = userKey(row)
    this.workflow = scopedKey(row, row.workflow_id)
    if (parts.memory) this.#know(parts.memory)
    this.#told = parts.told ?? null
    this.#host = host
    this.#last = row.updated_at > row.created_at ? row.updated_at : row.created_at
    this.#publisher = host.publisherOf(row)
    this.#publication = new Publication(row, parts.plan, this.#publisher)
    this.#writer = new JobWriter(
      {
        row,
        unstored: parts.unstored,
        watched: parts.watched,
        memory: () => this.#known ?? this.memory,
        known: () => this.#known,
      },
      {
        events: host.events,
        timestamp: () => this.#timestamp(),
        committed: () => this.#committed(),
        refused: () => this.#refused(),
        decided: () => this.#decided(),
        lost: (cause) => this.#lost(cause),
      },
    )
  }

  /** @throws SERVICE_UNAVAILABLE where it cannot be read now: nobody has the job then, and it is tried again */
  get memory(): JobMemory {
    if (this.#known && !this.#known.isAway) return this.#known
    return this.#know(this.#read())
  }

  #know(stored: JobMemory): JobMemory {
    if (this.#known === null) this.#counts.changedBefore(stored.updates_weight)
    this.#known ??= stored
    if (this.#known.isAway) this.#known.bringBack(stored)
    return this.#known
  }

  #read(): JobMemory {
    try {
      return this.#host.memories.of(this.row)
    } catch (cause) {
      this.#writer.lose(cause)
      throw cause
    }
  }

  get feed(): Feed {
    return this.#writer.feed
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

  /** Takes what is sent to the job, whether it runs already or waits for its turn; null where nothing of it can run. */
  get inlet(): Inlet | null {
    const receiver = this.receiver()
    return receiver && new Inlet(this, this.#counts, receiver)
  }

  receiver(): Receiver | null {
    if (this.#done || this.terminal || this.#writer.closed) return null
    return this.#run?.execution ?? this.#earlyInputs()
  }

  underway(name: string): Underway {
    return this.#run ? this.#counts.of(name) : this.#counts.all(name)
  }

  changeable(node_id: string, properties: Record<string, unknown>): Inputs | null {
    return this.#run ? changeable(this.plan, node_id, properties) : this.#earlyInputs().changeable(node_id, properties)
  }

  begun(node_id: string): number {
    return this.#execution?.takeProperties(node_id, {}) ?? 0
  }

  command(command: Command): Promise<void> {
    return this.#writer.command(command)
  }

  #earlyInputs(): EarlyInputs {
    this.#early ??= this.#newEarlyInputs()
    return this.#early
  }

  #newEarlyInputs(): EarlyInputs {
    const { params, inputs } = this.memory
    return new EarlyInputs(this.plan, params, this.#options.fed, inputs, this.row.started_at !== null)
  }

  // — what the run remembers —

  recallFailure(scope: string): RunError | null {
    return this.memory.failures.get(scope) ?? null
  }

  /**
   * Where the file of a large value cannot be read the job ends: what followed from it might come out differently. It goes on later where the file can
   * only not be read now.
   */
  recall(firing: string): Remembered | null {
    try {
      return this.memory.recall(firing, (value) => this.#readLater(value))
    } catch (cause) {
      throw this.#unreadable(cause)
    }
  }

  #readLater(value: Later): unknown {
    try {
      return Later.now(value)
    } catch (cause) {
      throw this.#unreadable(cause)
    }
  }

  #unreadable(cause: unknown): unknown {
    const momentary = momentaryFault(cause)
    if (momentary) {
      this.#writer.lose(momentary)
      return momentary
    }
    this.#host.log.error({ err: cause, job_id: this.row.id }, 'what a job remembers cannot be read')
    this.#broken ??= interrupted(UNREADABLE)
    return cause
  }

  /** Reads the large values of a firing before it is recalled; null: none of them lies in a file. What cannot be read is found then. */
  prepareRecall(firing: string): Promise<void> | null {
    const steps = this.memory.readSteps(firing)
    return (
      steps &&
      this.#host.slices.run(this.user, steps).then(
        () => {},
        () => {},
      )
    )
  }

  remember(entry: Entry): void {
    this.#is_idle = false
    this.#writer.remember(entry)
    if (entry[0] === 'wait' && entry[2].until !== null) this.#run?.delay(entry[1], entry[2].until, this)
  }

  rememberDurably(entry: Entry): Promise<void> {
    this.remember(entry)
    return this.#writer.written()
  }

  remembered(): Promise<void> | null {
    return this.#writer.remembered()
  }

  backlog(): Promise<void> | null {
    return this.#writer.backlog()
  }

  /** Writes a further row in the transaction that writes what is staged now. */
  write(extra: Extra): void {
    this.#writer.write(extra)
  }

  // — its way through the states —

  /** Records that the job is admitted. */
  accept(): void {
    this.#status('accepted', null, null)
  }

  /** Records that the job waits for capacity. */
  enqueue(): void {
    this.#wakes()
    this.#move('queue')
    const queue_position = this.#host.position(this)
    this.#status('queued', queue_position, jobFrame(this.row, { queue_position }))
  }

  /** Records that an earlier process left it in the middle; `orderly`: because it was told to stop. */
  recover(message: string, orderly: boolean): void {
    this.row.attempt++
    this.#move('recover')
    if (!orderly) {
      this.remember(['recovery'])
      this.#is_idle = true
    }
    this.#status('recovering', null, null, message)
  }

  /** The queue gave it a slot. */
  admit(): void {
    if (this.#writer.deciding) {
      this.#isAdmitted = true
      return
    }
    const isKnown = this.#isPrepared || (this.#known !== null && !this.#known.isAway)
    const reading = isKnown ? null : this.#host.memories.prepare(this.row)
    if (reading) void this.#admitAfter(reading)
    else this.#host.admitted(this)
  }

  /** It has waited, and what it remembers is much. Meanwhile it may have ended, or been taken away. */
  async #admitAfter(reading: Promise<Disposable>): Promise<void> {
    try {
      using _ = await reading
      const read = this.#host.memories.take(this.row)
      if (read) {
        this.#know(read.memory)
        this.#told ??= read.told
      }
      this.#isPrepared = true
    } catch (cause) {
      // There is no room for it: it goes on later.
      if (!this.terminal) this.#writer.lose(cause)
    }
    this.#isAdmitted = true
    if (this.#writer.closed || !this.#writer.deciding) this.#decided()
  }

  /**
   * What a job remembers that waits for its turn is in the database alone, where it is much. What it was sent before it begins is judged without
   * that.
   */
  #putAway(): void {
    const known = this.#known
    if (!known || known.isLittle || known.isAway || this.row.status !== 'queued') return
    if (this.#isAdmitted || this.#isPrepared || this.#done || !this.#writer.idle) return
    this.#earlyInputs()
    known.putAway()
  }

  /** What it remembers counts no more: this process has done with it. */
  letGo(): void {
    this.#known?.letGo()
  }

  /** Its place in the queue has changed: said, not stored. One that was interrupted is shown as running while it waits, and has no place. */
  moved(queue_position: number): void {
    if (this.row.status !== 'recovering') this.provisional(() => jobFrame(this.row, { queue_position }))
  }

  /** Begins to execute, or goes on. A graph whose nodes are all synchronous has ended when this returns. */
  start(): void {
    const { row } = this
    if (!this.#canGoOn()) {
      this.#host.released(this)
      return
    }
    row.started_at ??= this.#timestamp()
    this.#wakes()
    this.#move(next(row.status, 'resume') === null ? 'start' : 'resume')
    this.#status('running', null, jobFrame(this.row))
    this.#early = null
    const run = this.#newRun()
    this.#run = run
    this.#execution = run.execution
    run.start()
  }

  /** Reads what it goes on from. False: that cannot be read; the job has ended, or is tried again later. */
  #canGoOn(): boolean {
    try {
      const { fault } = this.memory
      if (fault !== null) {
        this.end(interrupted(fault))
        return false
      }
      this.#told ??= this.row.started_at === null ? Told.nothing() : this.#host.told(this.row)
      return true
    } catch (cause) {
      if (isDamage(cause)) this.endDamaged(true)
      else this.#writer.lose(cause)
      return false
    }
  }

  #newRun(): JobRun {
    const { row, memory } = this
    this.#deadline = steadyDeadline(row, this.#host, this.#options)
    this.#host.deadlines.delete(row.key)
    this.#recorder = recorder(this, this.#host.log)
    return new JobRun({
      plan: this.plan,
      memory,
      seed: row.seed,
      observer: this.#recorder,
      services: telling(
        this.#host.servicesOf(row),
        (use) => this.#used(use),
        this.#host.budgetOf(() => memory.spending),
      ),
      memory_limit: this.#host.memory_limit,
      shared_memory: this.#host.shared_memory,
      journal: this,
      readSent: (value) => this.#readLater(value),
      fed: this.#options.fed,
      deadline: this.#deadline,
      now: () => this.#host.platform.now(),
      steady: () => this.#host.steady.now(),
      loadPlan: (workflow_id) => this.#loadPlan(workflow_id),
      bytesOf: (plan) => this.#host.bytesOf(plan),
      overdue: () => this.#overdue(),
      ended: (outcome) => this.#ended(outcome),
    })
  }

  /** What is told after its end comes too late for its result. */
  #used(use: ModelUse): void {
    if (!this.#done && !this.terminal) this.remember(['use', use])
  }

  /** The same graph is called again, whatever has become of the workflow. */
  async #loadPlan(workflow_id: string): Promise<Plan> {
    const pinned = await this.#calledBefore(workflow_id)
    const { plan, body } = await this.#loaded(workflow_id, pinned)
    if (pinned !== null) return plan
    // Another call of it was quicker.
    if (this.memory.graphs.has(workflow_id)) return this.#loadPlan(workflow_id)
    this.remember(['graph', workflow_id, body])
    return plan
  }

  /** Where there is no room for it now, or nothing can be read, the job goes on later. */
  async #loaded(workflow_id: string, pinned: string | null): Promise<{ plan: Plan; body: string }> {
    try {
      return await this.#host.loadPlan(this.row, workflow_id, pinned)
    } catch (cause) {
      const momentary = momentaryFault(cause)
      if (momentary) this.#writer.lose(momentary)
      throw cause
    }
  }

  /** The text of the graph that it called before, or null. @throws Error where the file of a large one cannot be read */
  async #calledBefore(workflow_id: string): Promise<string | null> {
    const kept = this.memory.graphs.get(workflow_id) ?? null
    if (kept === null || typeof kept === 'string') return kept
    try {
      return await this.#host.slices.run(this.user, Later.read<string | Later>(kept))
    } catch (cause) {
      throw this.#unreadable(cause)
    }
  }

  /**
   * Asks it to end: at once where nothing of it runs, else as soon as its firings have settled. Resolves when that is stored; without effect on one
   * that has ended, or was asked before. @throws SERVICE_UNAVAILABLE where it cannot be stored: the job goes on
   */
  cancel(): Promise<void> {
    if (!this.#isCancellable) return this.flushed()
    let before: { messages: number; deadline: number | undefined }
    return this.#writer.command({
      entry: () => null,
      stage: () => {
        before = { messages: this.#messages, deadline: this.#host.deadlines.get(this.row.key) }
        if (this.#isCancellable) this.#requestCancellation()
      },
      apply: () => {
        if (this.row.status === 'cancel_requested') this.#run?.abort()
      },
      takeBack: () => {
        if (before === undefined) return
        this.#messages = before.messages
        if (before.deadline !== undefined) this.#host.deadlines.set(this.row.key, before.deadline)
      },
    })
  }

  get #isCancellable(): boolean {
    return this.row.status !== 'cancel_requested' && next(this.row.status, 'cancel') !== null
  }

  #requestCancellation(): void {
    this.#tellRest()
    if (next(this.row.status, 'cancel') === 'cancelled') return this.#finish(CANCELLED_BEFORE_START)
    this.#wakes()
    this.#move('cancel')
    this.#status('cancel_requested', null, null)
    if (!this.#run) this.#finish(CANCELLED)
  }

  /** Ends a job of which nothing runs. */
  end(ending: Ending): void {
    this.#tellRest()
    this.#finish(this.row.status === 'cancel_requested' ? CANCELLED : ending)
  }

  /** Ends a job of which nothing runs, because something that is stored of it is damaged. `retryable`: a retry may do without that. */
  endDamaged(retryable: boolean): void {
    this.#host.log.error({ job_id: this.row.id }, 'a job cannot go on, because stored data of it is damaged: it ends')
    this.#writer.keepHistory()
    this.end(damaged(retryable))
  }

  /**
   * This process has to stop, or has no room: the job goes on with the next one, or later. What is not committed by now did not happen. Without
   * effect on a job whose history could not be written: it has left already.
   */
  detach(): void {
    if (this.#done || this.#writer.ended || this.#writer.closed) return
    this.#done = true
    this.#writer.close(new ServiceError('SERVICE_UNAVAILABLE'))
    this.#run?.abort()
    this.#run?.stopTimers()
    this.#host.gone(this, null)
  }

  #overdue(): void {
    if (this.row.status === 'cancel_requested') return
    this.#forced = timedOut(this.#options.timeout_seconds!)
    this.#run?.abort()
  }

  #ended(outcome: Outcome): void {
    const goesOn = !this.#done && !this.#writer.closed
    if (goesOn && (outcome.status !== 'suspended' || this.row.status === 'cancel_requested')) this.#recorder?.settle()
    const completes = goesOn && outcome.status === 'completed' && !this.#broken
    if (completes && isLargeResult(this.#publication, this.memory.params))
      void this.#prepared(this.#largeValues().prepareResult(this.memory.params)).then(() => this.#over(outcome))
    else this.#over(outcome)
  }

  /** A result that is too large ends the job as well. */
  async #prepared(preparing: Promise<void>): Promise<void> {
    try {
      await preparing
      // What was told before gets a commit of its own: with a large result in the same one, both take twice as long.
      await this.#writer.written().catch(() => {})
    } catch (cause) {
      // The job has left this process, which the log knows where it is a failure. It goes on later.
      if (this.#writer.closed) return
      this.#logUnwritten(cause)
      this.#broken ??= unwritableResult(cause)
    }
  }

  #over(outcome: Outcome): void {
    if (!this.#done && !this.#writer.closed) {
      const forced = this.#broken ?? (outcome.status === 'cancelled' ? this.#forced : null)
      if (forced) this.#finishAs(forced)
      else if (outcome.status === 'suspended') this.#suspend(outcome.waiting)
      else this.#finishAs(endingOf(outcome))
    }
    this.#host.released(this)
  }

  #suspend(waiting: readonly Waiting[]): void {
    const { row } = this
    if (row.status === 'cancel_requested') return this.#finish(CANCELLED)
    if (asksTooMuch(waiting)) return this.#finishAs(ASKS_TOO_MUCH)
    const stored = storedWaiting(waiting, (value) => this.#publisher.redact(value))
    const wakes = [soonest(stored), this.#deadline].filter((time) => time !== null)
    if (this.#deadline !== null) this.#host.deadlines.set(row.key, this.#deadline)
    row.waiting = JSON.stringify(stored)
    row.wake_at = wakes.length === 0 ? null : Math.ceil(Math.min(...wakes))
    this.#run = null
    const rest = this.#recorder!.rest()
    if (rest.length > 0 || this.memory.rest.length > 0) this.remember(['rest', rest])
    this.#done = true
    this.#move('suspend')
    this.#status('suspended', null, jobFrame(this.row))
  }

  /** What its run held back of outputs, where it waited for something outside and does not go on. */
  #tellRest(): void {
    if (this.row.status !== 'paused') return
    for (const [event, frame] of this.memory.rest) this.append(event, frame)
  }

  /** It does not wait for anything any more. */
  #wakes(): void {
    this.row.waiting = null
    this.row.wake_at = null
  }

  #finishAs(ending: Ending): void {
    const before = { ...this.row }
    try {
      this.#finish(ending)
    } catch (cause) {
      // A result beyond what one text can hold, for example. Nothing of it has been staged.
      Object.assign(this.row, before)
      this.#logUnwritten(cause)
      this.#finish(unwritableResult(cause))
    }
  }

  #logUnwritten(cause: unknown): void {
    this.#host.log.error({ err: cause, job_id: this.row.id }, 'the result of a job could not be written')
  }

  #finish(ending: Ending): void {
    const { row, plan } = this
    this.#host.deadlines.delete(row.key)
    const { event, frame } = terminate(
      {
        row,
        plan,
        publication: this.#publication,
        publisher: this.#publisher,
        memory: () => this.memory,
        ready: this.#large?.result ?? null,
        sequence: this.feed.sequence + 1,
        now: this.#timestamp(),
      },
      ending,
    )
    this.append(event, frame)
  }

  /** The present; never before what was said before, also where the machine's clock was set back. */
  #timestamp(): string {
    const now = this.#host.platform.timestamp()
    if (now > this.#last) this.#last = now
    return this.#last
  }

  #move(trigger: Trigger): void {
    this.row.status = moved(this.row.status, trigger)
    this.row.updated_at = this.#timestamp()
  }

  // — what it tells —

  /** Stages a durable event, to be committed in this turn of the event loop together with the row. */
  append(event: EventBody, frame: EventFrame | null): void {
    this.#writer.append(event, frame)
    // The next process says no earlier time. Of a job that has ended the row is told already.
    if (!this.terminal) this.row.updated_at = this.#last
    if (frame) this.#messages++
  }

  /** Adds a frame that is only for those who watch now. */
  provisional(frame: () => JobFrame): void {
    this.#messages++
    this.#writer.provisional(frame)
  }

  /** Whether the history has said this of a node before an interruption. */
  toldNode(node_id: string, status: string): boolean {
    return this.#told?.node(node_id, status) === true
  }

  /** Takes in a value of an output: what is to be shown now that the history does not have yet. */
  publish(node_id: string, output_name: string, value: unknown): Published[] {
    const published = this.#stored(() =>
      this.#publication.add(node_id, output_name, value, this.#large?.take(output_name)),
    )
    for (const extra of published.flatMap(({ extras }) => extras)) this.write(extra)
    return this.#untold(output_name, published)
  }

  /** Whether even a small value of an output is to be made ready for `publish`. */
  holdsMuch(output_name: string): boolean {
    return this.#publication.holdsMuch(output_name)
  }

  /** Makes a large value of an output ready for `publish`. */
  preparePublish(node_id: string, output_name: string, value: unknown): Promise<void> {
    return this.#largeValues().prepare(node_id, output_name, value)
  }

  #largeValues(): LargeValues {
    const { plan, user: owner } = this
    const { slices } = this.#host
    this.#large ??= new LargeValues({
      plan,
      publication: this.#publication,
      publisher: this.#publisher,
      slices,
      owner,
      writeEarly: (extras) => this.#writer.writeEarly(extras),
      manifest: (large) => this.#manifestOf(large),
      writeResult: (parts) => this.#writer.writeResult(parts),
    })
    return this.#large
  }

  #manifestOf(large: LargeParts): ResultManifest {
    const { row, plan } = this
    const { spending } = this.memory
    return buildManifest({
      row,
      plan,
      publication: this.#publication,
      spending,
      ...large,
      completed_at: this.#timestamp(),
    })
  }

  /** The same where no value follows. */
  publishRest(output_name: string, whole: boolean): Published[] {
    return this.#untold(output_name, this.#publication.end(output_name, whole))
  }

  #untold(output_name: string, published: readonly Published[]): Published[] {
    const untold = published.filter(() => !this.#told?.output(output_name))
    if (untold.length > 0 && this.#is_idle) this.remember(['told'])
    return untold
  }

  /** Where the disk takes no media, the job stops here and goes on when there is room. */
  #stored<T>(store: () => T): T {
    try {
      return store()
    } catch (error) {
      if (isSystemError(error)) this.#writer.lose(error)
      throw error
    }
  }

  redact<T>(value: T): T {
    return this.#publisher.redact(value)
  }

  /** As `redact`, of what is large: in time slices where it takes long, and at once otherwise. */
  redactLarge<T>(value: T): T | Promise<T> {
    return this.#host.slices.doNow(this.user, this.#publisher.redactSteps(value))
  }

  redactMessage(text: string): string {
    return this.#publisher.redactMessage(text)
  }

  textStream(): TextStream {
    return this.#publisher.textStream()
  }

  /** A value of an output cannot be stored: the job fails there, whatever else its run says. */
  unwritable(node_id: string, output_name: string, cause: unknown): void {
    this.#broken ??= unwritableValue(node_id, output_name, cause)
  }

  #status(
    status: Extract<EventBody, { type: 'job_status' }>['status'],
    queue_position: number | null,
    frame: EventFrame | null,
    message: string | null = null,
  ): void {
    this.append({ type: 'job_status', status, queue_position, message }, frame)
  }

  /** The outputs of a large result whose texts are known; null: it has none. */
  get large_outputs(): Readonly<Record<string, unknown>> | null {
    return this.row.result === null ? null : (this.#large?.result?.outputs ?? null)
  }

  // — what is committed of it —

  /** Resolves when the first event is committed: the job will not be lost any more. */
  accepted(): Promise<void> {
    return this.#writer.accepted()
  }

  /** Resolves when the job has ended or waits for something outside, and that is committed. */
  settled(): Promise<void> {
    return this.#writer.settled()
  }

  /** Resolves when everything that has happened so far is committed. */
  flushed(): Promise<void> {
    return this.#writer.written()
  }

  /** Whether this process has done with it, though it has not ended: it waits for something outside. */
  get resting(): boolean {
    return this.#done && !this.terminal
  }

  #committed(): void {
    if (this.#writer.ended) this.#host.gone(this, null)
    else if (this.#done && this.#writer.clean) {
      this.#writer.rest()
      this.#host.gone(this, null)
    } else this.#putAway()
  }

  /** One that waits for something outside waits on, without this process. */
  #refused(): void {
    if (this.row.status !== 'paused' || this.#done || this.#run || this.#writer.hasCommands) return
    this.#done = true
    this.#writer.rest()
    this.#host.gone(this, null)
  }

  /** Its turn may have come meanwhile. */
  #decided(): void {
    if (!this.#isAdmitted) return
    this.#isAdmitted = false
    if (this.terminal || this.#writer.closed) this.#host.released(this)
    else this.admit()
  }

  #lost(cause: unknown): void {
    const { key, id: job_id } = this.row
    if (cause instanceof UnreadableNow) this.#host.unreadable.failed(this.row, cause)
    else if (cause instanceof NoRoom) this.#host.log.info({ job_id }, 'a job waits for memory')
    else if (this.#host.isFirstLoss(key))
      logFailure(this.#host.log, toServiceError(cause), { job_id }, 'the history of a job could not be written')
    this.#run?.abort()
    this.#run?.stopTimers()
    const hopeless = isDamage(cause) ? 'for_good' : 'for_now'
    this.#host.gone(this, this.#writer.canEndOnly(cause) ? 'damaged' : hopeless)
    this.#decided()
  }
}

/** Of the file system, as Node throws them. */
function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'errno' in error && 'syscall' in error
}
