// The constants of one node in one run, with changes made during the run. A change applies from a certain firing on, before and after an
// interruption alike.

import type { PlanNode } from '../compile/plan.ts'
import type { NodeUpdate } from '../durability/journal.ts'
import type { InputValues } from '../node-api/firing-forms.ts'
import { resolveNodeUpdates } from './property-updates.ts'

export class NodePropertyValues {
  readonly #node: PlanNode
  #values: InputValues
  /** Changes that no firing has used yet. A map, as there may be thousands of changes, and the node may have very many values. */
  #changes: Map<string, unknown> | null = null
  /** The number of begun firings, that is, of paths read. */
  #firingsBegun = 0
  /** Changes from before an interruption, in the order of the firings from which they apply. */
  readonly #updates: NodeUpdate[]
  /** How many of them apply already. */
  #updatesApplied = 0

  constructor(node: PlanNode, updates: readonly NodeUpdate[]) {
    this.#node = node
    this.#values = node.constants
    this.#updates = updates.toSorted((a, b) => a.from - b.from)
  }

  /** The values for the next firing. */
  takeNext(): InputValues {
    this.#applyDueUpdates()
    this.#firingsBegun++
    if (this.#changes) this.#values = { ...this.#values, ...Object.fromEntries(this.#changes) }
    this.#changes = null
    return this.#values
  }

  /** Changes values for firings not yet begun, including those of before an interruption. Returns the number of begun firings. */
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

  /** Applies recorded changes that are due; only the last change of each value counts. */
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
