// The own values of one node in one run: what the graph says, as it was changed while the run went on. Changes hold from one firing on,
// before an interruption and after it.

import type { PlanNode } from '../compile/plan.ts'
import type { NodeUpdate } from '../durability/journal.ts'
import type { InputValues } from '../node-api/node-type.ts'
import { resolveNodeUpdates } from './property-updates.ts'

export class NodePropertyValues {
  readonly #node: PlanNode
  #values: InputValues
  /** Changes that no firing has taken yet: there may be thousands between two of them, and the node may have very many values. */
  #changes: Map<string, unknown> | null = null
  /** How many firings have begun: how many paths were read. */
  #firingsBegun = 0
  /** Changes from before an interruption, in the order of the firings that they hold from. */
  readonly #updates: NodeUpdate[]
  /** How many of them hold already. */
  #updatesApplied = 0

  constructor(node: PlanNode, updates: readonly NodeUpdate[]) {
    this.#node = node
    this.#values = node.constants
    this.#updates = updates.toSorted((a, b) => a.from - b.from)
  }

  /** The values of the firing that begins. */
  takeNext(): InputValues {
    this.#applyDueUpdates()
    this.#firingsBegun++
    if (this.#changes) this.#values = { ...this.#values, ...Object.fromEntries(this.#changes) }
    this.#changes = null
    return this.#values
  }

  /** Changes some for firings not yet begun, those of before an interruption included. Gives how many have begun. */
  update(values: InputValues): number {
    this.#applyDueUpdates()
    const last = this.#updatesApplied < this.#updates.length ? this.#updates.at(-1)! : null
    if (last === null) this.#change(values)
    else if (Object.keys(values).length > 0) this.#updates.push({ ...last, properties: values })
    return last?.from ?? this.#firingsBegun
  }

  #change(values: InputValues): void {
    for (const name of Object.keys(values)) {
      this.#changes ??= new Map()
      this.#changes.set(name, values[name])
    }
  }

  /** Of changes that were kept the last one of each value is all that counts. */
  #applyDueUpdates(): void {
    if (this.#updatesApplied === this.#updates.length) return
    const due = new Map<string, unknown>()
    for (; this.#updatesApplied < this.#updates.length; this.#updatesApplied++) {
      const { from, properties } = this.#updates[this.#updatesApplied]!
      if (from > this.#firingsBegun) break
      for (const name of Object.keys(properties)) due.set(name, properties[name])
    }
    if (due.size > 0) this.#change(resolveNodeUpdates(this.#node, Object.fromEntries(due)))
  }
}
