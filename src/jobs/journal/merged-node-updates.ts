// Merges property changes while the journal is read. Thousands of changes of one node may take effect at the same firing, and only the last of each
// value counts. They are merged one by one, so that the firing that takes them need not look at all of them.
import type { NodeUpdate } from '../../engine/durability/journal.ts'
import type { InputValues } from '../../engine/node-api/firing-forms.ts'
import { estimateUpdateWeight } from '../run/job-inputs.ts'

/** The last change of a node: its index in the list, and the merged values once there are several changes. */
interface LastUpdate {
  readonly at: number
  readonly merged: InputValues | null
}

export class MergedNodeUpdates {
  readonly #list: NodeUpdate[]
  readonly #last = new Map<string, LastUpdate>()
  #weight = 0

  /** `list` receives the merged changes. */
  constructor(list: NodeUpdate[]) {
    this.#list = list
  }

  /** The weight of all changes, including overridden ones: those are stored too. */
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

  #merge({ at, merged }: LastUpdate, before: NodeUpdate, { node_id, properties }: NodeUpdate): void {
    if (merged) Object.assign(merged, properties)
    else {
      // Without a prototype no property name is special. The original is not changed, since other code may have cached its size.
      const both = Object.assign(Object.create(null), before.properties, properties) as InputValues
      this.#list[at] = { ...before, properties: both }
      this.#last.set(node_id, { at, merged: both })
    }
  }
}
