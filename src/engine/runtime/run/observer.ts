// The events that a run reports to its host, and its outcome. All calls are synchronous and in the order of events.
import type { WaitingFiring } from '../../durability/journal.ts'
import type { OutputValues } from '../../node-api/firing-forms.ts'
import type { LogSeverity, OutputChunk, ToolReport } from '../../node-api/node-context.ts'
import type { TypeMetadata } from '../../node-api/values/type-metadata.ts'
import type { RunError } from './error.ts'

export type { RunError } from './error.ts'

export interface ObservedNode {
  readonly node_id: string
  readonly node_name: string
  readonly node_type: string
}

/** `running` at the first firing; each other status once, when the node is closed. */
export type NodeStatus = 'running' | 'completed' | 'skipped' | 'error'

export interface NodeUpdateDetail {
  /** The outputs of the node's last firing, on `completed`. */
  result?: OutputValues
  /** The outputs that are items of streams, not single values. */
  streamed?: ReadonlySet<string>
  /** A public message, on `error`. */
  error?: string
}

/** `active` while tokens flow; `completed` once, when the edge's stream has ended. */
export type EdgeStatus = 'active' | 'completed'

export interface RunObserver {
  nodeUpdated(node: ObservedNode, status: NodeStatus, detail?: NodeUpdateDetail): void
  /** Whether `prepareOutput` must be called even for small values of an output, because many earlier values are held back. */
  holdsMuch?(output_name: string): boolean
  /**
   * Prepares a large output value, so that `output` takes little time; null if that is not needed. It precedes `output`, with no other
   * event of the node in between. If it rejects, `output` throws.
   */
  prepareOutput?(node: ObservedNode, output_name: string, value: unknown): Promise<void> | null
  /**
   * Prepares a large result, so that `nodeUpdated` takes little time; null if that is not needed. It precedes `completed`, with no other
   * event of the node in between. It never rejects.
   */
  prepareResult?(node: ObservedNode, detail: NodeUpdateDetail): Promise<void> | null
  /** One value of an output node: the only one, or the next item of its stream. */
  output(node: ObservedNode, output_name: string, value: unknown, type: TypeMetadata): void
  /** The output node is closed: no further value follows. */
  outputDone?(node: ObservedNode, output_name: string): void
  /** `counter` is the number of values so far. Called at the first value, at the end (even without values), and at most every 100 ms between. */
  edgeUpdated(edge_id: string, status: EdgeStatus, counter: number): void
  progress(node: ObservedNode, progress: number, total: number): void
  /** `speaker` identifies one attempt at one firing, so that concurrent chunks can be told apart. */
  chunk(node: ObservedNode, chunk: OutputChunk, speaker: object): void
  /** A node calls a tool, or has its result. */
  tool?(node: ObservedNode, told: ToolReport): void
  log(node: ObservedNode, severity: LogSeverity, content: string): void
  /** Null: the run may continue. Otherwise stored events lag behind, and the run continues when the promise settles. */
  backlog?(): Promise<void> | null
  /** The cause of a failure, for the log only. `told`: the failure also has a public message. */
  fault(node: ObservedNode, cause: unknown, told: boolean): void
}

/** `outputs[name]` is always a list: all items of a stream, the one value of a single output, or empty without a value. */
export type RunOutcome =
  | { status: 'completed'; outputs: Record<string, unknown[]> }
  | { status: 'failed'; error: RunError }
  | { status: 'cancelled' }
  /** Nothing can continue before one of these is answered; sorted by the order of the graph's nodes, then by path. Only with a journal. */
  | { status: 'suspended'; waiting: WaitingFiring[] }

/** An observer that ignores all events. */
export const silentObserver: RunObserver = {
  nodeUpdated() {},
  output() {},
  edgeUpdated() {},
  progress() {},
  chunk() {},
  log() {},
  fault() {},
}
