// Takes the inputs of an active job to its run or, before the run begins, to the stand-in of the queued job.
import type { JobTable } from '../../db/tables/jobs.ts'
import type { Plan } from '../../engine/compile/compiler.ts'
import type { InputValues } from '../../engine/node-api/firing-forms.ts'
import type { Execution, InputsInTransit } from '../../engine/runtime/execution.ts'
import { resolvePropertyUpdates } from '../../engine/runtime/property-updates.ts'
import type { ActiveJobCommand } from '../commit/command-queue.ts'
import type { JobWriter } from '../commit/job-writer.ts'
import type { ActiveJournal } from '../journal/active-journal.ts'
import { isTerminal } from '../state-machine.ts'
import type { StoredOptions } from '../submission/stored-options.ts'
import { type InputReceiver, JobInputs, type JobInputsHost } from './job-inputs.ts'
import { QueuedJobInputs } from './queued-job-inputs.ts'

export interface InputRouterParts {
  readonly row: JobTable
  readonly plan: Plan
  readonly options: StoredOptions
  readonly journal: ActiveJournal
  readonly writer: JobWriter
  /** Whether the job is still in this process. */
  isActive(): boolean
}

export class InputRouter implements JobInputsHost {
  readonly #parts: InputRouterParts
  #queued: QueuedJobInputs | null = null
  /** The execution of the last run, which may be over. */
  #execution: Execution | null = null
  #isRunning = false

  constructor(parts: InputRouterParts) {
    this.#parts = parts
  }

  /** Accepts inputs; null where the job cannot run any more. */
  open(): JobInputs | null {
    const receiver = this.receiver()
    return receiver && new JobInputs(this, this.#parts.journal.inputCounts, receiver)
  }

  /** The run takes the inputs from now on. */
  beginRun(execution: Execution): void {
    this.#queued = null
    this.#execution = execution
    this.#isRunning = true
  }

  /** The run was suspended. */
  endRun(): void {
    this.#isRunning = false
  }

  receiver(): InputReceiver | null {
    if (!this.#parts.isActive() || isTerminal(this.#parts.row.status)) return null
    return this.#isRunning ? this.#execution : this.openQueued()
  }

  /** Opens the stand-in while the journal is in memory, which it reads. */
  openQueued(): QueuedJobInputs {
    this.#queued ??= this.#createQueued()
    return this.#queued
  }

  #createQueued(): QueuedJobInputs {
    const { row, plan, options, journal } = this.#parts
    const { params, inputs } = journal.current
    return new QueuedJobInputs(plan, params, options.fed, inputs.values, row.started_at !== null)
  }

  underway(name: string): InputsInTransit {
    const { inputCounts } = this.#parts.journal
    return this.#isRunning ? inputCounts.of(name) : inputCounts.total(name)
  }

  changeable(node_id: string, properties: Record<string, unknown>): InputValues | null {
    return this.#isRunning
      ? resolvePropertyUpdates(this.#parts.plan, node_id, properties)
      : this.openQueued().changeable(node_id, properties)
  }

  countBegunFirings(node_id: string): number {
    return this.#execution?.updateProperties(node_id, {}) ?? 0
  }

  command(command: ActiveJobCommand): Promise<void> {
    return this.#parts.writer.command(command)
  }

  flushed(): Promise<void> {
    return this.#parts.writer.whenWritten()
  }
}
