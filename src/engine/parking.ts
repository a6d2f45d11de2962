// The firings of one execution that wait for something outside of it, those of called workflows included, and the moment from which
// nothing of it can go on without them.
import type { Waiting } from './journal.ts'

/** A run of the execution: its root, or a workflow that is being called. */
export interface Parker {
  /** Whether nothing of it can go on by itself. */
  readonly idle: boolean
  /** Whether something that nobody wants any more is under way in it. */
  readonly leftovers: boolean
  /** `leftovers`: some run of the execution has them, and they have to end before. */
  suspend(waiting: Waiting[], leftovers: boolean): void
}

export interface Parked {
  readonly waiting: Waiting
  /** Where it stands in the whole execution: lists are in this order. */
  readonly order: readonly number[]
  /** False: its run has stopped. */
  answer(value: unknown): boolean
}

/** A firing that could not go on from where it stands, or might not: it must not run again, or gives other items. */
export interface Brittle {
  /** It will end by itself. */
  readonly busy: boolean
  /** It may well go on: what can be done for it is done, but nothing fails for it. */
  readonly hopeful: boolean
  /** Has its items fetched to the end of its stream. False: that can not be. */
  hasten(): boolean
  /** Fails its run. */
  refuse(): void
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (let at = 0; at < a.length && at < b.length; at++) if (a[at] !== b[at]) return a[at]! - b[at]!
  return a.length - b.length
}

export class Parking {
  readonly #runs = new Set<Parker>()
  readonly #parked = new Map<string, Parked>()
  /** What must end before the execution can be suspended. */
  readonly brittle = new Set<Brittle>()
  #root: Parker | null = null

  /** The first one to join is the root. */
  join(run: Parker): void {
    this.#root ??= run
    this.#runs.add(run)
  }

  leave(run: Parker): void {
    this.#runs.delete(run)
  }

  /** Gives what takes the firing away again. */
  park(parked: Parked): () => void {
    const { firing } = parked.waiting
    this.#parked.set(firing, parked)
    return () => this.#parked.delete(firing)
  }

  answer(firing: string, value: unknown): boolean {
    return this.#parked.get(firing)?.answer(value) ?? false
  }

  /** Suspends the execution where a firing waits and nothing can go on. */
  check(): void {
    if (this.#parked.size === 0) return
    for (const run of this.#runs) if (!run.idle) return
    if (!this.#hasten([...this.brittle])) this.#suspend()
  }

  /** Whether something has to end before, or has failed its run since it can not. */
  #hasten(brittle: readonly Brittle[]): boolean {
    const ending = brittle.filter((one) => one.busy || one.hasten())
    if (ending.length > 0) return true
    const first = brittle.find((one) => !one.hopeful)
    first?.refuse()
    return first !== undefined
  }

  #suspend(): void {
    const inOrder = [...this.#parked.values()].sort((a, b) => compare(a.order, b.order))
    const leftovers = [...this.#runs].some((run) => run.leftovers)
    this.#root?.suspend(
      inOrder.map(({ waiting }) => waiting),
      leftovers,
    )
  }
}
