// One run of a job: the engine with the job's journal, its time limit, and the delays that end during the run.

import type { Plan } from '../../engine/compile/compiler.ts'
import { systemClock } from '../../engine/node-api/clock.ts'
import type { NodeServices } from '../../engine/node-api/node-services.ts'
import type { Execution, RunOutcome } from '../../engine/runtime/execution.ts'
import type { ProcessMemoryAccount } from '../../engine/runtime/run/memory-account.ts'
import type { RunObserver } from '../../engine/runtime/run/observer.ts'
import { createRun } from '../../engine/runtime/sub-workflow.ts'
import type { JobJournal } from '../journal/job-journal.ts'
import { RunJournal, type RunJournalHost } from '../journal/run-journal.ts'
import { LazyValue } from '../values/lazy-value.ts'

/** A longer wait uses several timers. */
const LONGEST_TIMER_MS = 30_000

export interface JobRunParts {
  plan: Plan
  jobJournal: JobJournal
  seed: number | null
  observer: RunObserver
  services: NodeServices
  /** The most bytes of values that the run may hold at once. */
  memory_limit: number
  /** The account that the runs of all jobs share. */
  shared_memory: ProcessMemoryAccount
  journalHost: RunJournalHost
  /** Reads an input value. */
  readonly readInput: (value: LazyValue) => unknown
  /** Whether clients may send values to the streamed inputs. */
  acceptsStreamInput: boolean
  /** The end of the time limit, by `steady`; null: no limit. */
  deadline: number | null
  now(): number
  /** The clock for delays and the time limit. */
  steady(): number
  loadPlan(workflow_id: string): Promise<Plan>
  bytesOf(plan: Plan): number
  /** Called when the time limit is reached: the caller aborts the run. */
  onDeadline(): void
  onEnded(outcome: RunOutcome): void
}

export class JobRun {
  readonly #parts: JobRunParts
  readonly #abort = new AbortController()
  readonly #timers = new Map<object, NodeJS.Timeout>()
  readonly #run: Execution & { start(): void }

  constructor(parts: JobRunParts) {
    this.#parts = parts
    const { plan, jobJournal } = parts
    this.#run = createRun(plan, {
      params: jobJournal.params as Record<string, unknown>,
      signal: this.#abort.signal,
      clock: { now: () => parts.now(), steady: () => parts.steady(), sleep: systemClock.sleep },
      observer: parts.observer,
      services: parts.services,
      memoryLimit: parts.memory_limit,
      sharedMemory: parts.shared_memory,
      journal: new RunJournal(parts.journalHost, jobJournal.isBlank),
      ...(parts.seed === null ? {} : { seed: parts.seed }),
      updates: [...jobJournal.inputs.updates],
      loadPlan: parts.loadPlan,
      estimatePlanBytes: parts.bytesOf,
    })
  }

  get execution(): Execution {
    return this.#run
  }

  /** Starts the run, or continues it after an interruption. A graph whose nodes are all synchronous has ended when this returns. */
  start(): void {
    const { plan, jobJournal, acceptsStreamInput, deadline, onDeadline, journalHost } = this.#parts
    // Inputs that came earlier are pushed before the first node fires.
    for (const input of jobJournal.inputs.values) {
      if (input[0] === 'push') this.#run.pushInput(input[1], LazyValue.toUnread(input[2], this.#parts.readInput))
      else this.#run.endInput(input[1])
    }
    const { delays } = jobJournal
    jobJournal.markRunBegun()
    if (deadline !== null && deadline <= this.#parts.steady()) onDeadline()
    else if (deadline !== null) this.#callAt(deadline, onDeadline)
    for (const { firing, until } of delays) this.scheduleDelayEnd(firing, until, journalHost)
    this.#run.start()
    if (!acceptsStreamInput) for (const input of plan.inputs) if (input.stream) this.#run.endInput(input.name)
    if (this.#run.outcome) this.#onEnded(this.#run.outcome)
    else void this.#run.done.then((outcome) => this.#onEnded(outcome))
  }

  abort(): void {
    this.#abort.abort()
  }

  /** Resumes a firing at a time, unless the run is suspended before. */
  scheduleDelayEnd(firing: string, until: number, journal: RunJournalHost): void {
    this.#callAt(until, () => {
      journal.remember(['answer', firing, null])
      this.#run.answer(firing, null)
    })
  }

  #callAt(time: number, then: () => void): void {
    const key = {}
    const left = Math.max(0, time - this.#parts.steady())
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

  #onEnded(outcome: RunOutcome): void {
    this.stopTimers()
    this.#parts.onEnded(outcome)
  }

  stopTimers(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer)
    this.#timers.clear()
  }
}
