// The compiled form of a graph: everything that can be decided before a run. Immutable, holds no run's state,
// so one plan serves any number of runs at once. plan.ts makes it, execution.ts runs it.
import type { NodeType } from '../node-api/node-type.ts'
import type { Coercion } from '../node-api/values/type-conformance.ts'
import type { TypeMetadata } from '../node-api/values/type-metadata.ts'
import type { ObservedNode } from '../runtime/run/observer.ts'

/** What a run may be given, by name. */
export interface PlanInput {
  node_id: string
  name: string
  description: string
  type: TypeMetadata
  /** True where the graph has no value of its own. A streamed input is never required. */
  required: boolean
  default: unknown
  min?: number
  max?: number
  /** True: values may be pushed while the run goes on. */
  stream: boolean
}

/** What a run publishes, by name. */
export interface PlanOutput {
  node_id: string
  name: string
  description: string
  type: TypeMetadata
  /** True where the value lies inside a stream: there may be any number of it. */
  stream: boolean
  stream_kind?: string
}

/** One connected input of a node: a data edge into a property or dynamic input, or a control edge. */
export interface PlanSlot {
  /** The input's handle; null for a control edge. */
  readonly name: string | null
  readonly index: number
  /** How many streams the value lies in: 0 for a single value. */
  readonly depth: number
  readonly edge_id: string
  readonly source: number
  /** Converts or checks a value; null where types match. */
  readonly coerce: Coercion | null
  readonly type: TypeMetadata
  /** False: a path without a value falls back to the node's own value for it. */
  readonly required: boolean
  readonly aggregate: boolean
  /** True: a failure is handed to the node instead of being passed on. */
  readonly catches: boolean
}

export interface PlanTarget {
  readonly node: number
  readonly slot: number
  /** Whether a failure travels along this edge: it leads to a Catch. Where it doesn't, nothing travels instead. */
  readonly passesFailures: boolean
}

/** How often and for how long a firing is tried. */
export interface RetryPolicy {
  /** At least 1. */
  readonly attempts: number
  /** Milliseconds before the second attempt; twice as long before each further one. */
  readonly backoff_ms: number
  /** Milliseconds for one attempt, or null for no limit. */
  readonly timeout_ms: number | null
}

/** One output of a node that has consumers, or the signal of its firings (name null) for control edges. */
export interface PlanPort {
  readonly name: string | null
  readonly stream: boolean
  readonly targets: readonly PlanTarget[]
}

export interface PlanNode {
  readonly index: number
  readonly observed: ObservedNode
  readonly type: NodeType
  /** Own values of all inputs that no edge feeds, and the fallbacks of those that one feeds. */
  readonly constants: Readonly<Record<string, unknown>>
  readonly slots: readonly PlanSlot[]
  /** Whether all of them are single values. */
  readonly hasOnlySingleInputs: boolean
  /** The slots that the node joins: all but the streams of a weave and the feedback of a loop, which are `sides`. */
  readonly joinedSlots: readonly number[]
  readonly sideSlots: readonly number[]
  /** The joined slots at `readDepth`, which the node reads in lock step. The others are held and repeated. */
  readonly driverSlots: readonly number[]
  readonly heldSlots: readonly number[]
  readonly ports: readonly PlanPort[]
  /** The node's declared outputs, dynamic ones included: what a firing may return or yield. */
  readonly outputs: ReadonlyMap<string, PlanNodeOutput>
  /** The depth of the paths at which the node fires. */
  readonly depth: number
  /** The depth that it joins at: one more than `depth` for an aggregate. */
  readonly readDepth: number
  /** The outputs whose values are items of streams: those of a node that fires within one, or that open one. */
  readonly streamedOutputs: ReadonlySet<string>
  /** True where a firing opens a stream. */
  readonly opensStream: boolean
  /** True where the result may come later: the node counts as asynchronous until its first result says otherwise. */
  readonly mayBeAsync: boolean
  /** Whether its firings may take long where only small values come along its edges. */
  readonly mayBeHeavy: boolean
  /** Whether a Catch lies behind it, so that its failures are held. */
  readonly leadsToCatch: boolean
  /** Null: one attempt without a limit. */
  readonly policy: RetryPolicy | null
  /** How many edges it feeds. */
  readonly fanOut: number
  readonly input: PlanInput | null
  /** The check of a value that is given or pushed for an input node. */
  readonly inputCheck: Coercion | null
  readonly output: PlanOutput | null
}

export interface PlanNodeOutput {
  readonly type: TypeMetadata
  readonly stream: boolean
  readonly stream_kind?: string
}

/** What weaves may leave unread, as regions of nodes. */
export interface StreamRegions {
  /** By node: the number of its region, or -1. Weaves that read out of a region belong to it. */
  readonly regionByNode: Int32Array
  /** By node: whether all its edges stay within its region. */
  readonly isInnerByNode: readonly boolean[]
  /** By region: how many weaves read out of it. */
  readonly readers: readonly number[]
}

export interface Plan {
  readonly inputs: readonly PlanInput[]
  readonly outputs: readonly PlanOutput[]
  readonly nodes: readonly PlanNode[]
  /** How many edges carry streams. */
  readonly streamEdges: number
  /** What weaves may leave unread; null: nothing. */
  readonly regions: StreamRegions | null
  /** Nodes without a connected input: where a run begins. */
  readonly roots: readonly number[]
  readonly indexById: ReadonlyMap<string, number>
  readonly inputByName: ReadonlyMap<string, PlanInput>
  readonly outputByName: ReadonlyMap<string, PlanOutput>
}
