// What a run tells its host, and the outcome it ends with. All calls are synchronous and in the order of events.
import type { WaitingFiring } from '../../durability/journal.ts'
import type { LogSeverity, OutputChunk, OutputValues, ToolReport } from '../../node-api/node-type.ts'
import type { TypeMetadata } from '../../node-api/values/type-metadata.ts'
import type { RunError } from './error.ts'

export type { RunError } from './error.ts'

export interface ObservedNode {
  readonly node_id: string
  readonly node_name: string
  readonly node_type: string
}

/** `running` at the first firing; the others once, when the node is closed. */
export type NodeStatus = 'running' | 'completed' | 'skipped' | 'error'

export interface NodeUpdateDetail {
  /** The outputs of the node's last firing, on `completed`. */
  result?: OutputValues
  /** Those of them that are items of streams, and not single values. */
  streamed?: ReadonlySet<string>
  /** A message that may be shown, on `error`. */
  error?: string
}

/** `active` while tokens flow, `completed` once when the edge's stream ended. */
export type EdgeStatus = 'active' | 'completed'

export interface RunObserver {
  nodeUpdated(node: ObservedNode, status: NodeStatus, detail?: NodeUpdateDetail): void
  /** Whether `prepareOutput` is to be asked even for a small value of an output, because it holds back much of those before. */
  holdsMuch?(output_name: string): boolean
  /**
   * Makes a large value of an output node ready, so that `output` takes little time; null where that is not needed. It comes before `output`, and
   * nothing else of the node in between. Where it rejects, `output` throws.
   */
  prepareOutput?(node: ObservedNode, output_name: string, value: unknown): Promise<void> | null
  /**
   * Makes a large result of a node ready, so that `nodeUpdated` takes little time; null where that is not needed. It comes before `completed`, and
   * nothing else of the node in between. It does not reject.
   */
  prepareResult?(node: ObservedNode, detail: NodeUpdateDetail): Promise<void> | null
  /** One value of an output node: the only one, or the next item of its stream. */
  output(node: ObservedNode, output_name: string, value: unknown, type: TypeMetadata): void
  /** The output node is closed: no further value comes. */
  outputDone?(node: ObservedNode, output_name: string): void
  /** `counter` is the number of values so far. At the first, at the end, also where none came, and at most every 100 ms between. */
  edgeUpdated(edge_id: string, status: EdgeStatus, counter: number): void
  progress(node: ObservedNode, progress: number, total: number): void
  /** `speaker`: stands for one attempt at one firing, so that what several say at once can be told apart. */
  chunk(node: ObservedNode, chunk: OutputChunk, speaker: object): void
  /** A node calls a tool, or has its result. */
  tool?(node: ObservedNode, told: ToolReport): void
  log(node: ObservedNode, severity: LogSeverity, content: string): void
  /** Null: the run may go on. Otherwise it has told more than is stored so far, and goes on when this has ended, however it does. */
  backlog?(): Promise<void> | null
  /** The cause of a failure, for the log only. `told`: the failure has a message that may be shown besides. */
  fault(node: ObservedNode, cause: unknown, told: boolean): void
}

/** `outputs[name]` is always a list: all items of a stream, the one value of a single output, empty where it got nothing. */
export type RunOutcome =
  | { status: 'completed'; outputs: Record<string, unknown[]> }
  | { status: 'failed'; error: RunError }
  | { status: 'cancelled' }
  /** Nothing can go on before one of these is answered: in the order of the graph's nodes, then of their paths. Only with a journal. */
  | { status: 'suspended'; waiting: WaitingFiring[] }

/** Hears everything and says nothing. */
export const silentObserver: RunObserver = {
  nodeUpdated() {},
  output() {},
  edgeUpdated() {},
  progress() {},
  chunk() {},
  log() {},
  fault() {},
}
