// The firings of one execution that wait for something outside of it, those of called workflows included, and the moment from which
// nothing of it can go on without them.
import type { WaitingFiring } from './journal.ts'

/** A run of the execution: its root, or a workflow that is being called. */
export interface SuspendableRun {
  /** Whether nothing of it can go on by itself. */
  readonly isIdle: boolean
  /** Whether something that nobody wants any more is under way in it. */
  readonly hasLeftovers: boolean
  /** `leftovers`: some run of the execution has them, and they have to end before. */
  suspend(waiting: WaitingFiring[], leftovers: boolean): void
}

export interface RegisteredWait {
  readonly waiting: WaitingFiring
  /** Where it stands in the whole execution: lists are in this order. */
  readonly order: readonly number[]
  /** False: its run has stopped. */
  answer(value: unknown): boolean
}

/** A firing that could not go on from where it stands, or might not: it must not run again, or gives other items. */
export interface NonResumable {
  /** It will end by itself. */
  readonly isBusy: boolean
  /** It may well go on: what can be done for it is done, but nothing fails for it. */
  readonly mayContinue: boolean
  /** Has its items fetched to the end of its stream. False: that can not be. */
  fetchToEnd(): boolean
  /** Fails its run. */
  failRun(): void
}

function compareOrders(a: readonly number[], b: readonly number[]): number {
  for (let at = 0; at < a.length && at < b.length; at++) if (a[at] !== b[at]) return a[at]! - b[at]!
  return a.length - b.length
}

export class WaitRegistry {
  readonly #runs = new Set<SuspendableRun>()
  readonly #waits = new Map<string, RegisteredWait>()
  /** What must end before the execution can be suspended. */
  readonly nonResumable = new Set<NonResumable>()
  #root: SuspendableRun | null = null

  /** The first one to join is the root. */
  addRun(run: SuspendableRun): void {
    this.#root ??= run
    this.#runs.add(run)
  }

  removeRun(run: SuspendableRun): void {
    this.#runs.delete(run)
  }

  /** Gives what takes the firing away again. */
  register(wait: RegisteredWait): () => void {
    const { firing } = wait.waiting
    this.#waits.set(firing, wait)
    return () => this.#waits.delete(firing)
  }

  answer(firing: string, value: unknown): boolean {
    return this.#waits.get(firing)?.answer(value) ?? false
  }

  /** Suspends the execution where a firing waits and nothing can go on. */
  suspendIfIdle(): void {
    if (this.#waits.size === 0) return
    for (const run of this.#runs) if (!run.isIdle) return
    if (!this.#fetchToEnd([...this.nonResumable])) this.#suspend()
  }

  /** Whether something has to end before, or has failed its run since it can not. */
  #fetchToEnd(brittle: readonly NonResumable[]): boolean {
    const ending = brittle.filter((one) => one.isBusy || one.fetchToEnd())
    if (ending.length > 0) return true
    const first = brittle.find((one) => !one.mayContinue)
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
