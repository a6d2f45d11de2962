// What a run is given.
import type { Budget } from './budget.ts'
import type { HaltedLater } from './call.ts'
import type { Clock } from './clock.ts'
import type { NodeUpdate } from './journal.ts'
import type { Memo } from './memo.ts'
import type { Memory } from './memory.ts'
import type { Outputs } from './node-type.ts'
import type { ObservedNode, RunObserver } from './observer.ts'
import type { NodeServices } from './services.ts'
import type { OpenStep } from './steps.ts'

/** Where in a firing a workflow is called. */
export interface CallSite {
  readonly signal: AbortSignal
  /** What is remembered of the firing, in a run that remembers. */
  readonly memo: Memo | null
  /** Null: outside of all steps. */
  readonly step: OpenStep | null
}

export interface RunOptions {
  params: Record<string, unknown>
  signal: AbortSignal
  observer: RunObserver
  budget: Budget
  inboxLimit: number
  clock: Clock
  random: () => number
  /** Milliseconds, or null. */
  timeLimit: number | null
  services: NodeServices
  /** What it remembers by, or null. */
  memory: Memory | null
  /** Changes of nodes' own values from before an interruption. */
  updates: readonly NodeUpdate[]
  /** Calls a workflow under the firing's signal. While it goes on it is one of `calls`, so that it stops with its caller. */
  callWorkflow(
    caller: ObservedNode,
    workflow_id: string,
    params: Record<string, unknown>,
    calls: Set<HaltedLater>,
    site: CallSite,
  ): Promise<Outputs>
}
