// The resources that a run shares with the workflows that it calls: concurrency permits, live calls, time on the thread, and memory.

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

  /** Takes a permit, even beyond the limit: a firing may turn out to be asynchronous only after it began. */
  takePermit(): void {
    this.#permitsUsed++
  }

  /** Returns a permit. Call `wakeWaiters` after the caller has taken the permits that it needs itself. */
  releasePermit(): void {
    this.#permitsUsed--
  }

  /** Wakes waiters, the longest waiting first, until no permit is free. */
  wakeWaiters(): void {
    // Waiters added meanwhile are not woken.
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
