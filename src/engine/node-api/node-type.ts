// What a node type is and what its code sees: properties, outputs, run or open, and the context of a firing.
// Node types are data plus one function; they know nothing of plans, inboxes or jobs.
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
  /** What an unconnected property without its own value is. Absent: null. */
  default?: unknown
  min?: number
  max?: number
  values?: readonly (string | number)[]
  /** True: it needs an edge or a value of its own. */
  required?: boolean
  /** True: it takes a whole stream, item by item, and removes the innermost index. Only a weave may have several. */
  aggregate?: boolean
  /** True: what a loop's round gives back. It takes an edge out of the loop's own stream, and makes a legal cycle. */
  feedback?: boolean
  /**
   * What an open firing may keep of the items of this stream, or of what came back to a loop, once it has read them: the last one alone, or
   * those since it last gave an item. Absent: all, until it is over. It counts among what the run holds.
   */
  keeps?: 'last' | 'since_item'
  /** True: a failure that comes along this edge is handed to the node, as a `Failure`, and goes no further. */
  catches?: boolean
}

export interface NodeOutput {
  name: string
  type: TypeMetadata
  /** True: every item that the node yields for this handle opens an index below the firing's path. */
  stream?: boolean
  /** A word for watchers about how the items belong together, such as `text` for pieces of one text. */
  stream_kind?: string
}

export type InputValues = Record<string, unknown>
/** Values by output handle. A handle that is missing (or undefined) got nothing. */
export type OutputValues = Record<string, unknown>
/** Each yielded record is one item of the node's stream handles; the returned one, if any, gives the single handles. */
export type OutputGenerator = Generator<OutputValues, unknown, unknown> | AsyncGenerator<OutputValues, unknown, unknown>
export type NodeRunResult = OutputValues | Wait | Promise<OutputValues | Wait> | OutputGenerator

/** One firing of an aggregate. Items that got nothing are never pushed. */
export interface AggregateFiring {
  push(value: unknown): void | Promise<void>
  end(): OutputValues | Promise<OutputValues>
}

/**
 * What a weave asks for: the next item of one of its streams, which the `yield` then gives, or `STREAM_END`. Items that got
 * nothing are left out.
 */
export class ItemRequest {
  readonly input: string
  constructor(input: string) {
    this.input = input
  }
}

/** What a weave gets once a stream that it asked has ended. */
export const STREAM_END: unique symbol = Symbol('stream end')

/** One firing of a weave. It yields what it wants next, or an item of its own stream; it returns its single outputs. */
export type StreamOperatorFiring = Generator<ItemRequest | OutputValues, OutputValues | undefined, unknown>

/** One firing of a loop: its first item, and what each round's results lead to. */
export interface LoopFiring {
  /** The item of the first round, or the loop's single outputs where there is none. */
  first(): { item: OutputValues } | { outputs: OutputValues }
  /** What came back, by feedback property; what got nothing is missing. */
  next(results: InputValues): { item: OutputValues } | { outputs: OutputValues }
}

export type LogSeverity = 'debug' | 'info' | 'warning' | 'error'

export interface OutputChunk {
  content: string
  content_type: string
  done: boolean
  thinking: boolean
}

/** What a node tells of a tool that it has called. */
export type ToolReport = {
  readonly tool_call_id: string
  readonly name: string
} & (
  | { readonly kind: 'call'; readonly arguments: Readonly<Record<string, unknown>> }
  | { readonly kind: 'result'; readonly result: unknown; readonly error: string | null }
)

