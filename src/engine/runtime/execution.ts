// The host's interface to one run of a plan.

import type { Plan } from '../compile/compiler.ts'
import type { InputValues } from '../node-api/firing-forms.ts'
import type { RunOutcome } from './run/observer.ts'
import type { InputsInTransit, PushResult } from './streams/streamed-inputs.ts'
import { createRun, type ExecuteOptions } from './sub-workflow.ts'

export type {
  FiringEnd,
  FiringHistory,
  Journal,
  NodeUpdate,
  WaitingFiring,
  WaitRequest,
} from '../durability/journal.ts'
export type { RunObserver, RunOutcome } from './run/observer.ts'
export type { InputsInTransit, PushResult } from './streams/streamed-inputs.ts'
export type { ExecuteOptions } from './sub-workflow.ts'

export interface Execution {
  /** Resolves with the outcome; never rejects. */
  readonly done: Promise<RunOutcome>
  /** The outcome once the run is over; a small synchronous graph is over when `executePlan` returns. */
  readonly outcome: RunOutcome | null
  /** Appends a value to a streamed input; `full` if too many values wait. `not_running` also if the input's stream has ended. */
  pushInput(name: string, value: unknown, handle?: string): PushResult
  /** Ends a streamed input. Ending it again returns `ok` and changes nothing. */
  endInput(name: string, handle?: string): PushResult
  /** The result that `pushInput` would return once the values in transit have arrived. Changes nothing. */
  previewPush(name: string, value: unknown, handle: string | undefined, inTransit: InputsInTransit): PushResult
  /** The result that `endInput` would return. Changes nothing. */
  previewEnd(name: string, handle: string | undefined): PushResult
  /** Appends a validated value, however many values wait. Does nothing if the stream has ended. */
  appendInput(name: string, value: unknown): void
  /**
   * Changes values of a node, from `resolvePropertyUpdates`, for firings not yet begun. Returns the number of begun firings, even without
   * changes.
   */
  updateProperties(node_id: string, values: InputValues): number
  /** Answers a waiting firing. False: no firing of that name waits, or the run has stopped. */
  answer(firing: string, value: unknown): boolean
}

/** Runs a plan. Never throws: errors are part of the outcome. */
export function executePlan(plan: Plan, options: ExecuteOptions): Execution {
  const run = createRun(plan, options)
  run.start()
  return run
}
