// Counts the items that the open firing of a node may retain as memory held by the run. All items that it read count, except those that its
// type releases (NodeProperty.keeps).

import type { PlanNode, PlanSlot } from '../../compile/plan.ts'
import type { NodeProperty } from '../../node-api/node-type.ts'
import { estimateWeightAmongMany, type RunMemoryAccount } from '../run/memory-account.ts'

export class RetainedItems {
  readonly #memoryAccount: RunMemoryAccount
  readonly #keeps: ReadonlyMap<string, NodeProperty['keeps']>
  /** The weight of the last item, by property. */
  readonly #last = new Map<string, number>()
  /** Weights retained until the next own item, and until the end. */
  #sinceItem = 0
  #all = 0

  constructor({ type }: PlanNode, memoryAccount: RunMemoryAccount) {
    this.#memoryAccount = memoryAccount
    this.#keeps = new Map(type.properties.map(({ name, keeps }) => [name, keeps]))
  }

  add({ name }: PlanSlot, value: unknown): void {
    const size = estimateWeightAmongMany(value)
    const keeps = this.#keeps.get(name!)
    let before = 0
    if (keeps === 'last') {
      before = this.#last.get(name!) ?? 0
      this.#last.set(name!, size)
    } else if (keeps === 'since_item') this.#sinceItem += size
    else this.#all += size
    this.#memoryAccount.change(size - before)
  }

  /** The firing yielded an item. */
  releaseSinceItem(): void {
    this.#memoryAccount.change(-this.#sinceItem)
    this.#sinceItem = 0
  }

  /** The firing is over. */
  clear(): void {
    let size = this.#all + this.#sinceItem
    for (const last of this.#last.values()) size += last
    this.#memoryAccount.change(-size)
    this.#last.clear()
    this.#sinceItem = 0
    this.#all = 0
  }
}
