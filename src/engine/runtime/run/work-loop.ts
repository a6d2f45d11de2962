// The work of one run: gives its nodes their turns within time slices, and counts what is in flight between them. scheduler.ts decides whose
// turn it is.

import type { WaitRegistry } from '../../durability/wait-registry.ts'
import { InFlightCounter } from '../in-flight-counter.ts'
import type { Scheduler } from '../scheduler.ts'
import type { NodeExecutors } from './node-executors.ts'
import type { RunParticipant } from './participant.ts'
import type { RunResources } from './resources.ts'
import type { RunState } from './state.ts'

/** The number of nodes created between two readings of the clock. */
const NODES_PER_TIME_CHECK = 64

/** The parts of a run that its work concerns. */
interface WorkingRun {
  readonly state: RunState
  readonly executors: NodeExecutors
  readonly scheduler: Scheduler
}

interface WorkLoopOptions {
  /** The nodes without connected inputs. */
  readonly roots: readonly number[]
  readonly resources: RunResources
  readonly waitRegistry: WaitRegistry | null
  /** Called when no node can continue at present, or the run has stopped. */
  readonly onPause: () => void
}

export class WorkLoop {
  readonly inFlight = new InFlightCounter()
  readonly #roots: readonly number[]
  readonly #state: RunState
  readonly #executors: NodeExecutors
  readonly #scheduler: Scheduler
  readonly #resources: RunResources
  readonly #waitRegistry: WaitRegistry | null
  readonly #onPause: () => void
  readonly #continueWork = (): void => this.work()
  hasBegun = false
  /** True while nodes work: the run must not end before they pause. */
  isWorking = false
  /** The number of root nodes already scheduled. */
  #rootsScheduled = 0

  constructor({ state, executors, scheduler }: WorkingRun, options: WorkLoopOptions) {
    this.#state = state
    this.#executors = executors
    this.#scheduler = scheduler
    this.#roots = options.roots
    this.#resources = options.resources
    this.#waitRegistry = options.waitRegistry
    this.#onPause = options.onPause
  }

  begin(): void {
    this.hasBegun = true
    this.work()
  }

  work(): void {
    if (this.isWorking || this.#state.settled) return
    this.isWorking = true
    try {
      if (!this.#state.stopped && (this.#scheduleRoots() || this.#scheduler.work(() => this.#state.stopped)))
        this.continueLater()
    } catch (fault) {
      this.#state.breakDown(fault)
    }
    this.isWorking = false
    this.#onPause()
  }

  /** Continues in a later turn of the event loop. */
  continueLater(): void {
    this.#scheduler.runLater(this.#continueWork)
  }

  /** Continues as soon as the workflows that share the permits leave one. */
  continueWithPermit(): void {
    this.#resources.addWaiter(this.#continueWork)
  }

  /** Drops all waiting work when the run is over. */
  close(): void {
    this.#resources.removeWaiter(this.#continueWork)
    this.#scheduler.clear()
  }

  /** Whether nothing can continue before an event from outside. */
  get isIdle(): boolean {
    if (this.#state.stopped || !this.hasBegun || this.isWorking || this.#executors.openCount === 0) return false
    return this.inFlight.isQuiescent && this.#scheduler.isQuiet
  }

  /** Whether no work is in flight and none can arrive, except for streamed inputs. */
  get isStuck(): boolean {
    if (!this.inFlight.isEmpty || this.inFlight.waitingFirings > 0) return false
    return !this.#scheduler.isPending && !this.#scheduler.hasStarved
  }

  onWorkBegun(holdsPlace: boolean): void {
    this.inFlight.begin(holdsPlace)
    if (holdsPlace) this.#resources.takePermit()
  }

  /** A piece of work releases its permit before it ends. */
  onPermitReleased(): void {
    this.inFlight.release()
    this.#resources.releasePermit()
    this.continueLater()
  }

  /** `settle` processes the result of the work. */
  onWorkEnded(heldPlace: boolean, settle: () => void): void {
    this.inFlight.end(heldPlace)
    if (heldPlace) this.#resources.releasePermit()
    // A firing that continues in `settle` is not counted yet and may release its permit, so the run must not end meanwhile.
    this.isWorking = true
    try {
      settle()
    } catch (fault) {
      this.#state.breakDown(fault)
    }
    this.isWorking = false
    this.work()
    this.#resources.wakeWaiters()
  }

  /** A firing starts or stops waiting only for the workflows that it calls. */
  onWaitingChanged(still: boolean): void {
    this.inFlight.countWaiting(still)
    if (still) this.#waitRegistry?.suspendIfIdle()
  }

  /**
   * Lets a firing wait for an answer, which `resume` receives. `register` registers the wait and returns a function that removes it; the
   * result ends the wait.
   */
  awaitAnswer(
    executor: RunParticipant,
    register: (answer: (value: unknown) => boolean) => () => void,
    resume: (value: unknown) => void,
  ): () => void {
    this.inFlight.waitingFirings++
    let isWaiting = true
    const release = register((value) => {
      if (this.#state.stopped) return false
      leave()
      this.#resumeFiring(executor, () => resume(value))
      return true
    })
    const leave = () => {
      if (!isWaiting) return
      isWaiting = false
      this.inFlight.waitingFirings--
      release()
    }
    return leave
  }

  /** Resumes an answered firing; its node soon gets a turn. */
  #resumeFiring(executor: RunParticipant, resume: () => void): void {
    try {
      resume()
    } catch (fault) {
      this.#state.breakDown(fault)
    }
    this.#scheduler.schedule(executor)
    this.continueLater()
  }

  /** Schedules the root nodes within the time slice, as creating very many takes long. True: there are more. */
  #scheduleRoots(): boolean {
    while (this.hasBegun && this.#rootsScheduled < this.#roots.length) {
      this.#scheduler.schedule(this.#executors.of(this.#roots[this.#rootsScheduled++]!))
      if (this.#rootsScheduled % NODES_PER_TIME_CHECK === 0 && this.#resources.timeSlice.isUsedUp(performance.now()))
        return this.#rootsScheduled < this.#roots.length
    }
    return false
  }
}
