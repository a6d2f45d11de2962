// One run of a plan, as its host sees it.
import type { PushResult, Underway } from './feeds.ts'
import type { Inputs } from './node-type.ts'
import type { Outcome } from './observer.ts'
import type { Plan } from './plan.ts'
import { type ExecuteOptions, newRun } from './sub-workflow.ts'

export type { PushResult, Underway } from './feeds.ts'
export type { FiringEnd, Journal, NodeUpdate, Remembered, Waiting, WaitRequest } from './journal.ts'
export type { Outcome, RunObserver } from './observer.ts'
export type { ExecuteOptions } from './sub-workflow.ts'

export interface Execution {
  /** Resolves with the outcome; never rejects. */
  readonly done: Promise<Outcome>
  /** The outcome as soon as there is one: for a small synchronous graph already when `execute` returns. */
  readonly outcome: Outcome | null
  /** Appends a value to a streamed input; `full` where too many wait already. `not_running` also where the input's stream has already ended. */
  pushInput(name: string, value: unknown, handle?: string): PushResult
  /** Ends a streamed input; a second time it is `ok` and changes nothing. */
  endInput(name: string, handle?: string): PushResult
  /** What `pushInput` would give, with what is on its way to the input before the value. Nothing is changed. */
  judgePush(name: string, value: unknown, handle: string | undefined, underway: Underway): PushResult
  /** What `endInput` would give. Nothing is changed. */
  judgeEnd(name: string, handle: string | undefined): PushResult
  /** Appends a value that was judged before, however much waits; without effect where the stream has ended. */
  takeInput(name: string, value: unknown): void
  /** Changes values of a node, which `changeable` gave, for firings not yet begun. Gives the number of those that have begun, also where it changes none. */
  takeProperties(node_id: string, values: Inputs): number
  /** Gives a firing that waits what it waits for. False: none of that name waits, or the run has stopped. */
  answer(firing: string, value: unknown): boolean
}

/** Runs a plan. Never throws: whatever happens is the outcome. */
export function execute(plan: Plan, options: ExecuteOptions): Execution {
  const run = newRun(plan, options)
  run.start()
  return run
}
