// The interface of node types: properties, outputs, the functions of a firing, and its context. A node type is data plus one function and
// knows nothing of plans, inboxes or jobs.
import type { Steps } from '../../shared/time-slices.ts'
import type { Clock } from './clock.ts'
import type { NodeServices } from './node-services.ts'
import type { TypeMetadata } from './values/type-metadata.ts'
import type { Wait } from './wait.ts'

export { NodeError, NodeInterruptedError, NonRetryableError } from './node-error.ts'
export { Wait } from './wait.ts'

export interface NodeProperty {
  name: string
  type: TypeMetadata
  title?: string
  description?: string
  /** The value of an unconnected property without its own value. Absent: null. */
  default?: unknown
  min?: number
  max?: number
  values?: readonly (string | number)[]
  /** True: the property needs an edge or a value of its own. */
  required?: boolean
  /** True: the property takes a whole stream, item by item, and removes the innermost index. Only a stream operator may have several. */
  aggregate?: boolean
  /** True: the property takes the result of a loop's round, along an edge out of the loop's own stream. This cycle is legal. */
  feedback?: boolean
  /**
   * Which items of this stream (or feedback values of a loop) an open firing may retain after reading them: only the last one, or those
   * since its last own item. Absent: all, until it ends. Retained items count as memory held by the run.
   */
  keeps?: 'last' | 'since_item'
  /** True: a failure on this edge is passed to the node as a `FailureToken` and goes no further. */
  catches?: boolean
}

export interface NodeOutput {
  name: string
  type: TypeMetadata
  /** True: each item that the node yields for this handle opens an index below the firing's path. */
  stream?: boolean
  /** Tells followers how the items belong together, such as `text` for pieces of one text. */
  stream_kind?: string
}

export type InputValues = Record<string, unknown>
/** Values by output handle. A missing or undefined handle has no value. */
export type OutputValues = Record<string, unknown>
/** Each yielded record is one item of the node's stream handles; a returned record holds the values of its single handles. */
export type OutputGenerator = Generator<OutputValues, unknown, unknown> | AsyncGenerator<OutputValues, unknown, unknown>
export type NodeRunResult = OutputValues | Wait | Promise<OutputValues | Wait> | OutputGenerator

/** One firing of an aggregate. Items without a value are never pushed. */
export interface AggregateFiring {
  push(value: unknown): void | Promise<void>
  end(): OutputValues | Promise<OutputValues>
}

/**
 * A stream operator's request for the next item of a stream. The `yield` then returns that item, or `STREAM_END`. Items without a value are
 * skipped.
 */
export class ItemRequest {
  readonly input: string
  constructor(input: string) {
    this.input = input
  }
}

/** The result of an `ItemRequest` whose stream has ended. */
export const STREAM_END: unique symbol = Symbol('stream end')

/** One firing of a stream operator. It yields a request or an item of its own stream; it returns its single outputs. */
export type StreamOperatorFiring = Generator<ItemRequest | OutputValues, OutputValues | undefined, unknown>

/** One firing of a loop: computes the first item, and from each round's results the next one. */
export interface LoopFiring {
  /** The item of the first round, or the loop's single outputs if there is no round. */
  first(): { item: OutputValues } | { outputs: OutputValues }
  /** `results`: the feedback of the round, by property; properties without a value are missing. */
  next(results: InputValues): { item: OutputValues } | { outputs: OutputValues }
}

export type LogSeverity = 'debug' | 'info' | 'warning' | 'error'

export interface OutputChunk {
  content: string
  content_type: string
  done: boolean
  thinking: boolean
}

/** A node's report of a tool call. */
export type ToolReport = {
  readonly tool_call_id: string
  readonly name: string
} & (
  | { readonly kind: 'call'; readonly arguments: Readonly<Record<string, unknown>> }
  | { readonly kind: 'result'; readonly result: unknown; readonly error: string | null }
)

