// The inputs that a job was sent before its run begins: values and ends of streamed inputs, and property changes of nodes.
import type { NodeUpdate } from '../../engine/durability/journal.ts'
import type { Steps } from '../../shared/time-slices.ts'
import { estimateUpdateWeight } from '../run/job-inputs.ts'
import { EagerReadBudget, LazyValue } from '../values/lazy-value.ts'
import type { InputEntry, JournalEntry } from './entry.ts'
import { MergedNodeUpdates } from './merged-node-updates.ts'

export class JournaledInputs {
  /** Values and ends, in order. */
  readonly values: (readonly ['push', string, unknown] | readonly ['close', string])[] = []
  readonly updates: NodeUpdate[] = []
  /** How many values were resolved so far, while the journal is being loaded. */
  #valuesReadCount = 0
  readonly #readBudget = new EagerReadBudget()
  /** How many property changes were read from pages. */
  #updatesReadCount = 0
  readonly #mergedUpdates = new MergedNodeUpdates(this.updates)

  add(entry: InputEntry): void {
    if (entry[0] !== 'update') this.values.push(entry)
    else if (entry.length === 2) this.updates.push(entry[1])
    else this.updates.push({ ...entry[1], properties: entry[2] } as NodeUpdate)
  }

  /** Reads the inputs that were added since the last call. Property changes, and most values, are needed at once. */
  *readSteps(): Steps<void> {
    for (let at = this.#valuesReadCount; at < this.values.length; at++) {
      const [kind, name, value] = this.values[at]!
      if (kind === 'push' && !this.#readBudget.shouldLeaveUnread(value))
        this.values[at] = ['push', name, yield* LazyValue.resolveSteps(value)]
    }
    this.#valuesReadCount = this.values.length
    for (const { properties, ...of } of this.updates.splice(this.#updatesReadCount)) {
      this.#mergedUpdates.add({ ...of, properties: yield* LazyValue.resolveSteps(properties) })
      yield
    }
    this.#updatesReadCount = this.updates.length
  }

  /** The weight of all property changes: those that were read, and those that came since. */
  get updates_weight(): number {
    const since = this.updates.slice(this.#updatesReadCount)
    return since.reduce((sum, { properties }) => sum + estimateUpdateWeight(properties), this.#mergedUpdates.weight)
  }

  *entries(): Generator<JournalEntry> {
    yield* this.values
    for (const { properties, ...of } of this.updates) yield ['update', of, properties]
  }

  clear(): void {
    this.values.length = 0
    this.updates.length = 0
  }

  /** Takes over the inputs of `stored`. */
  addAll({ values, updates }: JournaledInputs): void {
    for (const value of values) this.values.push(value)
    for (const update of updates) this.updates.push(update)
  }
}
