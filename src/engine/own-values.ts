// The own values of one node in one run: what the graph says, as it was changed while the run went on. Changes hold from one firing on,
// before an interruption and after it.
import type { NodeUpdate } from './journal.ts'
import type { Inputs } from './node-type.ts'
import type { PlanNode } from './plan-parts.ts'
import { applicable } from './updates.ts'

export class OwnValues {
  readonly #node: PlanNode
  #values: Inputs
  /** How many firings have begun: how many paths were read. */
  #begun = 0
  /** Changes from before an interruption whose firing has not come yet. */
  #updates: readonly NodeUpdate[]

  constructor(node: PlanNode, updates: readonly NodeUpdate[]) {
    this.#node = node
    this.#values = node.constants
    this.#updates = updates
  }

  /** The values of the firing that begins. */
  next(): Inputs {
    if (this.#updates.length > 0) this.#catchUp()
    this.#begun++
    return this.#values
  }

  /** Changes some for firings not yet begun. Gives how many have begun. */
  update(values: Inputs): number {
    this.#values = { ...this.#values, ...values }
    return this.#begun
  }

  #catchUp(): void {
    const due = this.#updates.filter(({ from }) => from <= this.#begun)
    for (const { properties } of due) this.update(applicable(this.#node, properties))
    if (due.length > 0) this.#updates = this.#updates.filter(({ from }) => from > this.#begun)
  }
}
