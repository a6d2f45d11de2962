// The compiled form of a graph. A plan is immutable and holds no state of a run, so any number of runs share it. compiler.ts makes plans;
// execution.ts runs them.
import type { NodeType } from '../node-api/node-type.ts'
import type { Coercion } from '../node-api/values/coercion.ts'
import type { TypeMetadata } from '../node-api/values/type-metadata.ts'
import type { ObservedNode } from '../runtime/run/observer.ts'

/** A named value that a run accepts. */
export interface PlanInput {
  node_id: string
  name: string
  description: string
  type: TypeMetadata
  /** True if the graph has no value of its own. A streamed input is never required. */
  required: boolean
  default: unknown
  min?: number
  max?: number
  /** True: values may be pushed during the run. */
  stream: boolean
}

/** A named value that a run publishes. */
export interface PlanOutput {
  node_id: string
  name: string
  description: string
  type: TypeMetadata
  /** True if the value lies inside a stream: there may be any number of values. */
  stream: boolean
  stream_kind?: string
}

/** One connected input of a node: a data edge into a property or dynamic input, or a control edge. */
export interface PlanSlot {
  /** The input's handle; null for a control edge. */
  readonly name: string | null
  readonly index: number
  /** The number of streams around the value: 0 for a single value. */
  readonly depth: number
  readonly edge_id: string
  readonly source: number
  /** Converts or checks a value; null if the types are equal. */
  readonly coerce: Coercion | null
  readonly type: TypeMetadata
  /** False: a path without a value falls back to the node's constant. */
  readonly required: boolean
  readonly aggregate: boolean
  /** True: failures are passed to the node as values instead of being propagated. */
  readonly catches: boolean
}

export interface PlanTarget {
  readonly node: number
  readonly slot: number
  /** Whether failures travel along this edge, because it leads to a Catch. Along other edges nothing travels instead. */
  readonly passesFailures: boolean
}

/** Attempts and time limits of a firing. */
export interface RetryPolicy {
  /** At least 1. */
  readonly attempts: number
  /** Milliseconds before the second attempt; doubled before each further attempt. */
  readonly backoff_ms: number
  /** Time limit of one attempt in milliseconds; null for no limit. */
  readonly timeout_ms: number | null
}

/** An output that has consumers, or (name null) the signal of a node's firings for control edges. */
export interface PlanPort {
  readonly name: string | null
  readonly stream: boolean
  readonly targets: readonly PlanTarget[]
}

export interface PlanNode {
  readonly index: number
  readonly observed: ObservedNode
  readonly type: NodeType
  /** Values of all inputs without an edge, and fallbacks of inputs with one. */
  readonly constants: Readonly<Record<string, unknown>>
  readonly slots: readonly PlanSlot[]
  /** Whether all slots carry single values. */
  readonly hasOnlySingleInputs: boolean
  /** The slots that the node joins: all except streams of a stream operator and feedback of a loop, which are `sideSlots`. */
  readonly joinedSlots: readonly number[]
  readonly sideSlots: readonly number[]
  /** The joined slots at `readDepth`, which are read in lock step. The others are held and repeated. */
  readonly driverSlots: readonly number[]
  readonly heldSlots: readonly number[]
  readonly ports: readonly PlanPort[]
  /** The node's declared outputs, including dynamic ones: a firing may return or yield only these. */
  readonly outputs: ReadonlyMap<string, PlanNodeOutput>
  /** The depth of the paths at which the node fires. */
  readonly depth: number
  /** The depth of the join: `depth` + 1 for an aggregate. */
  readonly readDepth: number
  /** The outputs whose values are items of streams: a node fires within a stream, or opens one. */
  readonly streamedOutputs: ReadonlySet<string>
  /** Whether a firing opens a stream. */
  readonly opensStream: boolean
  /** True if a result may be asynchronous: the node counts as such until its first result shows otherwise. */
  readonly mayBeAsync: boolean
  /** Whether firings may take long although only small values arrive along the edges. */
  readonly mayBeHeavy: boolean
  /** Whether a Catch lies downstream, so that the node's failures are kept. */
  readonly leadsToCatch: boolean
  /** Null: one attempt without a limit. */
  readonly policy: RetryPolicy | null
  /** The number of outgoing edges. */
  readonly fanOut: number
  readonly input: PlanInput | null
  /** The check of a value that is set or pushed for an input node. */
  readonly inputCheck: Coercion | null
  readonly output: PlanOutput | null
}

export interface PlanNodeOutput {
  readonly type: TypeMetadata
  readonly stream: boolean
  readonly stream_kind?: string
}

/** The parts of a graph that stream operators may leave unread, as regions of nodes. */
export interface StreamRegions {
  /** By node: the number of its region, or -1. Stream operators that read out of a region belong to it. */
  readonly regionByNode: Int32Array
  /** By node: whether all its edges stay within its region. */
  readonly isInnerByNode: readonly boolean[]
  /** By region: the number of stream operators that read out of it. */
  readonly readers: readonly number[]
}

export interface Plan {
  readonly inputs: readonly PlanInput[]
  readonly outputs: readonly PlanOutput[]
  readonly nodes: readonly PlanNode[]
  /** The number of edges that carry streams. */
  readonly streamEdges: number
  /** The regions that stream operators may leave unread; null: none. */
  readonly regions: StreamRegions | null
  /** Nodes without a connected input: a run begins with them. */
  readonly roots: readonly number[]
  readonly indexById: ReadonlyMap<string, number>
  readonly inputByName: ReadonlyMap<string, PlanInput>
  readonly outputByName: ReadonlyMap<string, PlanOutput>
}
