// What the code of firings may use of its run: time, services, memory, calls of workflows, and reports to followers.

import type { Steps } from '../../../shared/time-slices.ts'
import { DurableServices } from '../../durability/durable-services.ts'
import type { Clock } from '../../node-api/clock.ts'
import type { OutputValues } from '../../node-api/firing-forms.ts'
import { NodeError } from '../../node-api/node-error.ts'
import type { NodeServices } from '../../node-api/node-services.ts'
import { sleepWithoutPermit, withoutPermit } from '../firings/concurrency-permit.ts'
import type { TimeSlice } from '../time-slice.ts'
import type { RunAborter } from './aborter.ts'
import type { RunMemoryAccount } from './memory-account.ts'
import type { ObservedNode, RunObserver } from './observer.ts'
import type { FiringCallSite, GraphRunOptions } from './options.ts'
import type { RunState } from './state.ts'

/** The parts of a run that its firings use. */
interface EnvironmentRun {
  readonly state: RunState
  readonly aborter: RunAborter
  readonly memoryAccount: RunMemoryAccount
}

export class FiringEnvironment {
  readonly clock: Clock
  readonly observer: RunObserver
  readonly random: () => number
  readonly memoryAccount: RunMemoryAccount
  readonly #options: GraphRunOptions
  readonly #state: RunState
  readonly #aborter: RunAborter
  #services: NodeServices | null = null

  constructor(options: GraphRunOptions, { state, aborter, memoryAccount }: EnvironmentRun) {
    this.clock = options.clock
    this.observer = options.observer
    this.random = options.random
    this.memoryAccount = memoryAccount
    this.#options = options
    this.#state = state
    this.#aborter = aborter
  }

  /** An object that is shared with called workflows only. */
  get run(): object {
    return this.#options.resources
  }

  /** Aborts when firings in flight should end. */
  get signal(): AbortSignal {
    return this.#aborter.signal
  }

  /** True once the run is over: nothing is reported any more. */
  get settled(): boolean {
    return this.#state.settled
  }

  get timeSlice(): TimeSlice {
    return this.#options.resources.timeSlice
  }

  get services(): NodeServices {
    const { services, durability } = this.#options
    this.#services ??= durability?.journal
      ? new DurableServices(services, durability.journal, this.#state, this.#aborter)
      : services
    return this.#services
  }

  /** Runs long work in the time slices of the run. Rejects if the run aborts its firings. */
  inSlices<T>(steps: Steps<T>): Promise<T> {
    return this.timeSlice.runSteps(steps, this.signal)
  }

  /** While it waits for a called workflow, a firing lends its permit to the firings inside. */
  async callWorkflow(
    node: ObservedNode,
    workflow_id: string,
    params: Record<string, unknown>,
    site: FiringCallSite,
  ): Promise<OutputValues> {
    const { resources, callWorkflow } = this.#options
    return withoutPermit(resources, async () => {
      // Checked only now: the firing that got the permit may have failed the run, which halts no later call.
      this.#throwIfStopped()
      return callWorkflow(node, workflow_id, params, this.#state.openCalls, site)
    })
  }

  /** Waits without a concurrency permit. Rejects as soon as the run stops. */
  async backOff(ms: number): Promise<void> {
    this.#throwIfStopped()
    await sleepWithoutPermit(ms, this.clock, this.#options.resources, this.#state.openCalls)
  }

  #throwIfStopped(): void {
    if (this.#state.stopped) throw new NodeError('The run has stopped.', 'cancelled')
  }
}