export interface NodeContext {
  readonly node_id: string
  /** The node's outputs by name, including dynamic ones. */
  readonly outputs: ReadonlyMap<string, { readonly type: TypeMetadata; readonly stream: boolean }>
  /** Whether an output is a stream, so that the node's firings open one. */
  readonly hasStreamOutput: boolean
  /** Whether an edge feeds this property, so that its value is unknown before the run. */
  isConnected(property: string): boolean
  /** An object shared by all nodes of one run, including the workflows that it calls; each run has another. */
  readonly run: object
  /** Whether a firing may return a `Wait`. */
  readonly canWait: boolean
  /** Aborts when the run is cancelled. */
  readonly signal: AbortSignal
  /** Stream operators and loops must not use `clock` or `services`; plain generators may, but only before their first item. */
  readonly clock: Clock
  /** The services of the host: models, sandbox, outgoing HTTP, secrets and others. */
  readonly services: NodeServices
  /**
   * Runs long work in the run's time slices on the main thread: on a large value, or on data that only the main thread has. Work that
   * depends only on a firing's inputs should run in a compute thread (`NodeType.cost`). Rejects with the signal's reason if it aborts.
   */
  inSlices<T>(steps: Steps<T>): Promise<T>
  /** Adds `bytes`, which may be negative, to the memory held by the run, for data from outside. The firing ends if that exceeds the limit. */
  hold(bytes: number): void
  /** A number from 0 (inclusive) to 1 (exclusive). A firing that runs again gets the same numbers. */
  random(): number
  log(severity: LogSeverity, content: string): void
  /** Both arguments are rounded to integers. */
  progress(progress: number, total: number): void
  chunk(content: string, options?: Partial<Omit<OutputChunk, 'content'>>): void
  tool(report: ToolReport): void
  /**
   * Runs another workflow to its end within this run's limits. Returns its outputs by name: a streamed output as a list, a single one as
   * its value; an output without a value is missing. Throws NodeError if it fails.
   */
  callWorkflow(workflow_id: string, params: Record<string, unknown>): Promise<OutputValues>
  /**
   * Begins a step with a name unique in the firing; resolves when that is committed. A firing that runs again takes the same steps. A
   * firing with steps must call workflows only within them.
   */
  step(name: string): Promise<FiringStep>
  /**
   * Stores plain data for all attempts, under a name that no step has; also if this attempt was aborted. Resolves when it is committed.
   * Throws if the name is taken.
   */
  keep(name: string, value: unknown): Promise<void>
  /** The value stored under a name by `keep` or by a step; null: none. */
  findKept(name: string): { readonly value: unknown } | null
  /** Whether a step of that name had begun, but not ended, before an interruption. Must be called before the step is taken. */
  isStepInterrupted(name: string): boolean
  /** Whether the firing waits only for called workflows, none of which continues before an answer arrives. */
  readonly isQuiescent: boolean
  /** The items of the firing's stream from before an interruption. */
  readonly previousItems: readonly OutputValues[]
}

/** A piece of a firing's work that is recorded by itself. It must be disposed of at its end, as `using` does. */
export interface FiringStep extends Disposable {
  /** The result, if the step had ended before: it must not be done again. */
  readonly previousResult: { readonly value: unknown } | null
  /** The step had begun before an interruption; how far it came is unknown. */
  readonly wasInterrupted: boolean
  /**
   * Like `callWorkflow` of the context, but at most once per step. An interrupted call continues where it was. `signal` may abort it before
   * the firing's own signal does.
   */
  callWorkflow(workflow_id: string, params: Record<string, unknown>, signal?: AbortSignal): Promise<OutputValues>
  /** Ends the step with plain data. Resolves when that is committed. */
  end(value: unknown): Promise<void>
}

/** A name in a property, such as a placeholder, that matches no input. */
export interface UnknownName {
  property: string
  name: string
}

