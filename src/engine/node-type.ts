// What a node type is and what its code sees: properties, outputs, run or open, and the context of a firing.
// Node types are data plus one function; they know nothing of plans, inboxes or jobs.
import type { Clock } from './clock.ts'
import type { NodeServices } from './services.ts'
import type { TypeMetadata } from './types.ts'
import type { Wait } from './wait.ts'

export { Interrupted, NodeError } from './node-error.ts'
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

export type Inputs = Record<string, unknown>
/** Values by output handle. A handle that is missing (or undefined) got nothing. */
export type Outputs = Record<string, unknown>
/** Each yielded record is one item of the node's stream handles; the returned one, if any, gives the single handles. */
export type OutputStream = Generator<Outputs, unknown, unknown> | AsyncGenerator<Outputs, unknown, unknown>
export type RunResult = Outputs | Wait | Promise<Outputs | Wait> | OutputStream

/** One firing of an aggregate. Items that got nothing are never pushed. */
export interface Aggregate {
  push(value: unknown): void | Promise<void>
  end(): Outputs | Promise<Outputs>
}

/**
 * What a weave asks for: the next item of one of its streams, which the `yield` then gives, or `STREAM_END`. Items that got
 * nothing are left out.
 */
export class Want {
  readonly input: string
  constructor(input: string) {
    this.input = input
  }
}

/** What a weave gets once a stream that it asked has ended. */
export const STREAM_END: unique symbol = Symbol('stream end')

/** One firing of a weave. It yields what it wants next, or an item of its own stream; it returns its single outputs. */
export type Weave = Generator<Want | Outputs, Outputs | undefined, unknown>

/** One firing of a loop: its first item, and what each round's results lead to. */
export interface Rounds {
  /** The item of the first round, or the loop's single outputs where there is none. */
  first(): { item: Outputs } | { outputs: Outputs }
  /** What came back, by feedback property; what got nothing is missing. */
  next(results: Inputs): { item: Outputs } | { outputs: Outputs }
}

export type LogSeverity = 'debug' | 'info' | 'warning' | 'error'

export interface Chunk {
  content: string
  content_type: string
  done: boolean
  thinking: boolean
}

export interface NodeContext {
  readonly node_id: string
  /** The node's outputs by name, dynamic ones included. */
  readonly outputs: ReadonlyMap<string, { readonly type: TypeMetadata; readonly stream: boolean }>
  /** Whether one of them is a stream, so that the node's firings open one. */
  readonly streams: boolean
  /** Whether an edge feeds this property, so that its value may come from anywhere. */
  isConnected(property: string): boolean
  /** The same for all nodes of one run, those of the workflows that it calls included; another for each other run. */
  readonly run: object
  /** Whether a firing may give a `Wait`. */
  readonly waits: boolean
  /** Aborts when the run is cancelled. */
  readonly signal: AbortSignal
  /** Weaves and loops may not look at it, nor at `services`; a plain generator only before its first item, or not at all. */
  readonly clock: Clock
  /** What the host lends: a sandbox, outgoing HTTP, secrets. */
  readonly services: NodeServices
  /** A number from 0 (inclusive) to 1: the same ones where the firing is run again. */
  random(): number
  log(severity: LogSeverity, content: string): void
  /** Both are rounded to integers. */
  progress(progress: number, total: number): void
  chunk(content: string, options?: Partial<Omit<Chunk, 'content'>>): void
  /**
   * Runs another workflow to its end inside this run's limits. Gives its outputs by name: a streamed output as a list,
   * a single one as its value; an output that got nothing is missing. Throws NodeError where it fails.
   */
  callWorkflow(workflow_id: string, params: Record<string, unknown>): Promise<Outputs>
}

/** A name in a property, such as a placeholder, that no input has. */
export interface UnknownName {
  property: string
  name: string
}

/** One use of a node type: to make a value of one type into one of another. */
export interface Conversion {
  from: TypeMetadata
  /** `item`: the type of the items of a list. */
  to: TypeMetadata | 'item'
  /** What the node does with the value, to be read after "The node in between …". */
  how: string
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
  /** Whether a firing that was interrupted may run again, for all firings or by their inputs. Absent: true. */
  retry_safe?: boolean | ((inputs: Inputs) => boolean)
  /**
   * True: the same inputs most likely give the same items again, so that a stream that was interrupted may be opened anew. It goes on behind
   * the items that had come before, if it gives the same ones; else the run fails with `node_interrupted`. Needs to be safe to run again.
   */
  repeats?: boolean
  /**
   * True: what it yields may hang on the time at which it is asked. Such a stream is fetched to its end before its run waits for something
   * outside, as far as that can be (law 60): what is opened anew later is most likely another one.
   */
  timely?: boolean
  required_settings?: readonly string[]
  required_runtimes?: readonly string[]
  /** What validation proposes the node type for, where an output doesn't fit an input. */
  converts?: readonly Conversion[]
  /** A name in the node's own values that none of its dynamic inputs has, so that its firings will fail. It never throws. */
  unknownName?(data: Readonly<Inputs>, inputs: ReadonlyMap<string, unknown>): UnknownName | null
  /** True: it does something besides giving outputs, so it has its use where nothing reads them. */
  effect?: boolean
  /** One firing. A node type has one of these: `open` where a property is an aggregate and nothing streams out, */
  run?(inputs: Inputs, context: NodeContext): RunResult
  /** What a firing gives whose `run` gave a `Wait`, once it is answered. `value` is the answer, as it came. */
  answered?(inputs: Inputs, value: unknown, context: NodeContext): Outputs
  open?(inputs: Inputs, context: NodeContext): Aggregate
  /** `weave` where whole streams go in and a stream comes out, `loop` where properties are feedback. */
  weave?(inputs: Inputs, context: NodeContext): Weave
  loop?(inputs: Inputs, context: NodeContext): Rounds
}

export interface NodeRegistry {
  get(node_type: string): NodeType | undefined
  all(): readonly NodeType[]
}
