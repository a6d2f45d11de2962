// What a run and the workflows that it calls share: how many asynchronous firings may be in flight at once, how many
// called workflows may be alive, the time on the thread, and the memory of what they hold.

import type { Plan } from '../../compile/plan.ts'
import { CallDepthLimiter } from '../call-depth-limiter.ts'
import { type BacklogCheck, TimeSlice } from '../time-slice.ts'
import { MemoryBudget, type ProcessMemoryAccount } from './memory-account.ts'

interface RunResourceOptions {
  readonly owner: string
  readonly backlog?: BacklogCheck
  readonly memory_bytes: number
  readonly shared?: ProcessMemoryAccount | null | undefined
}

export class RunResources {
  readonly callLimiter = new CallDepthLimiter()
  readonly calledPlans: CalledPlanMemory
  readonly timeSlice: TimeSlice
  readonly memory: MemoryBudget
  readonly #permitLimit: number
  readonly #waiters = new Set<() => void>()
  #permitsUsed = 0

  constructor(limit: number, { owner, backlog, memory_bytes, shared = null }: RunResourceOptions) {
    this.#permitLimit = limit
    this.timeSlice = new TimeSlice(owner, backlog)
    this.memory = new MemoryBudget(memory_bytes, shared && { owner, account: shared })
    this.calledPlans = new CalledPlanMemory(this.memory)
  }

  get hasFreePermit(): boolean {
    return this.#permitsUsed < this.#permitLimit
  }

  /** Takes a place, even beyond the limit: whether a firing is asynchronous may show only once it has begun. */
  takePermit(): void {
    this.#permitsUsed++
  }

  /** Gives a place back. Call `wakeWaiting` once the giver has taken what it needs itself. */
  releasePermit(): void {
    this.#permitsUsed--
  }

  /** Wakes those who wait for a place, the longest waiting first, until none is free. */
  wakeWaiters(): void {
    // Those who wait again meanwhile are not woken again.
    let left = this.#waiters.size
    for (const wake of this.#waiters) {
      if (!this.hasFreePermit || left-- === 0) return
      this.#waiters.delete(wake)
      wake()
    }
  }

  addWaiter(wake: () => void): void {
    this.#waiters.add(wake)
  }

  removeWaiter(wake: () => void): void {
    this.#waiters.delete(wake)
  }
}

interface HeldPlan {
  readonly bytes: number
  calls: number
}

/** The plans of called workflows, as long as calls of one run go on: a large one takes hundreds of megabytes, and is held once however many calls share it. */
class CalledPlanMemory {
  readonly #memory: MemoryBudget
  readonly #plans = new Map<Plan, HeldPlan>()

  constructor(memory: MemoryBudget) {
    this.#memory = memory
  }

  /** Counts a plan of so many bytes until that is disposed of. */
  hold(plan: Plan, bytes: number): Disposable {
    const held = this.#plans.get(plan) ?? { bytes, calls: 0 }
    this.#plans.set(plan, held)
    if (held.calls++ === 0) this.#memory.addBytes(held.bytes)
    return { [Symbol.dispose]: () => this.#release(plan, held) }
  }

  #release(plan: Plan, held: HeldPlan): void {
    if (--held.calls > 0) return
    this.#plans.delete(plan)
    this.#memory.addBytes(-held.bytes)
  }
}
