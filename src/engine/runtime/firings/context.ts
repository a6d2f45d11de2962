// The context of a firing: the node code's view of the run. Once the run is over, its calls have no effect.
import type { Steps } from '../../../shared/time-slices.ts'
import type { PlanNode } from '../../compile/plan.ts'
import type { FiringRecord } from '../../durability/firing-record.ts'
import type { OpenStep, StepStore } from '../../durability/firing-steps.ts'
import { InMemorySteps } from '../../durability/in-memory-steps.ts'
import { UnreadValue } from '../../durability/journal.ts'
import type { Clock } from '../../node-api/clock.ts'
import type { OutputValues } from '../../node-api/firing-forms.ts'
import type { FiringStep, LogSeverity, NodeContext, OutputChunk, ToolReport } from '../../node-api/node-context.ts'
import { NodeError } from '../../node-api/node-error.ts'
import type { NodeServices } from '../../node-api/node-services.ts'
import type { FiringEnvironment } from '../run/firing-environment.ts'
import type { ObservedNode } from '../run/observer.ts'

const CLOSED_CONTEXT_REASON =
  'stream operators, loops, and generators that have yielded an item may use only their inputs'

/** Options of one firing, or of one attempt at it. */
export interface FiringContextOptions {
  /** Present if the firing may be aborted before the run. */
  readonly signal?: AbortSignal
  /** The record of the firing in a durable run. */
  readonly record?: FiringRecord | null
  /** The steps of all attempts at the firing. */
  readonly steps?: StepStore
}

export class FiringContext implements NodeContext {
  readonly #node: ObservedNode
  readonly #slots: PlanNode['slots']
  readonly #environment: FiringEnvironment
  readonly outputs: PlanNode['outputs']
  readonly hasStreamOutput: boolean
  readonly canWait: boolean
  /** The firing's own signal if it may abort before the run's. */
  readonly #signal: AbortSignal | null
  /** The record of the firing in a durable run. */
  readonly #record: FiringRecord | null
  /** Null before the first step. */
  #steps: StepStore | null
  /** Whether the code may use only its inputs. */
  readonly #isClosed: boolean

  constructor(
    { observed, outputs, opensStream, slots, type }: PlanNode,
    environment: FiringEnvironment,
    own: FiringContextOptions = {},
  ) {
    this.#node = observed
    this.#slots = slots
    this.outputs = outputs
    this.hasStreamOutput = opensStream
    this.#environment = environment
    this.#signal = own.signal ?? null
    this.#record = own.record ?? null
    this.#steps = own.steps ?? null
    this.canWait = own.record?.canWait === true
    this.#isClosed = type.streamOperator !== undefined || type.loop !== undefined
  }

  get node_id(): string {
    return this.#node.node_id
  }

  get run(): object {
    return this.#environment.run
  }

  get signal(): AbortSignal {
    return this.#signal ?? this.#environment.signal
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

  /** The environment, for accesses outside of the inputs: a firing that makes any gives the same result again only if it is recorded. */
  get #outside(): FiringEnvironment {
    if (this.#isClosed || this.#record?.isSealed)
      throw new NodeError(`Node "${this.node_id}" may not use the run's services here: ${CLOSED_CONTEXT_REASON}.`)
    if (this.#record) this.#record.hasUsedOutside = true
    return this.#environment
  }

  get #stepStore(): StepStore {
    if (this.#outside) this.#steps ??= this.#record?.attempts ?? new InMemorySteps()
    return this.#steps!
  }

  inSlices<T>(steps: Steps<T>): Promise<T> {
    return this.#environment.timeSlice.runSteps(steps, this.signal)
  }

  hold(bytes: number): void {
    if (!this.#environment.settled) this.#environment.memoryAccount.changeBytes(bytes)
  }

  random(): number {
    return this.#record ? this.#record.attempts.random() : this.#environment.random()
  }

  log(severity: LogSeverity, content: string): void {
    if (!this.#environment.settled) this.#environment.observer.log(this.#node, severity, content)
  }

  progress(progress: number, total: number): void {
    if (!this.#environment.settled)
      this.#environment.observer.progress(this.#node, Math.round(progress), Math.round(total))
  }

  chunk(content: string, options: Partial<Omit<OutputChunk, 'content'>> = {}): void {
    if (this.#environment.settled) return
    const { content_type = 'text', done = false, thinking = false } = options
    if (this.#record) this.#record.hasSentChunks = true
    this.#environment.observer.chunk(this.#node, { content, content_type, done, thinking }, this)
  }

  tool(report: ToolReport): void {
    if (this.#environment.settled) return
    const place = this.#record?.pathText ?? ''
    const tool_call_id = place === '' ? report.tool_call_id : `${place}/${report.tool_call_id}`
    this.#environment.observer.tool?.(this.#node, { ...report, tool_call_id })
  }

  callWorkflow(workflow_id: string, params: Record<string, unknown>): Promise<OutputValues> {
    return this.#call(null, workflow_id, params, this.signal)
  }

  async step(name: string): Promise<FiringStep> {
    const steps = this.#stepStore
    this.signal.throwIfAborted()
    const open = await steps.takeStep(name)
    let called = false
    return {
      previousResult: open.known,
      wasInterrupted: open.interrupted,
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
    await this.#stepStore.keep(name, value)
  }

  findKept(name: string): { readonly value: unknown } | null {
    return (this.#steps ?? this.#record?.attempts)?.findKept(name) ?? null
  }

  isStepInterrupted(name: string): boolean {
    return this.#record?.attempts.isStepInterrupted(name) === true
  }

  get isQuiescent(): boolean {
    return this.#record?.isQuiescent === true
  }

  get previousItems(): readonly OutputValues[] {
    return (this.#record?.knownItems ?? []).map(UnreadValue.read<OutputValues>)
  }

  #call(
    step: OpenStep | null,
    workflow_id: string,
    params: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<OutputValues> {
    return this.#outside.callWorkflow(this.#node, workflow_id, params, { signal, record: this.#record, step })
  }
}
