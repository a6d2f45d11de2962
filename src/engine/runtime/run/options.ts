// The options of a run.

import type { FiringRecord } from '../../durability/firing-record.ts'
import type { OpenStep } from '../../durability/firing-steps.ts'
import type { NodeUpdate } from '../../durability/journal.ts'
import type { RunDurability } from '../../durability/run-durability.ts'
import type { Clock } from '../../node-api/clock.ts'
import type { OutputValues } from '../../node-api/firing-forms.ts'
import type { NodeServices } from '../../node-api/node-services.ts'
import type { HaltableWait } from '../workflow-call.ts'
import type { ObservedNode, RunObserver } from './observer.ts'
import type { RunResources } from './resources.ts'

/** The place of a workflow call within a firing. */
export interface FiringCallSite {
  readonly signal: AbortSignal
  /** The record of the firing in a durable run. */
  readonly record: FiringRecord | null
  /** Null: outside of all steps. */
  readonly step: OpenStep | null
}

export interface GraphRunOptions {
  params: Record<string, unknown>
  signal: AbortSignal
  observer: RunObserver
  resources: RunResources
  inboxLimit: number
  clock: Clock
  random: () => number
  /** Milliseconds, or null. */
  timeLimitMs: number | null
  services: NodeServices
  /** The durability of the run, or null. */
  durability: RunDurability | null
  /** Property changes from before an interruption. */
  updates: readonly NodeUpdate[]
  /** Calls a workflow under the firing's signal. During the call it is a member of `calls`, so that it stops with its caller. */
  callWorkflow(
    caller: ObservedNode,
    workflow_id: string,
    params: Record<string, unknown>,
    calls: Set<HaltableWait>,
    site: FiringCallSite,
  ): Promise<OutputValues>
}
