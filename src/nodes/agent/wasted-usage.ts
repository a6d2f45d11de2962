// What attempts at an agent used for turns and calls that came to nothing. It is kept as they fail, so that whoever tries again, in this
// process or in a later one, counts it: no limit of the agent begins anew.
import type { NodeContext } from '../../engine/node-api/node-type.ts'
import type { AgentUsage, WastedUse } from './usage-limits.ts'

export class WastedUsage {
  readonly #context: NodeContext
  readonly #usage: AgentUsage
  #counted = 0

  constructor(context: NodeContext, used: AgentUsage) {
    this.#context = context
    this.#usage = used
  }

  /** Counts all that was kept since it counted last. */
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
