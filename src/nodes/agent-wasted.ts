// What attempts at an agent used for turns and calls that came to nothing. It is kept as they fail, so that whoever tries again, in this
// process or in a later one, counts it: no limit of the agent begins anew.
import type { NodeContext } from '../engine/node-type.ts'
import type { Used, Waste } from './agent-limits.ts'

export class Wasted {
  readonly #context: NodeContext
  readonly #used: Used
  #counted = 0

  constructor(context: NodeContext, used: Used) {
    this.#context = context
    this.#used = used
  }

  /** Counts all that was kept since it counted last. */
  count(): void {
    for (let kept = this.#at(this.#counted); kept; kept = this.#at(this.#counted)) {
      this.#used.waste(kept.value as Waste)
      this.#counted++
    }
  }

  async keep(waste: Waste): Promise<void> {
    let free = this.#counted
    while (this.#at(free)) free++
    await this.#context.keep(nameOf(free), waste)
  }

  #at(number: number): { readonly value: unknown } | null {
    return this.#context.kept(nameOf(number))
  }
}

function nameOf(number: number): string {
  return `wasted ${number}`
}
