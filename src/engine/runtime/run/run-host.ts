// A run, as seen by its nodes: its parts, each of which says what nodes may use of it.
import type { NodeUpdate } from '../../durability/journal.ts'
import type { RunDurability } from '../../durability/run-durability.ts'
import type { ComputeAccess } from '../../node-api/services/compute.ts'
import type { Scheduler } from '../scheduler.ts'
import type { RunRegions } from '../streams/demand.ts'
import type { StreamedInputs } from '../streams/streamed-inputs.ts'
import type { RunAborter } from './aborter.ts'
import type { RunEdges } from './edges.ts'
import type { RunEnding } from './ending.ts'
import type { RunFailures } from './failures.ts'
import type { FiringEnvironment } from './firing-environment.ts'
import type { RunMemoryAccount } from './memory-account.ts'
import type { NodeExecutors } from './node-executors.ts'
import type { RunObserver } from './observer.ts'
import type { RunOutputs } from './outputs.ts'
import type { RunState } from './state.ts'
import type { WorkLoop } from './work-loop.ts'

export interface RunHost {
  readonly params: Readonly<Record<string, unknown>>
  readonly observer: RunObserver
  /** The durability of the run, or null. */
  readonly durability: RunDurability | null
  readonly state: RunState
  readonly aborter: RunAborter
  readonly failures: RunFailures
  readonly ending: RunEnding
  readonly executors: NodeExecutors
  readonly scheduler: Scheduler
  readonly workLoop: WorkLoop
  readonly edges: RunEdges
  /** The regions that stream operators may leave unread; null: none. */
  readonly regions: RunRegions | null
  readonly memoryAccount: RunMemoryAccount
  readonly streamedInputs: StreamedInputs
  readonly outputs: RunOutputs
  readonly environment: FiringEnvironment
  /** Runs firings that would block the main thread, on behalf of `owner`. */
  readonly compute: ComputeAccess
  readonly owner: string
  /** The property changes of nodes from before an interruption, in their order, by node id. */
  readonly updates: ReadonlyMap<string, readonly NodeUpdate[]>
}