/** The reason why no firing of a node can succeed. */
export interface NodeProblem {
  property: string
  code: 'missing_property' | 'type_mismatch' | 'out_of_range' | 'unknown_node' | 'invalid_expression'
  /** A complete sentence. */
  message: string
}

/** A conversion that a node type offers, from one type to another. */
export interface Conversion {
  from: TypeMetadata
  /** `item`: the item type of a list. */
  to: TypeMetadata | 'item'
  /** The action of the node, to be read after "The node in between …". */
  how: string
}

/** A resource that a node's firings will need besides their inputs, as far as the node's own values show. */
export type NodeNeed =
  /** A model call. Values that arrive along an edge are null, as they are unknown before the run. */
  | {
      readonly kind: 'model'
      /** `provider/name`. */
      readonly model: string | null
      readonly task: string
      /** All text that is sent to the model. */
      readonly prompt: string | null
      /** The limit that the node sets; null: none. */
      readonly max_output_tokens: number | null
      /** Request fields that a model may not support, by their OpenAI names. Absent: none known. */
      readonly fields?: readonly string[]
    }
  /** A secret of the run's user. */
  | { readonly kind: 'credential'; readonly name: string }
  /** An asset, as `asset://<id>` or `/api/storage/<key>`. */
  | { readonly kind: 'asset'; readonly reference: string }
  /** An approval by a person during the run. */
  | { readonly kind: 'approval'; readonly name: string }

/** The facts about a node that `needs` and `problem` receive. */
export interface NodeFacts {
  readonly node_id: string
  /** The node's own values, with defaults filled in. */
  readonly data: Readonly<InputValues>
  /** Whether an edge feeds this property, so that its value is unknown before the run. */
  isConnected(property: string): boolean
}

/** The threads that read a slow expression, and the user whose turns they use. */
export interface ExpressionReaderContext extends Pick<NodeServices, 'compute' | 'sandbox' | 'owner'> {
  /** Aborts when the time limit of the graph is reached: the result is not used then. */
  readonly signal: AbortSignal
}

/**
 * Reads an expression outside of the main thread. Resolves with a sentence about its fault, or with null if it is valid. If the reader
 * cannot tell, it resolves with null or rejects, and the firing decides.
 */
export type BackgroundExpressionReader = (context: ExpressionReaderContext) => Promise<string | null>

/** An expression that may take long to read, depending on its value. */
export interface CostlyExpression<Own = never> {
  /** The approximate time on the main thread for a value, in nanoseconds. */
  cost(own: Own): number
  /** The reader for a value that takes too long on the main thread. */
  reader(own: Own, data: Readonly<InputValues>): BackgroundExpressionReader
}

