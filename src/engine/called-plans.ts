// The plans of called workflows, as long as calls of one run go on: a large one takes hundreds of megabytes, and is held once however many calls share it.
import type { MemoryBudget } from './held-values.ts'
import type { Plan } from './plan-parts.ts'

interface Held {
  readonly bytes: number
  calls: number
}

export class CalledPlans {
  readonly #memory: MemoryBudget
  readonly #held = new Map<Plan, Held>()

  constructor(memory: MemoryBudget) {
    this.#memory = memory
  }

  /** Counts a plan of so many bytes until that is disposed of. */
  hold(plan: Plan, bytes: number): Disposable {
    const held = this.#held.get(plan) ?? { bytes, calls: 0 }
    this.#held.set(plan, held)
    if (held.calls++ === 0) this.#memory.addBytes(held.bytes)
    return { [Symbol.dispose]: () => this.#letGo(plan, held) }
  }

  #letGo(plan: Plan, held: Held): void {
    if (--held.calls > 0) return
    this.#held.delete(plan)
    this.#memory.addBytes(-held.bytes)
  }
}
