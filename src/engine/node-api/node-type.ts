// The interface of node types: properties, outputs, and the functions of a firing. A node type is data plus one function and knows nothing
// of plans, inboxes or jobs.
import type { Steps } from '../../shared/time-slices.ts'
import type {
  AggregateFiring,
  InputValues,
  LoopFiring,
  NodeRunResult,
  OutputValues,
  StreamOperatorFiring,
} from './firing-forms.ts'
import type { NodeContext } from './node-context.ts'
import type {
  BackgroundExpressionReader,
  Conversion,
  CostlyExpression,
  NodeFacts,
  NodeNeed,
  NodeProblem,
  UnknownName,
} from './node-facts.ts'
import type { TypeMetadata } from './values/type-metadata.ts'

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
  /** The names of secrets in the node's own values, which may be so large that they are read in steps. It never throws. */
  secretNamesSteps?(facts: NodeFacts): Steps<readonly string[]>
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
