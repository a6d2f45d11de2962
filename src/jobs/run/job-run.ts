// One run of a job: the engine with the job's journal, services and time limit, and the delays that end during the run. It decides how the job ends.
import type { Plan } from '../../engine/compile/compiler.ts'
import type { WaitingFiring } from '../../engine/durability/journal.ts'
import { systemClock } from '../../engine/node-api/clock.ts'
import type { ModelUsage } from '../../engine/node-api/services/models.ts'
import type { Execution, RunOutcome } from '../../engine/runtime/execution.ts'
import { createRun } from '../../engine/runtime/sub-workflow.ts'
import type { JobWriter } from '../commit/job-writer.ts'
import { createTimedOutEnding, type JobEnding, toJobEnding } from '../job-endings.ts'
import { RunJournal } from '../journal/run-journal.ts'
import type { JobOutputs } from '../outputs/job-outputs.ts'
import { isTerminal } from '../state-machine.ts'
import { resolveDeadline, type StoredOptions } from '../submission/stored-options.ts'
import { LazyValue } from '../values/lazy-value.ts'
import { type CallingJob, loadCalledPlan } from './called-plans.ts'
import { meterModelServices } from './model-usage.ts'
import { createRunRecorder, type RunRecorder } from './recorder.ts'

/** A longer wait uses several timers. */
const LONGEST_TIMER_MS = 30_000

export interface JobRunParts extends CallingJob {
  readonly plan: Plan
  readonly options: StoredOptions
  readonly outputs: JobOutputs
  readonly writer: JobWriter
  /** Whether the job is still in this process. */
  isActive(): boolean
  /** Called when the run is over: the job ends, or is suspended. */
  onEnded(end: JobEnding | RunSuspension): void
}

export interface RunSuspension {
  readonly waiting: readonly WaitingFiring[]
}

export class JobRun {
  /** The end of the time limit, by the steady clock; null: no limit. */
  readonly deadline: number | null
  readonly recorder: RunRecorder
  readonly #parts: JobRunParts
  readonly #abort = new AbortController()
  readonly #timers = new Map<object, NodeJS.Timeout>()
  readonly #run: Execution & { start(): void }
  /** The ending where the run is aborted. */
  #abortEnding: JobEnding | null = null
  /** An ending that overrides the outcome of the run. */
  #fatalEnding: JobEnding | null = null

