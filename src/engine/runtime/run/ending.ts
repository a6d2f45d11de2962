// The end of one run: aborts what is in flight when the run is cancelled or exceeds a limit, and settles the run once nothing is left to do.

import type { WaitingFiring } from '../../durability/journal.ts'
import type { RunDurability } from '../../durability/run-durability.ts'
import type { SuspendableRun } from '../../durability/wait-registry.ts'
import { NodeError } from '../../node-api/node-error.ts'
import type { Scheduler } from '../scheduler.ts'
import type { StreamedInputs } from '../streams/streamed-inputs.ts'
import type { RunAborter } from './aborter.ts'
import type { RunMemoryAccount } from './memory-account.ts'
import type { NodeExecutors } from './node-executors.ts'
import type { RunOutcome } from './observer.ts'
import type { RunOutputs } from './outputs.ts'
import type { RunState } from './state.ts'
import type { WorkLoop } from './work-loop.ts'

/** The parts of a run that its end concerns. */
interface EndingRun {
  readonly durability: RunDurability | null
  readonly state: RunState
  readonly aborter: RunAborter
  readonly executors: NodeExecutors
  readonly scheduler: Scheduler
  readonly workLoop: WorkLoop
  readonly streamedInputs: StreamedInputs
  readonly outputs: RunOutputs
  readonly memoryAccount: RunMemoryAccount
}

export class RunEnding implements SuspendableRun {
  readonly #run: EndingRun
  readonly #signal: AbortSignal
  readonly #cancel = (): void => this.cancel()
  #outcome: RunOutcome | null = null
  #done: PromiseWithResolvers<RunOutcome> | null = null

  /** Aborting `signal` cancels the run. */
  constructor(run: EndingRun, signal: AbortSignal) {
    this.#run = run
    this.#signal = signal
  }

  get outcome(): RunOutcome | null {
    return this.#outcome
  }

  get done(): Promise<RunOutcome> {
    if (this.#outcome) return Promise.resolve(this.#outcome)
    this.#done ??= Promise.withResolvers()
    return this.#done.promise
  }

  /** From now on, the run ends with its signal, or after `timeLimitMs`. */
  watch(timeLimitMs: number | null): void {
    this.#signal.addEventListener('abort', this.#cancel)
    if (timeLimitMs !== null) this.#run.aborter.limitTime(timeLimitMs, () => this.#timeOut(timeLimitMs))
  }

  /** Nothing new begins, but firings in flight are not aborted. */
  halt(): void {
    if (this.#run.state.stopped) return
    this.#run.state.cancel()
    if (!this.#run.workLoop.isWorking) this.endIfOver()
  }

  cancel(): void {
    const { state, aborter } = this.#run
    if (state.settled || aborter.aborted) return
    state.cancel()
    this.#abortFirings(this.#signal.reason)
  }

  /** The run, with its calls, exceeds its memory limit; null: all runs of its owner together exceed theirs. */
  onMemoryExceeded(limit_bytes: number | null): void {
    if (this.#run.aborter.aborted) return
    const message = limit_bytes === null ? OWNER_MEMORY_EXCEEDED : describeMemoryExceeded(limit_bytes)
    this.#run.state.fail({ node_id: '', type: 'too_large', message })
    this.#abortFirings(new NodeError(message, 'too_large'))
  }

  get isIdle(): boolean {
    return this.#run.workLoop.isIdle
  }

  get hasLeftovers(): boolean {
    return this.#run.workLoop.inFlight.hasLeftovers
  }

  suspend(waiting: WaitingFiring[], leftovers: boolean): void {
    this.#run.state.suspend(waiting)
    if (leftovers) this.#abortFirings(new NodeError('The run is suspended.', 'cancelled'))
    else this.settle()
  }

  endIfOver(): void {
    const { state, executors, scheduler, workLoop, aborter } = this.#run
    if (state.settled) return
    if (!state.stopped && executors.openCount > 0 && this.#isStuck)
      state.breakDown(new Error(`${executors.openCount} nodes are open, but none can continue`))
    if (!state.stopped && executors.openCount > 0) {
      if (scheduler.hasStarved) workLoop.continueWithPermit()
      else this.#run.durability?.waitRegistry?.suspendIfIdle()
    } else if (workLoop.inFlight.isEmpty) this.settle()
    // Every node is closed, but unwanted work is still in flight: aborts it.
    else if (!state.stopped && !aborter.aborted) this.#abortFirings(new NodeError('The run is over.', 'cancelled'))
  }

  settle(): void {
    const { state, aborter, executors, workLoop, outputs, memoryAccount } = this.#run
    if (state.settled) return
    const outcome = state.settle(outputs)
    this.#signal.removeEventListener('abort', this.#cancel)
    aborter.close()
    executors.abandon()
    workLoop.close()
    memoryAccount.close()
    this.#outcome = outcome
    this.#done?.resolve(outcome)
  }

  /** Nodes are open, but no work is in flight and none can arrive. No graph should cause this. */
  get #isStuck(): boolean {
    return this.#run.workLoop.isStuck && !this.#run.streamedInputs.isAnyOpen
  }

  #timeOut(ms: number): void {
    const { aborter, state, executors } = this.#run
    if (aborter.aborted) return
    const message = `The run did not finish within ${ms / 1000} s.`
    if (executors.openCount > 0) state.fail({ node_id: '', type: 'timed_out', message })
    this.#abortFirings(new NodeError(message, 'timed_out'))
  }

  #abortFirings(reason: unknown): void {
    this.#run.aborter.abort(reason, () => this.settle())
    this.#run.state.haltCalls()
    if (!this.#run.workLoop.isWorking) this.endIfOver()
  }
}

const OWNER_MEMORY_EXCEEDED =
  'Your runs together hold more values than the server has room for. Run fewer at the same time, or process less data at once.'

function describeMemoryExceeded(limit_bytes: number): string {
  const most = Math.floor(limit_bytes / 1_048_576).toLocaleString('en')
  return `The run holds more than ${most} MiB of values at once, which is the limit. Process less data at once, or in parts.`
}
