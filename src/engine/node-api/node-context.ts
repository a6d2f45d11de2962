// The context of a firing: what node code may use besides its inputs, and what it may report.
import type { Steps } from '../../shared/time-slices.ts'
import type { Clock } from './clock.ts'
import type { OutputValues } from './firing-forms.ts'
import type { NodeServices } from './node-services.ts'
import type { TypeMetadata } from './values/type-metadata.ts'

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
