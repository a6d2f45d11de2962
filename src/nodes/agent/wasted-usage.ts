// The usage of failed turns and calls of an agent. It is kept as they fail, so that a later attempt or process counts it and no limit of
// the agent starts anew.
import type { NodeContext } from '../../engine/node-api/node-context.ts'
import type { AgentUsage, WastedUse } from './usage-limits.ts'

export class WastedUsage {
  readonly #context: NodeContext
  readonly #usage: AgentUsage
  #counted = 0

  constructor(context: NodeContext, used: AgentUsage) {
    this.#context = context
    this.#usage = used
  }

  /** Counts all usage that was kept since the last count. */
  countNew(): void {
    for (let kept = this.#read(this.#counted); kept; kept = this.#read(this.#counted)) {
      this.#usage.addWasted(kept.value as WastedUse)
      this.#counted++
    }
  }

  async save(waste: WastedUse): Promise<void> {
    let free = this.#counted
    while (this.#read(free)) free++
    await this.#context.keep(wastedUseKey(free), waste)
  }

  #read(number: number): { readonly value: unknown } | null {
    return this.#context.findKept(wastedUseKey(number))
  }
}

function wastedUseKey(number: number): string {
  return `wasted ${number}`
}
