// What node code sees of the run: its context. After the run is over it speaks to nobody.
import type { Clock } from './clock.ts'
import type { Chunk, LogSeverity, NodeContext, Outputs } from './node-type.ts'
import type { ObservedNode, RunObserver } from './observer.ts'
import type { PlanNode } from './plan-parts.ts'
import type { NodeServices } from './services.ts'

export interface ContextHost {
  readonly run: object
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly observer: RunObserver
  readonly settled: boolean
  readonly random: () => number
  readonly services: NodeServices
  callWorkflow(
    node: ObservedNode,
    workflow_id: string,
    params: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<Outputs>
}

export class FiringContext implements NodeContext {
  readonly #node: ObservedNode
  readonly #slots: PlanNode['slots']
  readonly #host: ContextHost
  readonly outputs: PlanNode['outputs']
  readonly streams: boolean
  /** The firing's own signal, where it may abort before the run does. */
  readonly #signal: AbortSignal | null

  constructor({ observed, outputs, streaming, slots }: PlanNode, host: ContextHost, signal: AbortSignal | null = null) {
    this.#node = observed
    this.#slots = slots
    this.outputs = outputs
    this.streams = streaming
    this.#host = host
    this.#signal = signal
  }

  get node_id(): string {
    return this.#node.node_id
  }

  get run(): object {
    return this.#host.run
  }

  get signal(): AbortSignal {
    return this.#signal ?? this.#host.signal
  }

  get clock(): Clock {
    return this.#host.clock
  }

  isConnected(property: string): boolean {
    return this.#slots.some(({ name }) => name === property)
  }

  get services(): NodeServices {
    return this.#host.services
  }

  random(): number {
    return this.#host.random()
  }

  log(severity: LogSeverity, content: string): void {
    if (!this.#host.settled) this.#host.observer.log(this.#node, severity, content)
  }

  progress(progress: number, total: number): void {
    if (!this.#host.settled) this.#host.observer.progress(this.#node, Math.round(progress), Math.round(total))
  }

  chunk(content: string, options: Partial<Omit<Chunk, 'content'>> = {}): void {
    if (this.#host.settled) return
    const { content_type = 'text', done = false, thinking = false } = options
    this.#host.observer.chunk(this.#node, { content, content_type, done, thinking })
  }

  callWorkflow(workflow_id: string, params: Record<string, unknown>): Promise<Outputs> {
    return this.#host.callWorkflow(this.#node, workflow_id, params, this.signal)
  }
}
