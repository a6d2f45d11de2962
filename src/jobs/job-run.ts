// One run of a job: the engine with the job's memory behind it, its time limit, and the delays that end while it goes on.
import { systemClock } from '../engine/clock.ts'
import type { Execution, Outcome } from '../engine/execution.ts'
import type { SharedMemory } from '../engine/held-values.ts'
import type { RunObserver } from '../engine/observer.ts'
import type { Plan } from '../engine/plan.ts'
import type { NodeServices } from '../engine/services.ts'
import { newRun } from '../engine/sub-workflow.ts'
import { JobJournal, type JournalHost } from './firing-names.ts'
import { Later } from './later.ts'
import type { JobMemory } from './memory.ts'

/** A longer wait is taken in steps. */
const LONGEST_TIMER_MS = 30_000

export interface RunParts {
  plan: Plan
  memory: JobMemory
  seed: number | null
  observer: RunObserver
  services: NodeServices
  /** In bytes, of the values that it holds at once. */
  memory_limit: number
  /** What the runs of all jobs share. */
  shared_memory: SharedMemory
  journal: JournalHost
  /** Reads a value that it was sent. */
  readonly readSent: (value: Later) => unknown
  /** Whether values may be sent to its streamed inputs. */
  fed: boolean
  /** When its time is over, by `steady`; or null. */
  deadline: number | null
  now(): number
  /** The time in which its delays are counted. */
  steady(): number
  loadPlan(workflow_id: string): Promise<Plan>
  bytesOf(plan: Plan): number
  /** Its time is over: the run is to be aborted. */
  overdue(): void
  ended(outcome: Outcome): void
}

export class JobRun {
  readonly #parts: RunParts
  readonly #abort = new AbortController()
  readonly #timers = new Map<object, NodeJS.Timeout>()
  readonly #run: Execution & { start(): void }

  constructor(parts: RunParts) {
    this.#parts = parts
    const { plan, memory } = parts
    this.#run = newRun(plan, {
      params: memory.params as Record<string, unknown>,
      signal: this.#abort.signal,
      clock: { now: () => parts.now(), steady: () => parts.steady(), sleep: systemClock.sleep },
      observer: parts.observer,
      services: parts.services,
      memoryLimit: parts.memory_limit,
      sharedMemory: parts.shared_memory,
      journal: new JobJournal(parts.journal, memory.blank),
      ...(parts.seed === null ? {} : { seed: parts.seed }),
      updates: [...memory.updates],
      loadPlan: parts.loadPlan,
      bytesOf: parts.bytesOf,
    })
  }

  get execution(): Execution {
    return this.#run
  }

  /** Begins, or goes on after an interruption. A graph whose nodes are all synchronous has ended when this returns. */
  start(): void {
    const { plan, memory, fed, deadline, overdue, journal } = this.#parts
    // What was sent before is there before the first node fires.
    for (const input of memory.inputs) {
      if (input[0] === 'push') this.#run.pushInput(input[1], Later.unread(input[2], this.#parts.readSent))
      else this.#run.endInput(input[1])
    }
    const { delays } = memory
    memory.begin()
    if (deadline !== null && deadline <= this.#parts.steady()) overdue()
    else if (deadline !== null) this.#at(deadline, overdue)
    for (const { firing, until } of delays) this.delay(firing, until, journal)
    this.#run.start()
    if (!fed) for (const input of plan.inputs) if (input.stream) this.#run.endInput(input.name)
    if (this.#run.outcome) this.#ended(this.#run.outcome)
    else void this.#run.done.then((outcome) => this.#ended(outcome))
  }

  abort(): void {
    this.#abort.abort()
  }

  /** Lets a firing go on at a time, unless the run is suspended before. */
  delay(firing: string, until: number, journal: JournalHost): void {
    this.#at(until, () => {
      journal.remember(['answer', firing, null])
      this.#run.answer(firing, null)
    })
  }

  #at(time: number, then: () => void): void {
    const key = {}
    const left = Math.max(0, time - this.#parts.steady())
    const step = () => (left > LONGEST_TIMER_MS ? this.#at(time, then) : then())
    const timer = setTimeout(
      () => {
        this.#timers.delete(key)
        step()
      },
      Math.min(left, LONGEST_TIMER_MS),
    )
    this.#timers.set(key, timer)
  }

  #ended(outcome: Outcome): void {
    this.stopTimers()
    this.#parts.ended(outcome)
  }

  stopTimers(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer)
    this.#timers.clear()
  }
}
