// Changes of properties that a job had got before, as they are read. Thousands of one node may hold from the same firing on: of those the last one of each
// value is all that counts, and they are joined a change at a time, so that the firing that takes them need not look at all of them.
import type { NodeUpdate } from '../engine/journal.ts'
import type { Inputs } from '../engine/node-type.ts'
import { weightOf } from './inlet.ts'

/** The last change of a node: its place in the list. Once it was joined with others its values are an object of its own. */
interface Last {
  readonly at: number
  readonly joined: Inputs | null
}

export class JoinedUpdates {
  readonly #list: NodeUpdate[]
  readonly #last = new Map<string, Last>()
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
    this.#weight += weightOf(update.properties)
    const last = this.#last.get(update.node_id)
    const before = last && this.#list[last.at]!
    if (last && before && before.from === update.from) this.#join(last, before, update)
    else this.#last.set(update.node_id, { at: this.#list.push(update) - 1, joined: null })
  }

  #join({ at, joined }: Last, before: NodeUpdate, { node_id, properties }: NodeUpdate): void {
    if (joined) Object.assign(joined, properties)
    else {
      // Without a prototype every name is one like the others. What came is not changed: others may know how large it is.
      const both = Object.assign(Object.create(null), before.properties, properties) as Inputs
      this.#list[at] = { ...before, properties: both }
      this.#last.set(node_id, { at, joined: both })
    }
  }
}
