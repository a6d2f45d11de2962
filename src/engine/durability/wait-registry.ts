// The waiting firings of one execution, including called workflows. Suspends the execution once nothing else in it can continue.
import type { WaitingFiring } from './journal.ts'

/** A run of the execution: its root, or a called workflow. */
export interface SuspendableRun {
  /** Whether nothing in the run can continue by itself. */
  readonly isIdle: boolean
  /** Whether work of the run that no consumer wants is still under way. */
  readonly hasLeftovers: boolean
  /** `leftovers`: a run of the execution has unwanted work, which has to end first. */
  suspend(waiting: WaitingFiring[], leftovers: boolean): void
}

export interface RegisteredWait {
  readonly waiting: WaitingFiring
  /** Its position in the whole execution, by which lists are sorted. */
  readonly order: readonly number[]
  /** False: its run has stopped. */
  answer(value: unknown): boolean
}

/** A firing that cannot, or may not be able to, resume: it must not run again, or could give other items. */
export interface NonResumable {
  /** The firing will end by itself. */
  readonly isBusy: boolean
  /** The firing may be able to resume: its items are fetched if possible, but the run does not fail for it. */
  readonly mayContinue: boolean
  /** Starts fetching its items to the end of its stream. False: that is impossible. */
  fetchToEnd(): boolean
  /** Fails the run of the firing. */
  failRun(): void
}

function compareOrders(a: readonly number[], b: readonly number[]): number {
  for (let at = 0; at < a.length && at < b.length; at++) if (a[at] !== b[at]) return a[at]! - b[at]!
  return a.length - b.length
}

export class WaitRegistry {
  readonly #runs = new Set<SuspendableRun>()
  readonly #waits = new Map<string, RegisteredWait>()
  /** Firings that must end before the execution can be suspended. */
  readonly nonResumable = new Set<NonResumable>()
  #root: SuspendableRun | null = null

  /** Adds a run; the first is the root. */
  addRun(run: SuspendableRun): void {
    this.#root ??= run
    this.#runs.add(run)
  }

  removeRun(run: SuspendableRun): void {
    this.#runs.delete(run)
  }

  /** Registers a wait; returns a function that removes it. */
  register(wait: RegisteredWait): () => void {
    const { firing } = wait.waiting
    this.#waits.set(firing, wait)
    return () => this.#waits.delete(firing)
  }

  answer(firing: string, value: unknown): boolean {
    return this.#waits.get(firing)?.answer(value) ?? false
  }

  /** Suspends the execution if a firing waits and nothing can continue. */
  suspendIfIdle(): void {
    if (this.#waits.size === 0) return
    for (const run of this.#runs) if (!run.isIdle) return
    if (!this.#fetchToEnd([...this.nonResumable])) this.#suspend()
  }

  /** Whether a firing still has to end, or has failed its run because it cannot. */
  #fetchToEnd(firings: readonly NonResumable[]): boolean {
    const ending = firings.filter((one) => one.isBusy || one.fetchToEnd())
    if (ending.length > 0) return true
    const first = firings.find((one) => !one.mayContinue)
    first?.failRun()
    return first !== undefined
  }

  #suspend(): void {
    const inOrder = [...this.#waits.values()].sort((a, b) => compareOrders(a.order, b.order))
    const leftovers = [...this.#runs].some((run) => run.hasLeftovers)
    this.#root?.suspend(
      inOrder.map(({ waiting }) => waiting),
      leftovers,
    )
  }
}
