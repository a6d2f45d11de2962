// What node code sees of the run: its context. After the run is over it speaks to nobody.
import type { Steps } from '../time-slices.ts'
import type { Clock } from './clock.ts'
import type { HeldValues } from './held-values.ts'
import { Unread } from './journal.ts'
import type { Memo } from './memo.ts'
import {
  type Chunk,
  type LogSeverity,
  type NodeContext,
  NodeError,
  type Outputs,
  type Step,
  type ToolTold,
} from './node-type.ts'
import type { ObservedNode, RunObserver } from './observer.ts'
import { PassingSteps } from './passing-steps.ts'
import type { PlanNode } from './plan-parts.ts'
import type { CallSite } from './run-options.ts'
import type { NodeServices } from './services.ts'
import type { Slice } from './slice.ts'
import type { OpenStep, StepKeeper } from './steps.ts'

const CLOSED = 'weaves, loops, and generators that gave an item already take nothing but their inputs'

export interface ContextHost {
  readonly run: object
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly observer: RunObserver
  readonly settled: boolean
  readonly random: () => number
  readonly services: NodeServices
  readonly slice: Slice
  readonly held: HeldValues
  callWorkflow(
    node: ObservedNode,
    workflow_id: string,
    params: Record<string, unknown>,
    site: CallSite,
  ): Promise<Outputs>
}

/** What belongs to one firing, or to one attempt at it. */
export interface OwnContext {
  /** Where it may abort before the run does. */
  readonly signal?: AbortSignal
  /** What is remembered of the firing, in a run that remembers. */
  readonly memo?: Memo | null
  /** Those of all its attempts. */
  readonly steps?: StepKeeper
}

export class FiringContext implements NodeContext {
  readonly #node: ObservedNode
  readonly #slots: PlanNode['slots']
  readonly #host: ContextHost
  readonly outputs: PlanNode['outputs']
  readonly streams: boolean
  readonly waits: boolean
  /** The firing's own signal, where it may abort before the run does. */
  readonly #signal: AbortSignal | null
  /** What is remembered of the firing, in a run that remembers. */
  readonly #memo: Memo | null
  /** Null: it has taken none, in a run that remembers nothing. */
  #steps: StepKeeper | null
  /** Whether its code may take nothing but its inputs. */
  readonly #closed: boolean

  constructor({ observed, outputs, streaming, slots, type }: PlanNode, host: ContextHost, own: OwnContext = {}) {
    this.#node = observed
    this.#slots = slots
    this.outputs = outputs
    this.streams = streaming
    this.#host = host
    this.#signal = own.signal ?? null
    this.#memo = own.memo ?? null
    this.#steps = own.steps ?? own.memo ?? null
    this.waits = own.memo?.mayWait === true
    this.#closed = type.weave !== undefined || type.loop !== undefined
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
    return this.#outside.clock
  }

  isConnected(property: string): boolean {
    return this.#slots.some(({ name }) => name === property)
  }

  get services(): NodeServices {
    return this.#outside.services
  }

  /** The host, as what its code takes from outside: a firing that does comes out the same only where it is remembered. */
  get #outside(): ContextHost {
    if (this.#closed || this.#memo?.sealed)
      throw new NodeError(`Node "${this.node_id}" may not ask for that here: ${CLOSED}.`)
    if (this.#memo) this.#memo.touched = true
    return this.#host
  }

  get #taken(): StepKeeper {
    if (this.#outside) this.#steps ??= new PassingSteps()
    return this.#steps!
  }

  inSlices<T>(steps: Steps<T>): Promise<T> {
    return this.#host.slice.work(steps, this.signal)
  }

  hold(bytes: number): void {
    if (!this.#host.settled) this.#host.held.changeBytes(bytes)
  }

  random(): number {
    return this.#memo ? this.#memo.random() : this.#host.random()
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
    if (this.#memo) this.#memo.spoke = true
    this.#host.observer.chunk(this.#node, { content, content_type, done, thinking }, this)
  }

  tool(told: ToolTold): void {
    if (this.#host.settled) return
    const place = this.#memo?.place ?? ''
    const tool_call_id = place === '' ? told.tool_call_id : `${place}/${told.tool_call_id}`
    this.#host.observer.tool?.(this.#node, { ...told, tool_call_id })
  }

  callWorkflow(workflow_id: string, params: Record<string, unknown>): Promise<Outputs> {
    return this.#call(null, workflow_id, params, this.signal)
  }

  async step(name: string): Promise<Step> {
    const steps = this.#taken
    this.signal.throwIfAborted()
    const open = await steps.takeStep(name)
    let called = false
    return {
      known: open.known,
      interrupted: open.interrupted,
      callWorkflow: async (workflow_id, params, signal = this.signal) => {
        if (called) throw new Error(`The step "${name}" calls more than one workflow.`)
        called = true
        return this.#call(open, workflow_id, params, signal)
      },
      end: (value) => open.end(value),
      [Symbol.dispose]: () => open.leave(),
    }
  }

  async keep(name: string, value: unknown): Promise<void> {
    await this.#taken.keep(name, value)
  }

  kept(name: string): { readonly value: unknown } | null {
    return this.#steps?.kept(name) ?? null
  }

  interrupted(name: string): boolean {
    return this.#memo?.stepInterrupted(name) === true
  }

  get resting(): boolean {
    return this.#memo?.resting === true
  }

  get given(): readonly Outputs[] {
    return (this.#memo?.known ?? []).map(Unread.now<Outputs>)
  }

  #call(
    step: OpenStep | null,
    workflow_id: string,
    params: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<Outputs> {
    return this.#outside.callWorkflow(this.#node, workflow_id, params, { signal, memo: this.#memo, step })
  }
}
