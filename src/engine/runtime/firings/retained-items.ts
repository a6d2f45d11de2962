// What the open firing of a node may keep of what it read, among what its run holds. Its code is not asked for it: all counts, unless its type
// says that it lets go of it (NodeProperty.keeps).

import type { PlanNode, PlanSlot } from '../../compile/plan.ts'
import type { NodeProperty } from '../../node-api/node-type.ts'
import { estimateWeightAmongMany, type RunMemoryAccount } from '../run/memory-account.ts'

export class RetainedItems {
  readonly #memoryAccount: RunMemoryAccount
  readonly #keeps: ReadonlyMap<string, NodeProperty['keeps']>
  /** Of what it read last, by property. */
  readonly #last = new Map<string, number>()
  /** What it may keep until it gives an item, and until it is over. */
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

  /** The firing gave an item. */
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