export interface NodeContext {
  readonly node_id: string
  /** The node's outputs by name, dynamic ones included. */
  readonly outputs: ReadonlyMap<string, { readonly type: TypeMetadata; readonly stream: boolean }>
  /** Whether one of them is a stream, so that the node's firings open one. */
  readonly hasStreamOutput: boolean
  /** Whether an edge feeds this property, so that its value may come from anywhere. */
  isConnected(property: string): boolean
  /** The same for all nodes of one run, those of the workflows that it calls included; another for each other run. */
  readonly run: object
  /** Whether a firing may give a `Wait`. */
  readonly canWait: boolean
  /** Aborts when the run is cancelled. */
  readonly signal: AbortSignal
  /** Weaves and loops may not look at it, nor at `services`; a plain generator only before its first item, or not at all. */
  readonly clock: Clock
  /** What the host lends: models, a sandbox, outgoing HTTP, secrets. */
  readonly services: NodeServices
  /**
   * Does long work of the main thread in the run's slices of time: with a large value, or with what only the main thread has. Work that
   * follows from a firing's inputs alone is better done apart (`NodeType.cost`). Rejects with the signal's reason where that aborts.
   */
  inSlices<T>(steps: Steps<T>): Promise<T>
  /** Counts so many bytes more, or less, among what the run holds: of what its firing takes in from outside. It ends where that is too much. */
  hold(bytes: number): void
  /** A number from 0 (inclusive) to 1: the same ones where the firing is run again. */
  random(): number
  log(severity: LogSeverity, content: string): void
  /** Both are rounded to integers. */
  progress(progress: number, total: number): void
  chunk(content: string, options?: Partial<Omit<OutputChunk, 'content'>>): void
  tool(report: ToolReport): void
  /**
   * Runs another workflow to its end inside this run's limits. Gives its outputs by name: a streamed output as a list,
   * a single one as its value; an output that got nothing is missing. Throws NodeError where it fails.
   */
  callWorkflow(workflow_id: string, params: Record<string, unknown>): Promise<OutputValues>
  /**
   * Begins a step of the firing, of a name that no other one has; resolves when that is committed. A firing that takes steps takes the same ones
   * again where it is run again, and calls workflows in them alone.
   */
  step(name: string): Promise<FiringStep>
  /**
   * Keeps plain data under a name that no step has, for all attempts at the firing, also where this one was told to end. Resolves when it is
   * committed. Throws where there is something of that name.
   */
  keep(name: string, value: unknown): Promise<void>
  /** What was kept under a name, or what the step of that name came to; null: nothing. */
  findKept(name: string): { readonly value: unknown } | null
  /** Whether a step of that name would be one that had begun before an interruption, and had not ended. To be asked before the step is taken. */
  isStepInterrupted(name: string): boolean
  /** Whether the firing waits for nothing but workflows that it called, and nothing of them goes on before somebody answers. */
  readonly isQuiescent: boolean
  /** What the firing's stream had given before an interruption. */
  readonly previousItems: readonly OutputValues[]
}

/** A piece of a firing's work that is remembered by itself. It is to be left at its end, as `using` does. */
export interface FiringStep extends Disposable {
  /** What it came to, where it had ended before: it is not to be done again. */
  readonly previousResult: { readonly value: unknown } | null
  /** It had begun before an interruption, and nobody knows how far it came. */
  readonly wasInterrupted: boolean
  /**
   * As that of the context, at most once in a step. A call that was interrupted goes on inside where it was. `signal` may end it before the
   * firing's own does.
   */
  callWorkflow(workflow_id: string, params: Record<string, unknown>, signal?: AbortSignal): Promise<OutputValues>
  /** It has come to its end, with plain data. Resolves when that is committed. */
  end(value: unknown): Promise<void>
}

/** A name in a property, such as a placeholder, that no input has. */
export interface UnknownName {
  property: string
  name: string
}

/** Why no firing of a node can succeed. */
export interface NodeProblem {
  property: string
  code: 'missing_property' | 'type_mismatch' | 'out_of_range' | 'unknown_node' | 'invalid_expression'
  /** A sentence of its own. */
  message: string
}

/** One use of a node type: to make a value of one type into one of another. */
export interface Conversion {
  from: TypeMetadata
  /** `item`: the type of the items of a list. */
  to: TypeMetadata | 'item'
  /** What the node does with the value, to be read after "The node in between …". */
  how: string
}

/** Something that a node's firings will need besides their inputs, as far as the node's own values tell. */
export type NodeNeed =
  /** A call of a model. What comes along an edge is null: nobody knows it before the run. */
  | {
      readonly kind: 'model'
      /** `provider/name`. */
      readonly model: string | null
      readonly task: string
      /** All that is sent to it. */
      readonly prompt: string | null
      /** The limit that the node sets, or null where it sets none. */
      readonly max_output_tokens: number | null
      /** Fields of the request that a model may not honour, as OpenAI calls them. Absent: none that is known. */
      readonly fields?: readonly string[]
    }
  /** A secret of whoever runs the workflow. */
  | { readonly kind: 'credential'; readonly name: string }
  /** An asset, as `asset://<id>` or `/api/storage/<key>`. */
  | { readonly kind: 'asset'; readonly reference: string }
  /** Somebody's consent while it runs. */
  | { readonly kind: 'approval'; readonly name: string }

/** What `needs` and `problem` are told of a node. */
export interface NodeFacts {
  readonly node_id: string
  /** The node's own values, its defaults filled in. */
  readonly data: Readonly<InputValues>
  /** Whether an edge feeds this property, so that its value may come from anywhere. */
  isConnected(property: string): boolean
}

/** The threads that read a slow expression, and the user whose turns they take. */
export interface ExpressionReaderContext extends Pick<NodeServices, 'compute' | 'sandbox' | 'owner'> {
  /** Aborts when the time limit of the graph is reached: the result is not used then. */
  readonly signal: AbortSignal
}

/**
 * Reads an expression outside of the main thread. Resolves with a sentence that says what is wrong, or null if the expression is right. If the
 * reader cannot tell, it resolves with null or rejects: the firing decides then.
 */
export type BackgroundExpressionReader = (context: ExpressionReaderContext) => Promise<string | null>

