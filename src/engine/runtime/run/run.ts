// One run of a plan: its parts, its begin, and the values that its host sends into it. work-loop.ts does its work, ending.ts ends it.

import type { Plan } from '../../compile/compiler.ts'
import type { NodeUpdate } from '../../durability/journal.ts'
import type { RunDurability } from '../../durability/run-durability.ts'
import type { InputValues } from '../../node-api/firing-forms.ts'
import type { ComputeAccess } from '../../node-api/services/compute.ts'
import { NodeExecutor } from '../node-executor.ts'
import { Scheduler } from '../scheduler.ts'
import { RunRegions } from '../streams/demand.ts'
import {
  appendValue,
  endStream,
  hasInputEnded,
  type InputsInTransit,
  type PushResult,
  pushValue,
  type StreamedInput,
  StreamedInputs,
} from '../streams/streamed-inputs.ts'
import type { Haltable } from '../workflow-call.ts'
import { RunAborter } from './aborter.ts'
import { RunEdges } from './edges.ts'
import { RunEnding } from './ending.ts'
import { RunFailures } from './failures.ts'
import { FiringEnvironment } from './firing-environment.ts'
import { RunMemoryAccount } from './memory-account.ts'
import { NodeExecutors } from './node-executors.ts'
import type { ObservedNode, RunError, RunObserver, RunOutcome } from './observer.ts'
import type { GraphRunOptions } from './options.ts'
import { RunOutputs } from './outputs.ts'
import type { Schedulable } from './participant.ts'
import type { RunHost } from './run-host.ts'
import { RunState } from './state.ts'
import { WorkLoop } from './work-loop.ts'

const NO_NODE: ObservedNode = { node_id: '', node_name: '', node_type: '' }

export class GraphRun implements RunHost, Haltable {
  readonly params: Readonly<Record<string, unknown>>
  readonly observer: RunObserver
  readonly durability: RunDurability | null
  readonly state: RunState
  readonly aborter: RunAborter
  readonly failures: RunFailures
  readonly ending: RunEnding
  readonly executors: NodeExecutors
  readonly scheduler: Scheduler
  readonly workLoop: WorkLoop
  readonly edges: RunEdges
  readonly regions: RunRegions | null
  readonly memoryAccount: RunMemoryAccount
  readonly streamedInputs: StreamedInputs
  readonly outputs: RunOutputs
  readonly environment: FiringEnvironment
  readonly compute: ComputeAccess
  readonly owner: string
  readonly updates: ReadonlyMap<string, readonly NodeUpdate[]>
  readonly #plan: Plan
  readonly #timeLimitMs: number | null
  readonly #signal: AbortSignal

  constructor(plan: Plan, options: GraphRunOptions) {
    const { params, observer, durability, signal, resources, services } = options
    const waitRegistry = durability?.waitRegistry ?? null
    this.params = params
    this.observer = observer
    this.durability = durability
    this.compute = services.compute
    this.owner = services.owner
    this.updates = Map.groupBy(options.updates, ({ node_id }) => node_id)
    this.#plan = plan
    this.#timeLimitMs = options.timeLimitMs
    this.#signal = signal
    this.state = new RunState(observer, resources.timeSlice, plan.nodes[0]?.observed ?? NO_NODE)
    this.aborter = new RunAborter(signal, options.clock)
    this.failures = new RunFailures(this.state, observer, durability?.journal ?? null)
    this.memoryAccount = new RunMemoryAccount(resources.memory)
    this.streamedInputs = new StreamedInputs(plan, params)
    this.outputs = new RunOutputs(plan)
    this.executors = new NodeExecutors(plan.nodes, (node) => new NodeExecutor(node, this))
    this.scheduler = new Scheduler(this.executors, resources)
    this.regions = plan.regions && new RunRegions(plan.regions, (node) => this.scheduler.schedule(node as Schedulable))
    this.edges = new RunEdges(plan, this, options.inboxLimit)
    this.environment = new FiringEnvironment(options, this)
    this.ending = new RunEnding(this, signal)
    this.workLoop = new WorkLoop(this, {
      roots: plan.roots,
      resources,
      waitRegistry,
      onPause: () => this.ending.endIfOver(),
    })
    // The first run is the root, which no other run calls.
    resources.memory.holder ??= this.ending
    waitRegistry?.addRun(this.ending)
  }

  /** Starts the run. A run without asynchronous work is over when this returns. */
  start(): void {
    const known = this.failures.recallError()
    if (known) this.#endWithKnownError(known)
    else if (this.#signal.aborted) this.ending.cancel()
    else {
      this.ending.watch(this.#timeLimitMs)
      this.workLoop.begin()
    }
  }

  halt(): void {
    this.ending.halt()
  }

  /** Whether the run is idle, and all its calls are quiescent. */
  get isQuiescent(): boolean {
    return this.ending.isIdle && [...this.state.openCalls].every(({ isQuiescent }) => isQuiescent)
  }

  get outcome(): RunOutcome | null {
    return this.ending.outcome
  }

  get done(): Promise<RunOutcome> {
    return this.ending.done
  }

  pushInput(name: string, value: unknown, handle?: string): PushResult {
    return this.#changeInput(name, handle, 'not_running', (input) => pushValue(input, value, this.workLoop.hasBegun))
  }

  endInput(name: string, handle?: string): PushResult {
    return this.#changeInput(name, handle, 'ok', endStream)
  }

  previewPush(name: string, value: unknown, handle: string | undefined, inTransit: InputsInTransit): PushResult {
    return this.state.stopped ? 'not_running' : this.streamedInputs.previewPush(name, value, handle, inTransit)
  }

  previewEnd(name: string, handle: string | undefined): PushResult {
    const input = this.state.stopped ? 'not_running' : this.streamedInputs.find(name, handle)
    return typeof input === 'string' ? input : 'ok'
  }

  appendInput(name: string, value: unknown): void {
    this.#changeInput(name, undefined, 'not_running', (input) => appendValue(input, value))
  }

  answer(firing: string, value: unknown): boolean {
    return !this.state.stopped && this.durability?.waitRegistry?.answer(firing, value) === true
  }

  updateProperties(node_id: string, values: InputValues): number {
    return this.executors.of(this.#plan.indexById.get(node_id)!).update(values)
  }

  #changeInput(
    name: string,
    handle: string | undefined,
    whenEnded: PushResult,
    change: (input: StreamedInput) => PushResult,
  ): PushResult {
    if (this.state.stopped) return 'not_running'
    const input = this.streamedInputs.find(name, handle)
    if (typeof input === 'string') return input
    if (hasInputEnded(input)) return whenEnded
    const result = change(input)
    this.scheduler.schedule(this.executors.of(input.node.index))
    this.workLoop.continueLater()
    return result
  }

  /** The run had failed before an interruption: it only has to settle. */
  #endWithKnownError(error: RunError): void {
    this.state.fail(error)
    const node = this.#plan.nodes[this.#plan.indexById.get(error.node_id) ?? -1]
    try {
      if (node) this.failures.reportError(node.observed, error.message)
    } catch (fault) {
      this.state.breakDown(fault)
    }
    this.ending.settle()
  }
}