export interface NodeType {
  /** `namespace.Name`. */
  node_type: string
  title: string
  description: string
  properties: readonly NodeProperty[]
  outputs: readonly NodeOutput[]
  /** `input` nodes read the run's params under their `name`, `output` nodes publish under theirs. */
  role?: 'input' | 'output'
  supports_dynamic_inputs?: boolean
  /** The type of all dynamic inputs; the graph may declare a narrower type. Absent: any. */
  dynamic_input_type?: TypeMetadata
  /** Dynamic inputs without a value are null instead of required. */
  optional_dynamic_inputs?: boolean
  supports_dynamic_outputs?: boolean
  /** Dynamic outputs that the graph declares with `stream: true` are stream outputs. */
  supports_dynamic_streams?: boolean
  /** True: a successful firing gives each declared output a value, or ends its stream. Absent: outputs may have no value. */
  gives_all?: boolean
  /** Whether an interrupted firing may run again, for all firings or depending on their inputs. Absent: true. */
  retry_safe?: boolean | ((inputs: InputValues) => boolean)
  /**
   * True: the same inputs most likely give the same items, so an interrupted stream may be opened again. It continues after the known items
   * if these repeat; otherwise the run fails with `node_interrupted`. Requires `retry_safe`.
   */
  repeats?: boolean
  /**
   * True: the code itself continues its stream after the items from before an interruption (`NodeContext.previousItems`). Items are not
   * compared. Requires `retry_safe`.
   */
  resumes?: boolean
  /**
   * True: items may depend on the time at which they are requested. A suspending run
   * first fetches such a stream to its end if possible (law 60), as one opened later would probably differ.
   */
  isTimeDependent?: boolean
  /**
   * True: each item may have a cost outside. The next item is fetched only after the previous one was consumed and no other work of the run
   * is ready. Thus no item is fetched that consumers no longer want, if these give their results at once.
   */
  isPulledOnDemand?: boolean
  required_settings?: readonly string[]
  required_runtimes?: readonly string[]
  /** The resources that firings need besides `required_settings` and `required_runtimes`. It never throws. */
  needs?(facts: NodeFacts): readonly NodeNeed[]
  /** The conversions for which validation proposes the node type when an output does not fit an input. */
  converts?: readonly Conversion[]
  /**
   * Properties in a language of their own, such as formulas, each with a function that reads a value and throws NodeError if it is invalid.
   * The node's own values are read before the run, in a few milliseconds each.
   */
  expressions?: Readonly<Record<string, (own: never, data: Readonly<InputValues>) => unknown>>
  /** For properties in `expressions` with values that take longer: these are read only in threads. It never throws. */
  costlyExpressions?: Readonly<Record<string, CostlyExpression>>
  /**
   * For properties in `expressions` that are read in part: returns the reader for what `expressions` skips of a value, or null if it skips
   * nothing. It never throws.
   */
  slowExpressions?: Readonly<
    Record<string, (own: never, data: Readonly<InputValues>) => BackgroundExpressionReader | null>
  >
  /** The problem of values that are valid one by one but make firings fail. It never throws. */
  problem?(facts: NodeFacts, types: NodeTypeLookup): NodeProblem | null
  /** A name in the node's own values that matches none of its dynamic inputs, so that firings will fail. It never throws. */
  unknownName?(data: Readonly<InputValues>, inputs: ReadonlyMap<string, unknown>): UnknownName | null
  /**
   * Approximate nanoseconds per unit of input size (values/measure.ts), or in total as a function of the inputs; 0: negligible. Absent: 100
   * per unit. Slow firings of a pure type run in a compute thread with the same result.
   */
  cost?: number | ((inputs: InputValues) => number)
  /**
   * Replaces what a firing needs of its context, such as a file or a seed, by inputs that determine the result. `run` then uses only these,
   * so it may run in a compute thread if `cost` of these inputs is high.
   */
  prepare?(inputs: InputValues, context: NodeContext): InputValues | Promise<InputValues>
  /** True: it has an effect besides its outputs, so it is useful even if no node reads them. */
  effect?: boolean
  /** One firing. A node type has exactly one of `run`, `open`, `streamOperator` and `loop`. */
  run?(inputs: InputValues, context: NodeContext): NodeRunResult
  /** The outputs of a firing whose `run` returned a `Wait`. `value` is the answer, as received. */
  onAnswer?(inputs: InputValues, value: unknown, context: NodeContext): OutputValues
  open?(inputs: InputValues, context: NodeContext): AggregateFiring
  /** `streamOperator` reads whole streams and gives a stream; `loop` has feedback properties. */
  streamOperator?(inputs: InputValues, context: NodeContext): StreamOperatorFiring
  loop?(inputs: InputValues, context: NodeContext): LoopFiring
}

/** Looks up node types for those that refer to others. */
export interface NodeTypeLookup {
  get(node_type: string): NodeType | undefined
  /** ` Did you mean "x"?` for an unknown type, or an empty text. */
  hint(written: string): string
}

export interface NodeRegistry {
  get(node_type: string): NodeType | undefined
  all(): readonly NodeType[]
}
