// Changes of properties that a job had got before, as they are read. Thousands of one node may hold from the same firing on: of those the last one of each
// value is all that counts, and they are joined a change at a time, so that the firing that takes them need not look at all of them.
import type { NodeUpdate } from '../../engine/durability/journal.ts'
import type { InputValues } from '../../engine/node-api/node-type.ts'
import { estimateUpdateWeight } from '../run/job-inputs.ts'

/** The last change of a node: its place in the list. Once it was joined with others its values are an object of its own. */
interface LastUpdate {
  readonly at: number
  readonly merged: InputValues | null
}

export class MergedNodeUpdates {
  readonly #list: NodeUpdate[]
  readonly #last = new Map<string, LastUpdate>()
  #weight = 0

  /** `list` gets what they are joined to. */
  constructor(list: NodeUpdate[]) {
    this.#list = list
  }

  /** What all of them weigh, those included of which nothing counts any more: they are stored. */
  get weight(): number {
    return this.#weight
  }

  add(update: NodeUpdate): void {
    this.#weight += estimateUpdateWeight(update.properties)
    const last = this.#last.get(update.node_id)
    const before = last && this.#list[last.at]!
    if (last && before && before.from === update.from) this.#merge(last, before, update)
    else this.#last.set(update.node_id, { at: this.#list.push(update) - 1, merged: null })
  }

  #merge({ at, merged: joined }: LastUpdate, before: NodeUpdate, { node_id, properties }: NodeUpdate): void {
    if (joined) Object.assign(joined, properties)
    else {
      // Without a prototype every name is one like the others. What came is not changed: others may know how large it is.
      const both = Object.assign(Object.create(null), before.properties, properties) as InputValues
      this.#list[at] = { ...before, properties: both }
      this.#last.set(node_id, { at, merged: both })
    }
  }
}
