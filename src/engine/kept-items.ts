// What the open firing of a node may keep of what it read, among what its run holds. Its code is not asked for it: all counts, unless its type
// says that it lets go of it (NodeProperty.keeps).
import { type HeldValues, weightAmongMany } from './held-values.ts'
import type { NodeProperty } from './node-type.ts'
import type { PlanNode, PlanSlot } from './plan-parts.ts'

export class KeptItems {
  readonly #held: HeldValues
  readonly #keeps: ReadonlyMap<string, NodeProperty['keeps']>
  /** Of what it read last, by property. */
  readonly #last = new Map<string, number>()
  /** What it may keep until it gives an item, and until it is over. */
  #sinceItem = 0
  #all = 0

  constructor({ type }: PlanNode, held: HeldValues) {
    this.#held = held
    this.#keeps = new Map(type.properties.map(({ name, keeps }) => [name, keeps]))
  }

  read({ name }: PlanSlot, value: unknown): void {
    const size = weightAmongMany(value)
    const keeps = this.#keeps.get(name!)
    let before = 0
    if (keeps === 'last') {
      before = this.#last.get(name!) ?? 0
      this.#last.set(name!, size)
    } else if (keeps === 'since_item') this.#sinceItem += size
    else this.#all += size
    this.#held.change(size - before)
  }

  /** The firing gave an item. */
  gave(): void {
    this.#held.change(-this.#sinceItem)
    this.#sinceItem = 0
  }

  /** The firing is over. */
  clear(): void {
    let size = this.#all + this.#sinceItem
    for (const last of this.#last.values()) size += last
    this.#held.change(-size)
    this.#last.clear()
    this.#sinceItem = 0
    this.#all = 0
  }
}