  constructor(parts: JobRunParts) {
    const { row, plan, context, journal, options, outputs } = parts
    const { platform, steady, deadlines, log, plans } = context
    const { params, inputs, isBlank, spending } = journal.current
    this.#parts = parts
    this.deadline = resolveDeadline(row, context, options)
    deadlines.delete(row.key)
    this.recorder = createRunRecorder(outputs, log)
    this.#run = createRun(plan, {
      params: params as Record<string, unknown>,
      signal: this.#abort.signal,
      clock: { now: () => platform.now(), steady: () => steady.now(), sleep: systemClock.sleep },
      observer: this.recorder,
      services: meterModelServices(
        context.servicesOf(row),
        (use) => this.#recordModelUse(use),
        context.budget?.((currency) => spending.paid(currency)) ?? null,
      ),
      memoryLimit: context.memory_limit,
      sharedMemory: context.shared_memory,
      journal: new RunJournal(journal, isBlank),
      ...(row.seed === null ? {} : { seed: row.seed }),
      updates: [...inputs.updates],
      loadPlan: (workflow_id) => loadCalledPlan(parts, workflow_id),
      estimatePlanBytes: (called) => plans.bytesOf(called),
    })
  }

  get execution(): Execution {
    return this.#run
  }

  /** Starts the run, or continues it after an interruption. A graph whose nodes are all synchronous has ended when this returns. */
  start(): void {
    const { plan, context, journal, options } = this.#parts
    const { current } = journal
    // Inputs that came earlier are pushed before the first node fires.
    for (const [kind, name, value] of current.inputs.values) {
      if (kind === 'push')
        this.#run.pushInput(
          name,
          LazyValue.toUnread(value, (lazy) => journal.readValue(lazy)),
        )
      else this.#run.endInput(name)
    }
    const { delays } = current
    current.markRunBegun()
    if (this.deadline !== null && this.deadline <= context.steady.now()) this.#onDeadline()
    else if (this.deadline !== null) this.#callAt(this.deadline, () => this.#onDeadline())
    for (const { firing, until } of delays) this.scheduleDelayEnd(firing, until)
    this.#run.start()
    if (!options.fed) for (const input of plan.inputs) if (input.stream) this.#run.endInput(input.name)
    if (this.#run.outcome) this.#onEnded(this.#run.outcome)
    else void this.#run.done.then((outcome) => this.#onEnded(outcome))
  }

  /** Records model usage; after the end it comes too late for the result. */
  #recordModelUse(use: ModelUsage): void {
    const { row, journal, isActive } = this.#parts
    if (isActive() && !isTerminal(row.status)) journal.remember(['use', use])
  }

  #onDeadline(): void {
    const { row, options } = this.#parts
    if (row.status === 'cancel_requested') return
    this.#abortEnding = createTimedOutEnding(options.timeout_seconds!)
    this.abort()
  }

  abort(): void {
    this.#abort.abort()
  }

  /** Aborts the run of a job that leaves the process. */
  stop(): void {
    this.abort()
    this.#stopTimers()
  }

  /** The job fails whatever the outcome of the run is. */
  fail(ending: JobEnding): void {
    this.#fatalEnding ??= ending
  }

  /** Resumes a firing at a time, unless the run is suspended before. */
  scheduleDelayEnd(firing: string, until: number): void {
    this.#callAt(until, () => {
      this.#parts.journal.remember(['answer', firing, null])
      this.#run.answer(firing, null)
    })
  }

  #callAt(time: number, then: () => void): void {
    const key = {}
    const left = Math.max(0, time - this.#parts.context.steady.now())
    const step = () => (left > LONGEST_TIMER_MS ? this.#callAt(time, then) : then())
    const timer = setTimeout(
      () => {
        this.#timers.delete(key)
        step()
      },
      Math.min(left, LONGEST_TIMER_MS),
    )
    this.#timers.set(key, timer)
  }

  #stopTimers(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer)
    this.#timers.clear()
  }

  #onEnded(outcome: RunOutcome): void {
    this.#stopTimers()
    const { outputs, isActive } = this.#parts
    const cutting = isActive() ? outputs.cutHeldBack(this.recorder) : null
    if (!cutting) this.#settle(outcome)
    else
      void cutting.then(
        () => this.#settle(outcome),
        (cause) => this.#onUnwritable(cause, outcome),
      )
  }

  /** What was held back cannot be published: the job fails without it. A job that has left this process continues later. */
  #onUnwritable(cause: unknown, outcome: RunOutcome): void {
    const { outputs, isActive } = this.#parts
    if (isActive()) this.fail(outputs.createUnwritableEnding(cause))
    this.#reportEnd(outcome)
  }

  #settle(outcome: RunOutcome): void {
    let preparing: Promise<void> | null
    try {
      preparing = this.#publishRest(outcome)
    } catch (cause) {
      return this.#onUnwritable(cause, outcome)
    }
    if (preparing) void this.#awaitResult(preparing).then(() => this.#reportEnd(outcome))
    else this.#reportEnd(outcome)
  }

  /** Publishes what was held back, and prepares the result. The job may have left this process. */
  #publishRest(outcome: RunOutcome): Promise<void> | null {
    const { row, outputs } = this.#parts
    const isActive = this.#parts.isActive()
    if (isActive && (outcome.status !== 'suspended' || row.status === 'cancel_requested')) this.recorder.settle()
    const completes = isActive && outcome.status === 'completed' && !this.#fatalEnding
    return completes ? outputs.prepareResult() : null
  }

  /** Waits for a prepared result. A result that is too large fails the job. */
  async #awaitResult(preparing: Promise<void>): Promise<void> {
    const { writer, outputs } = this.#parts
    try {
      await preparing
      // Events staged before get a commit of their own: together with a large result, both would take twice as long.
      await writer.whenWritten().catch(() => {})
    } catch (cause) {
      // Where the job has left this process, it continues later. A failed write was logged already.
      if (!writer.isClosed) this.fail(outputs.createUnwritableEnding(cause))
    }
  }

  #reportEnd(outcome: RunOutcome): void {
    const forced = this.#fatalEnding ?? (outcome.status === 'cancelled' ? this.#abortEnding : null)
    this.#parts.onEnded(forced ?? (outcome.status === 'suspended' ? outcome : toJobEnding(outcome)))
  }
}