/** An expression that takes long to read where its value says so. */
export interface CostlyExpression<Own = never> {
  /** About how many nanoseconds the main thread would take for a value. */
  cost(own: Own): number
  /** The reader for a value that is too dear for it. */
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
  /** The type of all dynamic inputs; one that the graph declares may be narrower. Absent: any. */
  dynamic_input_type?: TypeMetadata
  /** Dynamic inputs that got nothing, or have no value, are null instead of being required. */
  optional_dynamic_inputs?: boolean
  supports_dynamic_outputs?: boolean
  /** Dynamic outputs that the graph declares with `stream: true` are stream outputs. */
  supports_dynamic_streams?: boolean
  /** True: a firing that does not fail gives each declared output a value, or a stream its end. Absent: some may get nothing. */
  gives_all?: boolean
  /** Whether a firing that was interrupted may run again, for all firings or by their inputs. Absent: true. */
  retry_safe?: boolean | ((inputs: InputValues) => boolean)
  /**
   * True: the same inputs most likely give the same items again, so that a stream that was interrupted may be opened anew. It goes on behind
   * the items that had come before, if it gives the same ones; else the run fails with `node_interrupted`. Needs to be safe to run again.
   */
  repeats?: boolean
  /**
   * True: its code knows what its stream had given before an interruption (`NodeContext.given`), and goes on behind that by itself. Nothing is
   * compared. Needs to be safe to run again.
   */
  resumes?: boolean
  /**
   * True: what it yields may hang on the time at which it is asked. Such a stream is fetched to its end before its run waits for something
   * outside, as far as that can be (law 60): what is opened anew later is most likely another one.
   */
  isTimeDependent?: boolean
  /**
   * True: each item may cost something outside. The next one is fetched once the one before has left and nobody else of the run has a turn to
   * take, so that none is that those behind it, as far as they give their results at once, do not want any more.
   */
  isPulledOnDemand?: boolean
  required_settings?: readonly string[]
  required_runtimes?: readonly string[]
  /** What its firings will need besides `required_settings` and `required_runtimes`. It never throws. */
  needs?(facts: NodeFacts): readonly NodeNeed[]
  /** What validation proposes the node type for, where an output doesn't fit an input. */
  converts?: readonly Conversion[]
  /**
   * Its properties that are written in a language, such as formulas, each with what reads its value, and throws NodeError where that cannot be. The node's own
   * values are read before anything runs. To read one takes some milliseconds at most.
   */
  expressions?: Readonly<Record<string, (own: never, data: Readonly<InputValues>) => unknown>>
  /** For properties in `expressions` of which some values take longer than that: those are read in threads alone. It never throws. */
  costlyExpressions?: Readonly<Record<string, CostlyExpression>>
  /**
   * For properties in `expressions` that are read in part: gives the reader for what `expressions` skips of a value, or null if it skips nothing. It never
   * throws.
   */
  slowExpressions?: Readonly<
    Record<string, (own: never, data: Readonly<InputValues>) => BackgroundExpressionReader | null>
  >
  /** What is wrong with values that fit their properties one by one, so that its firings will fail. It never throws. */
  problem?(facts: NodeFacts, types: NodeTypeLookup): NodeProblem | null
  /** A name in the node's own values that none of its dynamic inputs has, so that its firings will fail. It never throws. */
  unknownName?(data: Readonly<InputValues>, inputs: ReadonlyMap<string, unknown>): UnknownName | null
  /**
   * About how many nanoseconds a firing takes: for each unit of the size of its inputs (measure.ts), or in all, by its inputs; 0: next to
   * nothing. Absent: 100 for each unit. A firing of a pure type that would hold the thread for long runs apart; its result is the same.
   */
  cost?: number | ((inputs: InputValues) => number)
  /**
   * Takes what a firing needs of its context, such as a file or a seed, and gives inputs from which all else follows: `run` takes nothing but
   * these then, so that it may run apart where `cost` says by them that it takes long.
   */
  prepare?(inputs: InputValues, context: NodeContext): InputValues | Promise<InputValues>
  /** True: it does something besides giving outputs, so it has its use where nothing reads them. */
  effect?: boolean
  /** One firing. A node type has one of these: `open` where a property is an aggregate and nothing streams out, */
  run?(inputs: InputValues, context: NodeContext): NodeRunResult
  /** What a firing gives whose `run` gave a `Wait`, once it is answered. `value` is the answer, as it came. */
  onAnswer?(inputs: InputValues, value: unknown, context: NodeContext): OutputValues
  open?(inputs: InputValues, context: NodeContext): AggregateFiring
  /** `weave` where whole streams go in and a stream comes out, `loop` where properties are feedback. */
  streamOperator?(inputs: InputValues, context: NodeContext): StreamOperatorFiring
  loop?(inputs: InputValues, context: NodeContext): LoopFiring
}

/** The node types that there are, for those that name some of them. */
export interface NodeTypeLookup {
  get(node_type: string): NodeType | undefined
  /** ` Did you mean "x"?` for a type that there is not, or nothing. */
  hint(written: string): string
}

export interface NodeRegistry {
  get(node_type: string): NodeType | undefined
  all(): readonly NodeType[]
}
