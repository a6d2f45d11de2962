// What a run and the workflows that it calls share: how many asynchronous firings may be in flight at once, how many
// called workflows may be alive, the time on the thread, and the memory of what they hold.
import { CalledPlans } from './called-plans.ts'
import { Calls } from './calls.ts'
import { MemoryBudget, type SharedMemory } from './held-values.ts'
import { type Backlog, Slice } from './slice.ts'

interface Shares {
  readonly owner: string
  readonly backlog?: Backlog
  readonly memory_bytes: number
  readonly shared?: SharedMemory | null | undefined
}

export class Budget {
  readonly calls = new Calls()
  readonly plans: CalledPlans
  readonly slice: Slice
  readonly memory: MemoryBudget
  readonly #limit: number
  readonly #waiting = new Set<() => void>()
  #used = 0

  constructor(limit: number, { owner, backlog, memory_bytes, shared = null }: Shares) {
    this.#limit = limit
    this.slice = new Slice(owner, backlog)
    this.memory = new MemoryBudget(memory_bytes, shared && { owner, of: shared })
    this.plans = new CalledPlans(this.memory)
  }

  get free(): boolean {
    return this.#used < this.#limit
  }

  /** Takes a place, even beyond the limit: whether a firing is asynchronous may show only once it has begun. */
  take(): void {
    this.#used++
  }

  /** Gives a place back. Call `wakeWaiting` once the giver has taken what it needs itself. */
  giveBack(): void {
    this.#used--
  }

  /** Wakes those who wait for a place, the longest waiting first, until none is free. */
  wakeWaiting(): void {
    // Those who wait again meanwhile are not woken again.
    let left = this.#waiting.size
    for (const wake of this.#waiting) {
      if (!this.free || left-- === 0) return
      this.#waiting.delete(wake)
      wake()
    }
  }

  wait(wake: () => void): void {
    this.#waiting.add(wake)
  }

  forget(wake: () => void): void {
    this.#waiting.delete(wake)
  }
}
