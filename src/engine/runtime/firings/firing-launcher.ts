// Begins the plain firings of one node: continues a firing from its history, or runs the code of its type, in attempts if the node has a
// retry policy, and outside of the main thread if it would block that for long.

import type { RetryPolicy } from '../../compile/plan.ts'
import type { FiringRecord } from '../../durability/firing-record.ts'
import { replayFiring } from '../../durability/firing-replay.ts'
import { InMemorySteps } from '../../durability/in-memory-steps.ts'
import type { InputValues, NodeRunResult, OutputValues } from '../../node-api/firing-forms.ts'
import { withHeldMemory } from '../../node-api/held-memory.ts'
import type { NodeContext } from '../../node-api/node-context.ts'
import { estimateMemory } from '../../node-api/values/measure.ts'
import type { FiringParticipant } from '../run/participant.ts'
import type { RunHost } from '../run/run-host.ts'
import { type AttemptHost, runAttempts } from './attempts.ts'
import { FiringContext } from './context.ts'
import { isHeavyFiring } from './cost.ts'
import { isThenable } from './firing.ts'
import type { NodeCodeRunner } from './node-code-runner.ts'
import type { NodeFiringParts } from './node-firing-parts.ts'
import type { ReorderBuffer } from './reorder-buffer.ts'
import { resolveInputNodeValues } from './result-validation.ts'

export class FiringLauncher {
  readonly #executor: FiringParticipant
  readonly #host: RunHost
  readonly #codeRunner: NodeCodeRunner
  readonly #reorderBuffer: ReorderBuffer

  constructor({ executor, host, codeRunner, reorderBuffer }: NodeFiringParts) {
    this.#executor = executor
    this.#host = host
    this.#codeRunner = codeRunner
    this.#reorderBuffer = reorderBuffer
  }

  launch(inputs: InputValues): void {
    const { node } = this.#executor
    // The firings of input nodes are not recorded: the params are known.
    const record = node.input ? null : this.#codeRunner.createRecord(inputs)
    if (!record) this.#launchUnrecorded(inputs)
    else this.#prepareReplay(record)
  }

  #launchUnrecorded(inputs: InputValues): void {
    const { policy } = this.#executor.node
    const result = policy
      ? this.#codeRunner.runCode(() => this.#runAttempts(policy, inputs))
      : this.#codeRunner.runFiring((context) => this.#run(inputs, context, this.#shouldRunInWorker(inputs)))
    if (!this.#codeRunner.stopped) this.#reorderBuffer.takeResult(result)
  }

  /** Loads the large parts of a firing's history first. */
  #prepareReplay(record: FiringRecord): void {
    const loading = record.prepareRecall()
    if (loading) this.#executor.pauseReading(loading, () => this.#replayOrRun(record))
    else this.#replayOrRun(record)
  }

  /** Continues a firing from its history, or runs it. */
  #replayOrRun(record: FiringRecord): void {
    const { policy } = this.#executor.node
    const { inputs } = record
    const known = record.recall()
    if (known && replayFiring(record, known, this.#reorderBuffer, this.#codeRunner)) return
    const inWorker = this.#shouldRunInWorker(inputs)
    const code = () =>
      policy ? this.#runAttempts(policy, inputs, record) : this.#run(inputs, record.context!, inWorker)
    // Without a retry policy, a firing in a compute thread is not recorded either: it would give the same result again.
    record.isRepeatable = inWorker && !policy
    const result = this.#codeRunner.runCode(() => record.run(code))
    if (this.#codeRunner.stopped) return
    this.#codeRunner.reuseRecord(record)
    this.#reorderBuffer.takeResult(result, record)
  }

  #run(inputs: InputValues, context: NodeContext, inWorker: boolean): NodeRunResult {
    const { type, input } = this.#executor.node
    if (type.prepare) return this.#runPrepared(type.prepare(inputs, context), context)
    return inWorker
      ? this.#compute(inputs, context)
      : type.run!(input ? resolveInputNodeValues(this.#executor.node, this.#host.params, inputs) : inputs, context)
  }

  #runPrepared(prepared: InputValues | Promise<InputValues>, context: NodeContext): NodeRunResult {
    if (isThenable(prepared))
      return prepared.then((inputs) => this.#runPrepared(inputs, context)) as Promise<OutputValues>
    const { node, canRunInWorker } = this.#executor
    return canRunInWorker && isHeavyFiring(node.type, prepared)
      ? this.#computeWithHeldMemory(prepared, context)
      : node.type.run!(prepared, context)
  }

  /** Prepared inputs lie on no edge, so they count as held memory while they wait for a compute thread. */
  #computeWithHeldMemory(prepared: InputValues, context: NodeContext): Promise<OutputValues> {
    return withHeldMemory(estimateMemory(prepared), context, () => this.#compute(prepared, context))
  }

  #compute(inputs: InputValues, { run, signal }: NodeContext): Promise<OutputValues> {
    const { compute, owner } = this.#host
    return compute.run({ node_type: this.#executor.node.type.node_type, inputs, owner, run, signal })
  }

  /** Whether a firing with these inputs would block the main thread for long and can run elsewhere. */
  #shouldRunInWorker(inputs: InputValues): boolean {
    const { canRunInWorker, mayBeHeavy, node } = this.#executor
    return canRunInWorker && mayBeHeavy && !node.type.prepare && isHeavyFiring(node.type, inputs)
  }

  #runAttempts(policy: RetryPolicy, inputs: InputValues, record: FiringRecord | null = null): Promise<unknown> {
    const { node } = this.#executor
    const steps = record?.attempts ?? new InMemorySteps()
    const inWorker = this.#shouldRunInWorker(inputs)
    const begin = (signal: AbortSignal) =>
      this.#run(inputs, new FiringContext(node, this.#host.environment, { signal, record, steps }), inWorker)
    return runAttempts(policy, begin, this.#createAttemptHost(record), steps)
  }

  #createAttemptHost(record: FiringRecord | null): AttemptHost {
    const { state, environment } = this.#host
    const { observed } = this.#executor.node
    return {
      signal: environment.signal,
      clock: environment.clock,
      get stopped() {
        return state.stopped
      },
      get isQuiescent() {
        return record?.isQuiescent === true
      },
      log: (severity, content) => {
        if (!state.settled) environment.observer.log(observed, severity, content)
      },
      backOff: (ms) => environment.backOff(ms),
    }
  }
}
