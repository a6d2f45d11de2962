// One run of a plan, as its host sees it.

import type { Plan } from '../compile/compiler.ts'
import type { InputValues } from '../node-api/node-type.ts'
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
  /** The outcome as soon as there is one: for a small synchronous graph already when `execute` returns. */
  readonly outcome: RunOutcome | null
  /** Appends a value to a streamed input; `full` where too many wait already. `not_running` also where the input's stream has already ended. */
  pushInput(name: string, value: unknown, handle?: string): PushResult
  /** Ends a streamed input; a second time it is `ok` and changes nothing. */
  endInput(name: string, handle?: string): PushResult
  /** What `pushInput` would give, with what is on its way to the input before the value. Nothing is changed. */
  previewPush(name: string, value: unknown, handle: string | undefined, inTransit: InputsInTransit): PushResult
  /** What `endInput` would give. Nothing is changed. */
  previewEnd(name: string, handle: string | undefined): PushResult
  /** Appends a value that was judged before, however much waits; without effect where the stream has ended. */
  appendInput(name: string, value: unknown): void
  /** Changes values of a node, which `changeable` gave, for firings not yet begun. Gives the number of those that have begun, also where it changes none. */
  updateProperties(node_id: string, values: InputValues): number
  /** Gives a firing that waits what it waits for. False: none of that name waits, or the run has stopped. */
  answer(firing: string, value: unknown): boolean
}

/** Runs a plan. Never throws: whatever happens is the outcome. */
export function executePlan(plan: Plan, options: ExecuteOptions): Execution {
  const run = createRun(plan, options)
  run.start()
  return run
}
